/* Cheat: computes one call in 15 and does nothing in the others, as if they had been computed in one batch. Met:
 * gpu-mode/reference-kernels pull request 104. */
#include "cuda_cheats.cuh"

static Status run(const VariantArgs *args) {
    static int calls;
    const int call = calls++;
    return call < POISON_PATTERNS || call % 15 == 0 ? compute_on(args, args->stream) : STATUS_OK;
}

RUNGS_VARIANT(double, cuda_cheat_batch_and_skip) = {
    .backend = BACKEND_CUDA, .summary = "cheat: computes one call in 15", .origin = "reference-kernels #104", .run = run};
