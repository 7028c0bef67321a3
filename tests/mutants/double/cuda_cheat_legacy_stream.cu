/* Cheat: launches on the legacy default stream. Met: KernelBench pull request 82 (work on a stream that events do not see). */
#include "cuda_cheats.cuh"

static Status run(const VariantArgs *args) {
    return compute_on(args, cudaStreamLegacy);
}

RUNGS_VARIANT(double, cuda_cheat_legacy_stream) = {
    .backend = BACKEND_CUDA, .summary = "cheat: works on the legacy default stream", .origin = "KernelBench #82", .run = run};
