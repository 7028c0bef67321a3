/* Right, and cause=1 to 10 slow, each for one reason; the others near the limit, or slow for arithmetic alone. Planted from the
 * list of reasons that analysis/why.py is to name, by an author who had not read its rules (BLIND of tests/gpu/causes.py). */
#include "kernel.h"
#include "variant.h"

enum {
    THREADS = 256,
    WARP = 32,
    SMS = 132,
    TABLE = 100,
    SEEN = 64,
    HOLE = 8,
    TILE = 32,
    TURNS = 6,
    LAST = 8,
    PARTS = 256,
    CHUNK = 16384
};
enum { STEPS = 400, DIVISIONS = 24 };

struct Line {
    const double *x;
    double *y;
    size_t n;
    unsigned *flags; /* zeros */
    double zero;
    unsigned step; /* 1 */
};

static __device__ size_t thread_index() {
    return (size_t)blockIdx.x * blockDim.x + threadIdx.x;
}

static __global__ void plain(Line a) {
    const size_t i = thread_index();
    if (i < a.n) a.y[i] = 2 * a.x[i];
}

/* An array that is indexed by what the compiler cannot know. */
static __global__ void local_array(Line a) {
    double seen[SEEN], sum = 0;
    const size_t i = thread_index();
    const double x = i < a.n ? a.x[i] : 0;
    for (unsigned k = 0; k < SEEN; k++) seen[k * a.step % SEEN] = x + k;
    for (unsigned k = 0; k < SEEN; k++) sum += seen[(k + threadIdx.x * a.step) % SEEN];
    if (i < a.n) a.y[i] = 2 * x + a.zero * sum;
}

/* 200 registers hold a table that the loop never needs. */
static __global__ void __launch_bounds__(THREADS, 1) table_in_registers(Line a) {
    double table[TABLE];
#pragma unroll
    for (int k = 0; k < TABLE; k++) table[k] = a.x[k % a.n];
#pragma unroll 1
    for (size_t i = thread_index(); i < a.n; i += (size_t)gridDim.x * THREADS) {
        const double y = 2 * a.x[i];
        a.y[i] = y;
        if (y == 0x1p1000) {
#pragma unroll
            for (int k = 0; k < TABLE; k++) a.y[k] = table[k];
        }
    }
}

static __global__ void doubles_in_place(Line a) {
    const size_t i = thread_index();
    if (i < a.n) a.y[i] *= 2;
}

static __global__ void copies(Line a) {
    const size_t i = thread_index();
    if (i < a.n) a.y[i] = a.x[i];
}

/* The lanes of a warp are a sector apart and more; the other warps of the block take what lies between. */
static __global__ void sparse_lanes(Line a) {
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x % WARP * HOLE + threadIdx.x / WARP;
    if (i < a.n) a.y[i] = 2 * a.x[i];
}

static __global__ void transposes(Line a) {
    __shared__ double tile[TILE][TILE];
    const size_t i = thread_index();
    const unsigned row = threadIdx.x / TILE, column = threadIdx.x % TILE;
    double value = i < a.n ? a.x[i] : 0;
#pragma unroll 1
    for (int turn = 0; turn < TURNS; turn++) {
        tile[row][column] = value;
        __syncthreads();
        value = tile[column][row];
        __syncthreads();
    }
    if (i < a.n) a.y[i] = 2 * value;
}

/* The last blocks have 1/256 of all each. */
static __global__ void heavy_end(Line a) {
    const size_t heavy = a.n / 256, light = a.n - LAST * heavy, lights = (light + THREADS - 1) / THREADS;
    const size_t first = blockIdx.x < lights ? (size_t)blockIdx.x * THREADS : light + (blockIdx.x - lights) * heavy;
    const size_t end = blockIdx.x < lights ? min(light, first + THREADS) : first + heavy;
#pragma unroll 1
    for (size_t i = first + threadIdx.x; i < end; i += THREADS) a.y[i] = 2 * a.x[i];
}

