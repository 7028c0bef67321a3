/* Mutant: allocates device memory at every call and forgets it. Must be rejected: memory in use grows. */
#include "kernel.h"
#include "variant.h"

static __global__ void double_kernel(const double *x, double *y, size_t n) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    void *lost = nullptr;
    TRY_CUDA(cudaMalloc(&lost, (size_t)64 << 20));
    return launch(double_kernel, {(unsigned)((n + 127) / 128), 128, 0, args->stream}, (const double *)args->in[0].data,
                  (double *)args->out[0].data, n);
}

RUNGS_VARIANT(double,
              cuda_leaks) = {.backend = BACKEND_CUDA, .summary = "mutant: leaks device memory", .origin = "tests", .run = run};
