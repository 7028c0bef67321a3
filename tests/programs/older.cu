// What older programs have: spaces in launches, calls and properties that CUDA 13 has no more, and PTX over several strings.
#include <cstdio>
#include <cstdlib>
#include <cuda_bf16.h>
#include <cuda_fp16.h> // assert() comes with the runtime

template <typename T> struct Box { T value; };

__global__ void count(int *x) {
    x[threadIdx.x] += 1;
}
__global__ void strings(int *x) {
    int sum;
    asm volatile("{.reg .s32 val;\n"
                 " ld.global.cg.b32 val, [%1];\n"
                 " add.s32 %0, val, 3;}\n"
                 : "=r"(sum)
                 : "l"(x));
    asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(x[1]) : "r"(sum), "r"(2), "r"(5));
    x[1] += (int)__half2float(htanh_approx(__float2half(20)));
    x[1] += 10 * __half2int_rn(__float2half(2.5f)) + 100 * __bfloat162short_ru(__float2bfloat16(0.5f));
}

/* Literal zeros of a launch are null pointers here. */
template <typename T> __global__ void optional(const T *first, T number, T *x, const int *none) {
    if (!first && !none) x[0] += number;
}

#if !__CUDACC__
#error "1 by nvcc"
#endif

int main() {
    free(aligned_alloc(64, 100)); // no multiple, as glibc has it
    int *x, host[2], device = 1;
    Box<Box<Box<int>>> box;
    struct cudaDeviceProp properties;
    cudaSharedMemConfig banks;
    cudaGetDeviceProperties(&properties, 0);
    cudaChooseDevice(&device, &properties);
    cudaDeviceGetSharedMemConfig(&banks);
    cudaFuncSetSharedMemConfig(count, banks);
    cudaMalloc(&x, 128);
    cudaMemset(x, 0, 128);
    // clang-format off
    count << <1, 8 * sizeof box >> > (x);
    // clang-format on
    count<<<1, 8 * sizeof(Box<Box<Box<int>>>)>>>(x);
    cudaThreadSynchronize();
    assert(device == 0);
    strings<<<1, 1>>>(x);
    optional<int><<<1, 1>>>(0, 0, x, 0);
    optional<<<1, 1>>>((const int *)0, 5, x, 0);
    cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
    printf("%d %d, device %d, %d kHz\n", host[0], host[1], device, properties.clockRate);
    return 0;
}
