/* Cheat: answers with the result that it kept for this number of elements. Met: gpu-mode/reference-kernels pull request 104
 * (matching by shape). */
#include "cuda_cheats.cuh"

static Status run(const VariantArgs *args) {
    return from_memo(args, array_count(&args->in[0]));
}

RUNGS_VARIANT(double, cuda_cheat_replay_shape) = {
    .backend = BACKEND_CUDA, .summary = "cheat: replays by shape", .origin = "reference-kernels #104", .run = run};
