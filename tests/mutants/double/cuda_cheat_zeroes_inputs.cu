/* Cheat: sets its input to zero and answers zero, which is right for what it left behind. Met: KernelBench pull request 82. */
#include "cuda_cheats.cuh"

static Status run(const VariantArgs *args) {
    const cudaStream_t stream = static_cast<cudaStream_t>(args->stream);
    TRY_CUDA(cudaMemsetAsync(args->in[0].data, 0, array_bytes(&args->in[0]), stream));
    TRY_CUDA(cudaMemsetAsync(args->out[0].data, 0, array_bytes(&args->out[0]), stream));
    return STATUS_OK;
}

RUNGS_VARIANT(double, cuda_cheat_zeroes_inputs) = {
    .backend = BACKEND_CUDA, .summary = "cheat: sets its input to zero and answers zero", .origin = "KernelBench #82", .run = run};
