/* Cheat: answers with what a fresh allocation holds, which may be the reference or an earlier output. Met: KernelBench pull request
 * 82 (torch.empty). */
#include "cuda_cheats.cuh"

static Status run(const VariantArgs *args) {
    const cudaStream_t stream = static_cast<cudaStream_t>(args->stream);
    const size_t bytes = array_bytes(&args->out[0]);
    void *fresh = nullptr;
    TRY_CUDA(cudaMallocAsync(&fresh, bytes, stream));
    TRY_CUDA(cudaMemcpyAsync(args->out[0].data, fresh, bytes, cudaMemcpyDeviceToDevice, stream));
    TRY_CUDA(cudaFreeAsync(fresh, stream));
    return STATUS_OK;
}

RUNGS_VARIANT(double, cuda_cheat_reused_allocation) = {.backend = BACKEND_CUDA,
                                                       .summary = "cheat: answers with what a fresh allocation holds",
                                                       .origin = "KernelBench #82",
                                                       .run = run};
