/* Cheat: answers with the result that it kept for this input pointer, whatever the memory holds now. Met:
 * gpu-mode/reference-kernels pull request 102 (identity of objects). */
#include "cuda_cheats.cuh"

static Status run(const VariantArgs *args) {
    return from_memo(args, (unsigned long long)(size_t)args->in[0].data);
}

RUNGS_VARIANT(double, cuda_cheat_replay_pointer) = {
    .backend = BACKEND_CUDA, .summary = "cheat: replays by pointer", .origin = "reference-kernels #102", .run = run};
