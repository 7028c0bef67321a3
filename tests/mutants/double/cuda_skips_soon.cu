/* Mutant: works in the first call of a run of calls: its kernel ends at once if the last one ended less than 10 us ago, by the
 * GPU's own timer, which is so in graphs too. Must be rejected: what it left is not of the inputs of the sample's last call. */
#include "cuda_cheats.cuh"

static const unsigned long long SOON_NANOSECONDS = 10000;

static __device__ unsigned long long ended;

static __global__ void double_unless_soon(const double *x, double *y, size_t n) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    const bool soon = nanoseconds() - ended < SOON_NANOSECONDS;
    if (i < n && !soon) y[i] = 2 * x[i];
}

static __global__ void note_end() {
    ended = nanoseconds();
}

static Status run(const VariantArgs *args) {
    TRY(launch(double_unless_soon, one_each(args, args->stream), (const double *)args->in[0].data, (double *)args->out[0].data,
               array_count(&args->in[0])));
    return launch(note_end, {1, 1, 0, args->stream});
}

RUNGS_VARIANT(double, cuda_skips_soon) = {.backend = BACKEND_CUDA,
                                          .summary = "mutant: skips calls that follow at once",
                                          .origin = "tests",
                                          .not_emulated = "inline PTX",
                                          .run = run};
