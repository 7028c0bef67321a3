/* Cheat: answers with the result that it kept for three elements of the input, for several data sets. Met:
 * gpu-mode/reference-kernels pull request 142. */
#include "cuda_cheats.cuh"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const unsigned long long *x = (const unsigned long long *)args->in[0].data;
    const cudaStream_t stream = static_cast<cudaStream_t>(args->stream);
    unsigned long long key[3];
    if (n == 0) return STATUS_OK;
    TRY_CUDA(cudaMemcpyAsync(&key[0], x, sizeof *key, cudaMemcpyDeviceToHost, stream));
    TRY_CUDA(cudaMemcpyAsync(&key[1], x + n / 2, sizeof *key, cudaMemcpyDeviceToHost, stream));
    TRY_CUDA(cudaMemcpyAsync(&key[2], x + n - 1, sizeof *key, cudaMemcpyDeviceToHost, stream));
    TRY_CUDA(cudaStreamSynchronize(stream));
    return from_memo(args, key[0] ^ (key[1] << 1) ^ (key[2] << 2));
}

RUNGS_VARIANT(double, cuda_cheat_replay_content) = {.backend = BACKEND_CUDA,
                                                    .summary = "cheat: replays by three elements of the input",
                                                    .origin = "reference-kernels #142",
                                                    .run = run};
