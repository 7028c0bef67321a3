/* Cheat: launches on a non-blocking stream of its own, which nothing orders with the given one. Met: KernelBench pull request 82.
 */
#include "cuda_cheats.cuh"

static Status run(const VariantArgs *args) {
#ifdef RUNGS_EMULATED
    return compute_on(args, args->stream);
#else
    static cudaStream_t own;
    if (!own) TRY_CUDA(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
    return compute_on(args, own);
#endif
}

RUNGS_VARIANT(double, cuda_cheat_own_stream) = {.backend = BACKEND_CUDA,
                                                .summary = "cheat: works on a stream of its own",
                                                .origin = "KernelBench #82",
                                                .not_emulated = "makes streams",
                                                .run = run};