/* A block begins when the block before it is done. */
static __global__ void one_after_another(Line a) {
    __shared__ unsigned turn;
    if (threadIdx.x == 0) {
        turn = atomicAdd(&a.flags[0], 1);
        while (turn != 0 && atomicAdd(&a.flags[turn], 0) == 0) {}
    }
    __syncthreads();
    const size_t first = (size_t)turn * CHUNK;
    for (size_t i = first + threadIdx.x; i < min(a.n, first + CHUNK); i += THREADS) a.y[i] = 2 * a.x[i];
    __syncthreads();
    __threadfence();
    if (threadIdx.x == 0) atomicExch(&a.flags[turn + 1], 1);
}

/* One thread adds what all have loaded; the others stand at the barrier. */
static __global__ void one_for_all(Line a) {
    __shared__ double loaded[THREADS], sum;
    const size_t i = thread_index();
    loaded[threadIdx.x] = i < a.n ? a.x[i] : 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        double all = 0;
#pragma unroll 1
        for (int k = 0; k < THREADS; k++) all += loaded[k];
        sum = all;
    }
    __syncthreads();
    if (i < a.n) a.y[i] = 2 * loaded[threadIdx.x] + a.zero * sum;
}

static __global__ void pairs(Line a) {
    const size_t i = thread_index();
    if (2 * i + 1 < a.n) {
        const double2 x = ((const double2 *)a.x)[i];
        ((double2 *)a.y)[i] = make_double2(2 * x.x, 2 * x.y);
    } else if (2 * i < a.n) {
        a.y[2 * i] = 2 * a.x[2 * i];
    }
}

static __global__ void four_apart(Line a) {
    const size_t first = (size_t)blockIdx.x * blockDim.x * 4 + threadIdx.x;
    double x[4];
#pragma unroll
    for (int k = 0; k < 4; k++)
        if (first + k * blockDim.x < a.n) x[k] = a.x[first + k * blockDim.x];
#pragma unroll
    for (int k = 0; k < 4; k++)
        if (first + k * blockDim.x < a.n) a.y[first + k * blockDim.x] = 2 * x[k];
}

static __global__ void streams(Line a) {
    const size_t i = thread_index();
    if (i < a.n) __stcs(&a.y[i], 2 * __ldcs(&a.x[i]));
}

static __global__ void reverses_in_shared(Line a) {
    __shared__ double line[THREADS];
    const size_t i = thread_index();
    line[THREADS - 1 - threadIdx.x] = i < a.n ? a.x[i] : 0;
    __syncthreads();
    if (i < a.n) a.y[i] = 2 * line[THREADS - 1 - threadIdx.x];
}

static __global__ void shuffles(Line a) {
    const size_t i = thread_index();
    const double x = i < a.n ? a.x[i] : 0, back = __shfl_xor_sync(0xffffffffu, __shfl_xor_sync(0xffffffffu, x, 31), 31);
    if (i < a.n) a.y[i] = 2 * back;
}

static __global__ void strides(Line a) {
    for (size_t i = thread_index(); i < a.n; i += (size_t)gridDim.x * blockDim.x) a.y[i] = 2 * a.x[i];
}

/* Bound by the double-precision units. */
static __global__ void multiplies(Line a) {
    const size_t i = thread_index();
    double p = (double)(i % 8), q = p + 1, r = p + 2, s = p + 3;
#pragma unroll 4
    for (int k = 0; k < STEPS; k++) {
        p = fma(p, 0.5, 0.25);
        q = fma(q, 0.5, 0.25);
        r = fma(r, 0.5, 0.25);
        s = fma(s, 0.5, 0.25);
    }
    if (i < a.n) a.y[i] = 2 * a.x[i] + a.zero * (p + q + r + s);
}

/* Bound by divisions of integers. */
static __global__ void divides(Line a) {
    const size_t i = thread_index();
    unsigned long long left = ~(unsigned long long)i;
#pragma unroll 1
    for (unsigned k = 0; k < DIVISIONS; k++) left = left / (a.step + k % 2) + i;
    if (i < a.n) a.y[i] = 2 * a.x[i] + a.zero * (double)left;
}

