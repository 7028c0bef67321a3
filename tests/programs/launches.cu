// Launch forms: template arguments given and deduced, in a macro and in a header, three and four arguments, a kernel by pointer and
// by address, default arguments of the configuration. Prints one line; its exit code is its own argument.
#include "launches.h"

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                                                \
    do {                                                                                                                           \
        const cudaError_t error = (call);                                                                                          \
        if (error != cudaSuccess) {                                                                                                \
            printf("%s: %s\n", #call, cudaGetErrorString(error));                                                                  \
            exit(90);                                                                                                              \
        }                                                                                                                          \
    } while (0)
#define LAUNCH(kernel, n, ...) kernel<<<((n) + 31) / 32, 32>>>(__VA_ARGS__)

#ifndef __CUDACC__
#error "not a CUDA compiler"
#endif

__constant__ int factors[2];
__device__ int calls;

__global__ void scale(int *x, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= factors[1];
    if (i == 0) atomicAdd(&calls, 1);
}

namespace sums {
template <typename T, int Threads> __global__ void add(const T *x, T *sum, int n) {
    extern __shared__ T dynamic[];
    __shared__ T fixed[Threads];
    const int t = threadIdx.x, i = blockIdx.x * Threads + t;
    dynamic[t] = i < n ? x[i] : T(0);
    fixed[t] = 0;
    __syncthreads();
    for (int step = Threads / 2; step > 0; step /= 2) {
        if (t < step) dynamic[t] += dynamic[t + step];
        __syncthreads();
    }
    if (t == 0) atomicAdd(sum, dynamic[0] + fixed[0]);
}
} // namespace sums

int main(int argc, char **argv) {
    const int n = 100, host_factors[2] = {0, 2};
    int host[n], *x, *sum, total = 0, count = 0;
    for (int i = 0; i < n; i++) host[i] = i;
    cudaStream_t stream;
    cudaEvent_t begin, end;
    float ms = -1;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaMalloc(&x, sizeof host));
    CHECK(cudaMallocManaged(&sum, sizeof *sum));
    *sum = 0;
    CHECK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyToSymbol(factors, host_factors, sizeof host_factors));
    CHECK(cudaEventRecord(begin, stream));
    LAUNCH(scale, n, x, n);
    increase<<<4, dim3(8, 4)>>>(x, 1, n);
    increase<int><<<4, 32, 0, stream>>>(x, 1, n);
    void (*by_pointer)(int *, int, int) = increase<int>;
    by_pointer<<<dim3(4), 32>>>(x, 1, n);
    int one = 1, length = n;
    void *arguments[] = {&x, &one, &length};
    CHECK(cudaLaunchKernel((void *)increase<int>, dim3(4), dim3(32), arguments, 0, stream));
    sums::add<int, 64><<<(n + 63) / 64, 64, 64 * sizeof(int), stream>>>(x, sum, n);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(end, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    CHECK(cudaMemcpyFromSymbol(&count, calls, sizeof count));
    for (int i = 0; i < n; i++) total += 2 * i + 4;
    printf("sum %d of %d, calls %d, %s\n", *sum, total, count, ms >= 0 ? "timed" : "not timed");
    CHECK(cudaFree(x));
    return *sum != total ? 91 : argc > 1 ? atoi(argv[1]) : 0;
}
