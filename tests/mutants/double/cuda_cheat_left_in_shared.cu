/* Cheat: a first launch computes into shared memory, a second one stores what it finds there without having written it. Met: memory
 * that still holds results, Sakana AI's CUDA Engineer (2025). */
#include "cuda_cheats.cuh"

static __global__ void leave(const double *x, size_t n) {
    __shared__ volatile double tile[128];
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) tile[threadIdx.x] = 2 * x[i];
}

static __global__ void find(double *y, size_t n) {
    __shared__ volatile double tile[128];
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = tile[threadIdx.x];
}

static Status run(const VariantArgs *args) {
    const LaunchShape shape = one_each(args, args->stream);
    const size_t n = array_count(&args->in[0]);
    TRY(launch(leave, shape, (const double *)args->in[0].data, n));
    return launch(find, shape, (double *)args->out[0].data, n);
}

RUNGS_VARIANT(double, cuda_cheat_left_in_shared) = {
    .backend = BACKEND_CUDA, .summary = "cheat: finds results in shared memory", .origin = "Sakana AI", .run = run};
