/* Right and slow, each kernel for one known reason: what analysis/why.py must name (tests/gpu/causes.py). cause=0 has none. */
#include "kernel.h"
#include "variant.h"

enum { THREADS = 256, LIVE = 48, STRIDE = 64, RUN = 32, EMPTY = 100, PASSES = 24, SMS = 132, WARP = 32, ROUNDS = 256 };

struct Line {
    const double *x;
    double *y;
    size_t n;
    double one, zero;
};

static __global__ void plain(Line a) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < a.n) a.y[i] = 2 * a.x[i];
}

static __global__ void __launch_bounds__(THREADS, 8) spills(Line a) {
    double live[LIVE], sum = 0;
    const size_t first = (size_t)blockIdx.x * THREADS * LIVE + threadIdx.x;
    for (int k = 0; k < LIVE; k++) live[k] = first + k * THREADS < a.n ? a.x[first + k * THREADS] : 0;
    for (int k = 0; k < LIVE; k++) sum += live[k];
    for (int k = 0; k < LIVE; k++)
        if (first + k * THREADS < a.n) a.y[first + k * THREADS] = 2 * live[k] + a.zero * sum;
}

static __global__ void conflicts(Line a) {
    __shared__ volatile double tile[WARP * WARP];
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    const unsigned at = threadIdx.x % WARP * WARP + threadIdx.x / WARP;
    double value = i < a.n ? a.x[i] : 0;
    for (int k = 0; k < PASSES; k++) {
        tile[at] = value;
        value = tile[at];
    }
    if (i < a.n) a.y[i] = 2 * value;
}

static __global__ void stride(Line a) {
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x, rows = a.n / STRIDE;
    const size_t at = i < rows * STRIDE ? i % rows * STRIDE + i / rows : i;
    if (i < a.n) a.y[at] = 2 * a.x[at];
}

/* A block's part takes a while. */
static __global__ void __launch_bounds__(1024, 2) waves(Line a) {
    const size_t part = (a.n + gridDim.x - 1) / gridDim.x, end = min(a.n, (blockIdx.x + 1) * part);
    for (size_t i = blockIdx.x * part + threadIdx.x; i < end; i += 1024) {
        double value = a.x[i];
        for (int k = 0; k < ROUNDS / 4; k++) value = value * a.one + a.zero;
        a.y[i] = 2 * value;
    }
}

static __global__ void nothing() {}

static __device__ unsigned ticket, turn;

static __global__ void waits(Line a) {
    __shared__ unsigned mine;
    if (threadIdx.x == 0) {
        mine = atomicAdd(&ticket, 1);
        while (atomicAdd(&turn, 0) != mine) __nanosleep(20);
    }
    __syncthreads();
    for (size_t k = 0; k < 16; k++) {
        const size_t i = ((size_t)mine * 16 + k) * THREADS + threadIdx.x;
        if (i < a.n) a.y[i] = 2 * a.x[i];
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    const bool last = mine == gridDim.x - 1;
    if (last) ticket = 0;
    __threadfence();
    atomicExch(&turn, last ? 0 : mine + 1);
}

static __global__ void __launch_bounds__(WARP) few_warps(Line a) {
    __shared__ volatile double room[6000];
    room[threadIdx.x] = a.zero;
#pragma unroll 1
    for (size_t i = (size_t)blockIdx.x * WARP + threadIdx.x; i < a.n; i += (size_t)gridDim.x * WARP)
        a.y[i] = 2 * a.x[i] + room[threadIdx.x];
}

static __global__ void reads_again(Line a) {
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < a.n) a.y[i] = 2 * a.x[i] + a.zero * (a.x[(i + a.n / 3) % a.n] + a.x[(i + 2 * a.n / 3) % a.n]);
}

static __global__ void runs(Line a) {
    const size_t first = ((size_t)blockIdx.x * THREADS + threadIdx.x) * RUN;
#pragma unroll 1
    for (size_t i = first; i < min(a.n, first + RUN); i++) a.y[i] = 2 * a.x[i];
}

/* The first block does a fiftieth of all. */
static __global__ void tail(Line a) {
    const size_t large = a.n / 50, i = blockIdx.x == 0 ? threadIdx.x : large + (size_t)(blockIdx.x - 1) * THREADS + threadIdx.x;
    for (size_t k = i; k < (blockIdx.x == 0 ? large : min(a.n, i + 1)); k += THREADS) a.y[k] = 2 * a.x[k];
}

static Status run(const VariantArgs *args) {
    const Line a = {(const double *)args->in[0].data, (double *)args->out[0].data, array_count(&args->in[0]), 1, 0};
    const auto blocks = [&a](size_t each) { return (unsigned)((a.n + each - 1) / each); };
    void (*const kernels[])(Line) = {plain, spills, conflicts, stride, waves, plain, waits, few_warps, reads_again, runs, tail};
    const unsigned grids[] = {blocks(THREADS),   blocks(THREADS * LIVE), blocks(THREADS),      blocks(THREADS),
                              SMS * 2 * 21 / 20, blocks(THREADS),        blocks(THREADS * 16), SMS * 4,
                              blocks(THREADS),   blocks(THREADS * RUN),  blocks(THREADS) + 1};
    const long long cause = params_int(args->tunables, "cause");
    for (int k = 0; cause == 5 && k < EMPTY; k++) TRY(launch(nothing, {1, WARP, 0, args->stream}));
    return launch(kernels[cause],
                  {grids[cause],
                   cause == 4   ? 1024u
                   : cause == 7 ? (unsigned)WARP
                                : (unsigned)THREADS,
                   0, args->stream},
                  a);
}

static const ParamSpec TUNABLES[] = {{"cause", "which", PARAM_INT, "0", 0, 10, NULL}, {}};

RUNGS_VARIANT(double, cuda_causes) = {
    .backend = BACKEND_CUDA, .summary = "slow for a known reason", .origin = "tests", .tunables = TUNABLES, .run = run};
