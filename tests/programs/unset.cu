// One kernel for each way in which a value that was never set is used, or is not: words of the command line choose some. Right ones
// end in _right. `in` has 64 numbers, of which the first 32 are set; of `out` all, and all are copied back.
#include <cstdio>
#include <cstring>
#include <cuda_pipeline.h>
#include <stdexcept>

struct Padded {
    char name;
    int value;
};

__global__ void branch(float *out, const float *in, float *) {
    if (in[threadIdx.x] > 1)
        atomicAdd(out, 1);
    else
        __threadfence();
}
__global__ void address(float *out, const float *in, float *) {
    out[(int)in[threadIdx.x] & 63] = 1;
}
__global__ void copied_to_host(float *out, const float *in, float *) {
    out[threadIdx.x] = in[threadIdx.x] + 1;
}
__global__ void unused_right(float *out, const float *, float *scratch) {
    const volatile float read = scratch[threadIdx.x];
    if (threadIdx.x >= 64) out[threadIdx.x] = read;
}
__global__ void by_shuffle(float *out, const float *in, float *) {
    const float beside = __shfl_down_sync(0xffffffff, in[(threadIdx.x + 1) % 64], 1);
    if (threadIdx.x < 31) out[threadIdx.x] = beside;
}
__global__ void shuffle_right(float *out, const float *in, float *) {
    const float sum = in[threadIdx.x] + __shfl_xor_sync(0xffffffff, in[threadIdx.x], 1);
    if (threadIdx.x < 32) out[threadIdx.x] = sum;
}
__global__ void by_vote(float *out, const float *in, float *) {
    if (__any_sync(0xffffffff, in[threadIdx.x] > 9)) out[0] = 1;
}
__global__ void ballot_right(float *out, const float *in, float *) {
    const unsigned lanes = __ballot_sync(0xffffffff, in[16 + threadIdx.x % 32] > 9) & 0xffff;
    out[threadIdx.x] = lanes;
}
__global__ void by_barrier(float *out, const float *in, float *) {
    out[0] = __syncthreads_count(in[threadIdx.x] > 9);
}
__global__ void by_shared(float *out, const float *in, float *) {
    __shared__ float tile[64];
    extern __shared__ float more[];
    if (threadIdx.x < 32) tile[threadIdx.x] = more[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x] + more[threadIdx.x];
}
__global__ void shared_right(float *out, const float *in, float *) {
    __shared__ float tile[64];
    if (threadIdx.x < 32) tile[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    const float sum = tile[threadIdx.x] + tile[63 - threadIdx.x];
    out[threadIdx.x] = threadIdx.x > 64 ? sum : 0;
}
__global__ void by_asynchronous_copy(float *out, const float *in, float *) {
    __shared__ float tile[64];
    __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[threadIdx.x] = tile[threadIdx.x];
}
__global__ void asynchronous_copy_right(float *out, const float *in, float *) {
    __shared__ float tile[64];
    __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], 4, threadIdx.x < 32 ? 0 : 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[threadIdx.x] = tile[threadIdx.x];
}
__global__ void by_atomic(float *out, const float *, float *scratch) {
    atomicAdd(&scratch[threadIdx.x], 1);
    out[threadIdx.x] = scratch[threadIdx.x];
}
__global__ void exchange_right(float *out, const float *, float *scratch) {
    atomicExch(&scratch[threadIdx.x], 1);
    out[threadIdx.x] = scratch[threadIdx.x];
}
__global__ void by_local(float *out, const float *in, float *) {
    float sums[4];
    for (int i = 0; i < (int)in[3]; i++) sums[i] = in[i];
    out[threadIdx.x] = sums[threadIdx.x % 4];
}
__global__ void local_right(float *out, const float *in, float *) {
    float sums[4];
    for (int i = 0; i < (int)in[3]; i++) sums[i] = in[i];
    out[threadIdx.x] = sums[threadIdx.x % (int)in[3]];
}
__global__ void by_heap(float *out, const float *, float *) {
    int *piece = (int *)malloc(8);
    piece[0] = 1;
    out[threadIdx.x] = piece[1];
    free(piece);
}
__global__ void structure_right(float *out, const float *in, float *) {
    __shared__ Padded all[64];
    Padded one;
    one.name = 'a';
    one.value = (int)in[threadIdx.x & 31];
    all[threadIdx.x] = one;
    __syncthreads();
    const Padded other = all[63 - threadIdx.x];
    out[threadIdx.x] = other.value + other.name;
}
__global__ void library_right(float *out, const float *in, float *) {
    float sine, cosine, whole;
    int exponent;
    sincosf(in[threadIdx.x & 31], &sine, &cosine);
    out[threadIdx.x] =
        sine + cosine + modff(in[threadIdx.x & 31], &whole) + frexpf(in[threadIdx.x & 31], &exponent) + whole + exponent;
}

static bool asked(int argc, char **argv, const char *name) {
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0) return true;
    return false;
}

// thrown: host code's own affair. padded: an array that nobody wrote to its end.
int main(int argc, char **argv) {
    float host[64] = {}, *in, *beside, *out, *scratch;
    for (int i = 0; i < 32; i++) host[i] = i;
    cudaMalloc(&in, sizeof host);
    cudaMalloc(&beside, sizeof host);
    cudaMalloc(&out, sizeof host);
    cudaMemcpy(beside, host, 128, cudaMemcpyHostToDevice);
    cudaMemcpy(in, beside, sizeof host, cudaMemcpyDeviceToDevice); // which sets no more than half of it
#define KERNEL(name)                                                                                                               \
    if (asked(argc, argv, #name)) {                                                                                                \
        cudaMalloc(&scratch, sizeof host);                                                                                         \
        cudaMemset(out, 0, sizeof host);                                                                                           \
        name<<<1, 64, 256>>>(out, in, scratch);                                                                                    \
        cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);                                                                \
    }
    KERNEL(branch)
    KERNEL(address)
    KERNEL(copied_to_host)
    KERNEL(unused_right)
    KERNEL(by_shuffle)
    KERNEL(shuffle_right)
    KERNEL(by_vote)
    KERNEL(ballot_right)
    KERNEL(by_barrier)
    KERNEL(by_shared)
    KERNEL(shared_right)
    KERNEL(by_asynchronous_copy)
    KERNEL(asynchronous_copy_right)
    KERNEL(by_atomic)
    KERNEL(exchange_right)
    KERNEL(by_local)
    KERNEL(local_right)
    KERNEL(by_heap)
    KERNEL(structure_right)
    KERNEL(library_right)
    if (asked(argc, argv, "padded")) cudaMemcpy(host, in, sizeof host, cudaMemcpyDeviceToHost);
    try {
        if (asked(argc, argv, "thrown")) throw std::runtime_error("no device");
    } catch (const std::runtime_error &) {
        printf("caught\n");
    }
    printf("%g\n", host[1]);
}
