/* Ten others, written once the rules of analysis/why.py stood (tests/gpu/causes.py). */
#include "kernel.h"
#include "variant.h"

enum { THREADS = 256, LIVE = 64, STRIDE = 16, SLICES = 64, PASSES = 40, SMS = 132, EACH = 3, ROUNDS = 400 };

struct Line {
    const double *x;
    double *y;
    size_t n;
    double one, zero;
};

static __global__ void local_array(Line a) {
    double held[LIVE];
    const size_t first = (size_t)blockIdx.x * THREADS * LIVE + threadIdx.x;
    for (unsigned k = 0; k < LIVE; k++)
        held[(k * 7 + threadIdx.x) % LIVE] = first + k * THREADS < a.n ? a.x[first + k * THREADS] : 0;
    for (unsigned k = 0; k < LIVE; k++)
        if (first + k * THREADS < a.n) a.y[first + k * THREADS] = 2 * held[(k * 7 + threadIdx.x) % LIVE];
}

static __global__ void conflicts_of_eight(Line a) {
    __shared__ volatile double tile[THREADS * 8];
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    double value = i < a.n ? a.x[i] : 0;
    for (int k = 0; k < PASSES; k++) {
        tile[threadIdx.x * 8] = value;
        value = tile[threadIdx.x * 8];
    }
    if (i < a.n) a.y[i] = 2 * value;
}

static __global__ void stride(Line a) {
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x, rows = a.n / STRIDE;
    const size_t at = i < rows * STRIDE ? i % rows * STRIDE + i / rows : i;
    if (i < a.n) a.y[at] = 2 * a.x[at];
}

static __global__ void loop(Line a) {
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.n; i += (size_t)gridDim.x * blockDim.x)
        a.y[i] = 2 * a.x[i];
}

static __global__ void slice(Line a, size_t begin, size_t end) {
    const size_t i = begin + (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < end) a.y[i] = 2 * a.x[i];
}

static __global__ void one_works(Line a) {
    __shared__ volatile double shared;
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    double value = 0;
    for (int k = 0; threadIdx.x == 0 && k < ROUNDS; k++) value = value * a.one + a.zero;
    if (threadIdx.x == 0) shared = value;
    __syncthreads();
    if (i < a.n) a.y[i] = 2 * a.x[i] + shared;
}

static __global__ void small_blocks(Line a) {
    __shared__ volatile double room[5000];
    room[threadIdx.x] = a.zero;
    const size_t i = (size_t)blockIdx.x * 64 + threadIdx.x;
    if (i < a.n) a.y[i] = 2 * a.x[i] + room[threadIdx.x];
}

static __global__ void triples(Line a) {
    const size_t first = ((size_t)blockIdx.x * THREADS + threadIdx.x) * EACH * 4;
#pragma unroll 1
    for (size_t i = first; i < min(a.n, first + EACH * 4); i++) a.y[i] = 2 * a.x[i];
}

/* Later blocks have more to do. */
static __global__ void __launch_bounds__(1024, 2) growing(Line a) {
    const double blocks = gridDim.x, from = blockIdx.x / blocks, to = (blockIdx.x + 1) / blocks;
    const size_t begin = (size_t)((double)a.n * from * from * from),
                 end = blockIdx.x + 1 == gridDim.x ? a.n : (size_t)((double)a.n * to * to * to);
    for (size_t i = begin + threadIdx.x; i < end; i += 1024) a.y[i] = 2 * a.x[i];
}

static Status run(const VariantArgs *args) {
    const Line a = {(const double *)args->in[0].data, (double *)args->out[0].data, array_count(&args->in[0]), 1, 0};
    const auto blocks = [&a](size_t each) { return (unsigned)((a.n + each - 1) / each); };
    void (*const kernels[])(Line) = {local_array, conflicts_of_eight, stride, loop,    nullptr,
                                     one_works,   small_blocks,       loop,   triples, growing};
    const unsigned grids[] = {
        blocks(THREADS * LIVE),     blocks(THREADS), blocks(THREADS), 20, 0, blocks(THREADS), blocks(64), SMS * 8,
        blocks(THREADS * EACH * 4), SMS * 2};
    const long long cause = params_int(args->tunables, "cause") - 1;
    const size_t part = (a.n + SLICES - 1) / SLICES;
    for (size_t k = 0; cause == 4 && k < SLICES; k++)
        TRY(launch(slice, {(unsigned)((part + THREADS - 1) / THREADS), THREADS, 0, args->stream}, a, k * part,
                   min(a.n, (k + 1) * part)));
    if (cause == 4) return STATUS_OK;
    if (cause == 7) TRY_CUDA(cudaMemsetAsync(a.y, 1, a.n * sizeof *a.y, (cudaStream_t)args->stream));
    return launch(kernels[cause], {grids[cause], cause == 9 ? 1024u : cause == 6 ? 64u : (unsigned)THREADS, 0, args->stream}, a);
}

static const ParamSpec TUNABLES[] = {{"cause", "which", PARAM_INT, "1", 1, 10, NULL}, {}};

RUNGS_VARIANT(double, cuda_more_causes) = {
    .backend = BACKEND_CUDA, .summary = "slow for a known reason", .origin = "tests", .tunables = TUNABLES, .run = run};