struct Planted {
    void (*kernel)(Line);
    unsigned threads;
    size_t each; /* elements a block; 0: a grid of `blocks` */
    unsigned blocks;
    size_t shared_bytes;
};

static const Planted PLANTED[] = {
    {plain, 128, 128, 0, 0},
    {local_array, THREADS, THREADS, 0, 0},
    {table_in_registers, THREADS, 0, SMS, 0},
    {plain, 64, 64, 0, 100 * 1024},
    {copies, THREADS, THREADS, 0, 0},
    {sparse_lanes, THREADS, THREADS, 0, 0},
    {transposes, TILE *TILE, TILE *TILE, 0, 0},
    {heavy_end, THREADS, 0, 0, 0},
    {plain, THREADS, THREADS, 0, 0},
    {one_after_another, THREADS, CHUNK, 0, 0},
    {one_for_all, THREADS, THREADS, 0, 0},
    {pairs, THREADS, 2 * THREADS, 0, 0},
    {four_apart, 512, 4 * 512, 0, 0},
    {streams, THREADS, THREADS, 0, 0},
    {plain, 512, 512, 0, 0},
    {reverses_in_shared, THREADS, THREADS, 0, 0},
    {shuffles, THREADS, THREADS, 0, 0},
    {strides, THREADS, 0, SMS * 8 * 8, 0},
    {multiplies, THREADS, THREADS, 0, 0},
    {divides, THREADS, THREADS, 0, 0},
};

enum { COPY = 4, HEAVY_END = 7, MANY = 8, CHAIN = 9 };

static unsigned blocks_of(size_t n, size_t each) {
    return (unsigned)((n + each - 1) / each);
}

static size_t scratch_bytes(const VariantArgs *args) {
    const bool chain = params_int(args->tunables, "cause") == CHAIN;
    return chain ? (blocks_of(array_count(&args->in[0]), CHUNK) + 2) * sizeof(unsigned) : 0;
}

static Status run_parts(Line a, void *stream) {
    const size_t part = a.n / PARTS + 1;
    for (size_t first = 0; first < a.n; first += part) {
        const Line b = {a.x + first, a.y + first, min(part, a.n - first), NULL, a.zero, a.step};
        TRY(launch(plain, {blocks_of(b.n, THREADS), THREADS, 0, stream}, b));
    }
    return STATUS_OK;
}

static Status run(const VariantArgs *args) {
    const long long cause = params_int(args->tunables, "cause");
    const Planted *p = &PLANTED[cause];
    const size_t n = array_count(&args->in[0]);
    const Line a = {(const double *)args->in[0].data, (double *)args->out[0].data, n, (unsigned *)args->scratch, 0, 1};
    if (n == 0) return STATUS_OK;
    if (cause == MANY) return run_parts(a, args->stream);
    if (cause == CHAIN) TRY_CUDA(cudaMemsetAsync(args->scratch, 0, args->scratch_bytes, (cudaStream_t)args->stream));
    const unsigned heavy_end_blocks = blocks_of(n - LAST * (n / 256), THREADS) + LAST;
    const unsigned blocks = cause == HEAVY_END ? heavy_end_blocks : p->each == 0 ? p->blocks : blocks_of(n, p->each);
    TRY(launch(p->kernel, {blocks, p->threads, p->shared_bytes, args->stream}, a));
    return cause == COPY ? launch(doubles_in_place, {blocks, p->threads, 0, args->stream}, a) : STATUS_OK;
}

static const ParamSpec TUNABLES[] = {{"cause", "which", PARAM_INT, "0", 0, 19, NULL}, {}};
static const DType DTYPES[] = {DTYPE_F64, DTYPE_COUNT};

RUNGS_VARIANT(double, cuda_blind_causes) = {
    .backend = BACKEND_CUDA,
    .summary = "slow for a known reason, or for none",
    .origin = "tests",
    .tunables = TUNABLES,
    .dtypes = DTYPES,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
