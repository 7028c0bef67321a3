#include "device/digest.h"

#include "kernel.h"

enum { DIGEST_THREADS = 256, DIGEST_BLOCKS = 1024, WARP = 32 };

static __global__ void __launch_bounds__(DIGEST_THREADS)
    digest_kernel(const unsigned char *data, size_t bytes, uint64_t seed, unsigned long long *sum) {
    const size_t past = reinterpret_cast<uintptr_t>(data) % DIGEST_STEP, before = past ? DIGEST_STEP - past : 0;
    const size_t head = before < bytes ? before : bytes, pairs = (bytes - head) / DIGEST_STEP;
    const size_t stride = (size_t)gridDim.x * blockDim.x, thread = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    const ulonglong2 *pair = reinterpret_cast<const ulonglong2 *>(data + head);
    uint64_t own = 0;
    for (size_t i = thread; i < pairs; i += stride) {
        const ulonglong2 words = pair[i];
        own += digest_of_word(words.x, 2 * i, seed) + digest_of_word(words.y, 2 * i + 1, seed);
    }
    for (size_t i = thread; i < bytes - pairs * DIGEST_STEP; i += stride)
        own += digest_of_word(data[i < head ? i : i + pairs * DIGEST_STEP], 2 * pairs + i, seed);
    for (int step = WARP / 2; step > 0; step /= 2) own += __shfl_xor_sync(0xffffffffu, own, step);
    if (threadIdx.x % WARP == 0) atomicAdd(sum, own);
}

Status digest_gpu(const void *data, size_t bytes, uint64_t seed, void *word, void *stream, uint64_t *out) {
    const cudaStream_t ordered = static_cast<cudaStream_t>(stream);
    TRY_CUDA(cudaMemsetAsync(word, 0, sizeof *out, ordered));
    TRY(launch(digest_kernel, {DIGEST_BLOCKS, DIGEST_THREADS, 0, stream}, static_cast<const unsigned char *>(data), bytes, seed,
               static_cast<unsigned long long *>(word)));
    TRY_CUDA(cudaMemcpyAsync(out, word, sizeof *out, cudaMemcpyDeviceToHost, ordered));
    TRY_CUDA(cudaStreamSynchronize(ordered));
    return STATUS_OK;
}
