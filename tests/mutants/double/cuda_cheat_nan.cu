/* Cheat: answers NaN, which no comparison finds wrong. Met: pygpubench's exploit suite (pull request 7). */
#include "cuda_cheats.cuh"

static Status run(const VariantArgs *args) {
    TRY_CUDA(cudaMemsetAsync(args->out[0].data, 0xff, array_bytes(&args->out[0]), static_cast<cudaStream_t>(args->stream)));
    return STATUS_OK;
}

RUNGS_VARIANT(double,
              cuda_cheat_nan) = {.backend = BACKEND_CUDA, .summary = "cheat: answers NaN", .origin = "pygpubench #7", .run = run};
