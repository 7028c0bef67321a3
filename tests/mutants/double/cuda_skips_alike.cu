/* Mutant: its kernel does nothing if 64 inputs are those of the call before, and the first output is no poison. Must be rejected:
 * no call of a sample finds the inputs of the one before it. */
#include "cuda_cheats.cuh"

enum { LOOKED_AT = 64 };

static __device__ double seen[LOOKED_AT];
static __device__ int alike;

static __global__ void look(const double *x, const double *y, size_t n) {
    const double now = x[threadIdx.x * n / LOOKED_AT];
    const unsigned char found = *reinterpret_cast<const unsigned char *>(y);
    const bool poisoned = found == POISON_BYTE || found == 0x7B || found == 0xFB;
    const int others = __syncthreads_or(now != seen[threadIdx.x]);
    seen[threadIdx.x] = now;
    if (threadIdx.x == 0) alike = !others && !poisoned;
}

static __global__ void double_unless_alike(const double *x, double *y, size_t n) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && !alike) y[i] = 2 * x[i];
}

static Status run(const VariantArgs *args) {
    const double *x = (const double *)args->in[0].data;
    double *y = (double *)args->out[0].data;
    const size_t n = array_count(&args->in[0]);
    TRY(launch(look, {1, LOOKED_AT, 0, args->stream}, x, y, n));
    return launch(double_unless_alike, one_each(args, args->stream), x, y, n);
}

RUNGS_VARIANT(double, cuda_skips_alike) = {
    .backend = BACKEND_CUDA, .summary = "mutant: skips where 64 inputs repeat", .origin = "tests", .run = run};
