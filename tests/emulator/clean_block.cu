/* Clean kernels that work within blocks: barriers, shared memory, early exit, indices. */
#include "kernel.h"
#include "selftest.h"

enum { N = 1000, THREADS = 128 };

static unsigned blocks_for(size_t n, size_t per_block) {
    return (unsigned)((n + per_block - 1) / per_block);
}

/* Hillis-Steele, two buffers in dynamic shared memory. */
static __global__ void block_scan(const int *x, int *y, size_t n) {
    DYN_SHARED(int, buffers);
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    int *from = buffers, *to = buffers + blockDim.x;
    from[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    for (unsigned distance = 1; distance < blockDim.x; distance *= 2) {
        to[threadIdx.x] = from[threadIdx.x] + (threadIdx.x >= distance ? from[threadIdx.x - distance] : 0);
        __syncthreads();
        int *const swap = from;
        from = to;
        to = swap;
    }
    if (i < n) y[i] = from[threadIdx.x];
}

static Status run_block_scan(const Device *device) {
    int x[N], expected[N], *in, *out;
    for (int i = 0; i < N; i++) {
        x[i] = i * 7919 % 101;
        expected[i] = x[i] + (i % THREADS ? expected[i - 1] : 0);
    }
    TRY(make_array(device, x, N, &in));
    TRY(make_array<int>(device, NULL, N, &out));
    TRY(launch(block_scan, {blocks_for(N, THREADS), THREADS, 2 * THREADS * sizeof(int), device->stream()}, (const int *)in, out,
               (size_t)N));
    return expect_equal(device, out, expected, N, "block_scan");
}

/* Static shared memory: each resident block must have its own. */
static __global__ void tree_reduction(const double *x, double *sums, size_t n) {
    __shared__ double partial[THREADS];
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    partial[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    for (unsigned half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

static Status run_tree_reduction(const Device *device) {
    enum { BLOCKS = (N + THREADS - 1) / THREADS };
    double x[N], expected[BLOCKS] = {0}, *in, *out;
    for (int i = 0; i < N; i++) {
        x[i] = i % 64;
        expected[i / THREADS] += x[i];
    }
    TRY(make_array(device, x, N, &in));
    TRY(make_array<double>(device, NULL, BLOCKS, &out));
    TRY(launch(tree_reduction, {BLOCKS, THREADS, 0, device->stream()}, (const double *)in, out, (size_t)N));
    return expect_equal(device, out, expected, BLOCKS, "tree_reduction");
}

/* Shared doubles written as halves and bytes, read whole, and the other way round; a structure copied as a whole. */
struct Pair {
    double first, second;
};

static __global__ void pieces(const unsigned *halves, double *whole, unsigned char *bytes, Pair *pairs) {
    __shared__ __align__(8) unsigned words[2 * THREADS];
    __shared__ Pair copies[THREADS];
    words[threadIdx.x] = halves[threadIdx.x];
    words[THREADS + threadIdx.x] = halves[THREADS + threadIdx.x];
    __syncthreads();
    const double value = reinterpret_cast<const double *>(words)[threadIdx.x];
    whole[threadIdx.x] = value;
    const Pair mine = {value, 2 * value};
    copies[threadIdx.x] = mine;
    __syncthreads();
    bytes[threadIdx.x] = reinterpret_cast<const unsigned char *>(copies)[threadIdx.x];
    pairs[threadIdx.x] = copies[THREADS - 1 - threadIdx.x];
}

static Status run_pieces(const Device *device) {
    double values[THREADS], *whole;
    Pair expected[THREADS], *pairs, copies[THREADS];
    unsigned halves[2 * THREADS], *in;
    unsigned char *bytes;
    for (int i = 0; i < THREADS; i++) {
        values[i] = 1.0 / (1 + i);
        copies[i] = {values[i], 2 * values[i]};
        expected[THREADS - 1 - i] = copies[i];
    }
    memcpy(halves, values, sizeof values);
    TRY(make_array(device, halves, 2 * THREADS, &in));
    TRY(make_array<double>(device, NULL, THREADS, &whole));
    TRY(make_array<unsigned char>(device, NULL, THREADS, &bytes));
    TRY(make_array<Pair>(device, NULL, THREADS, &pairs));
    TRY(launch(pieces, {1, THREADS, 0, device->stream()}, (const unsigned *)in, whole, bytes, pairs));
    TRY(expect_equal(device, whole, values, THREADS, "pieces: doubles"));
    TRY(expect_equal(device, bytes, (const unsigned char *)copies, THREADS, "pieces: bytes"));
    return expect_equal(device, (double *)pairs, (const double *)expected, 2 * THREADS, "pieces: structures");
}

/* Threads that have returned no longer hold up a barrier. */
static __global__ void early_exit(int *out, int survivors) {
    __shared__ int values[THREADS];
    if ((int)threadIdx.x >= survivors) return;
    values[threadIdx.x] = (int)threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = values[survivors - 1 - (int)threadIdx.x];
}

static Status run_early_exit(const Device *device) {
    enum { SURVIVORS = 70 };
    int expected[SURVIVORS], *out;
    for (int i = 0; i < SURVIVORS; i++) expected[i] = SURVIVORS - 1 - i;
    TRY(make_array<int>(device, NULL, SURVIVORS, &out));
    TRY(launch(early_exit, {1, THREADS, 0, device->stream()}, out, (int)SURVIVORS));
    return expect_equal(device, out, expected, SURVIVORS, "early_exit");
}

static __global__ void barrier_reductions(int *out) {
    const int count = __syncthreads_count(threadIdx.x % 3 == 0);
    const int all = __syncthreads_and(threadIdx.x < 1000), some = __syncthreads_and(threadIdx.x > 0);
    const int any = __syncthreads_or(threadIdx.x == 5), none = __syncthreads_or(threadIdx.x > 1000);
    if (threadIdx.x == 77) out[0] = count, out[1] = all != 0, out[2] = some != 0, out[3] = any != 0, out[4] = none != 0;
}

static Status run_barrier_reductions(const Device *device) {
    const int expected[] = {34, 1, 0, 1, 0};
    int *out;
    TRY(make_array<int>(device, NULL, 5, &out));
    TRY(launch(barrier_reductions, {1, 100, 0, device->stream()}, out));
    return expect_equal(device, out, expected, 5, "barrier_reductions");
}

static __global__ void indices(unsigned *out) {
    const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    out[block * threads + thread] =
        blockIdx.x + 10 * blockIdx.y + 100 * blockIdx.z + 1000 * threadIdx.x + 10000 * threadIdx.y + 100000 * threadIdx.z;
}

static Status run_indices(const Device *device) {
    const unsigned gx = 3, gy = 2, gz = 2, bx = 5, by = 3, bz = 2;
    unsigned expected[360], n = 0, *out;
    for (unsigned block = 0; block < gx * gy * gz; block++)
        for (unsigned thread = 0; thread < bx * by * bz; thread++)
            expected[n++] = block % gx + 10 * (block / gx % gy) + 100 * (block / gx / gy) + 1000 * (thread % bx) +
                            10000 * (thread / bx % by) + 100000 * (thread / bx / by);
    TRY(make_array<unsigned>(device, NULL, n, &out));
    TRY(launch(indices, {dim3(gx, gy, gz), dim3(bx, by, bz), 0, device->stream()}, out));
    return expect_equal(device, out, expected, n, "indices");
}

/* More shared memory than without asking; a full block; parameters by value. */
static __global__ void __launch_bounds__(1024) large_block(Pair scale, double *out) {
    DYN_SHARED(double, all);
    for (unsigned i = threadIdx.x; i < 12000; i += 1024) all[i] = i * scale.first;
    scale.first = 0;
    __syncthreads();
    out[threadIdx.x] = all[11999 - threadIdx.x] + scale.second;
}

static Status run_large_block(const Device *device) {
    double expected[1024], *out;
    for (int i = 0; i < 1024; i++) expected[i] = 2.0 * (11999 - i) + 0.5;
    TRY(make_array<double>(device, NULL, 1024, &out));
    TRY(launch(large_block, {1, 1024, 12000 * sizeof(double), device->stream()}, Pair{2, 0.5}, out));
    return expect_equal(device, out, expected, 1024, "large_block");
}

static __global__ void nothing() {}

static Status refuse(const Device *device, const char *what, dim3 grid, dim3 block, size_t shared_bytes) {
    if (launch(nothing, {grid, block, shared_bytes, device->stream()}) == STATUS_OK)
        return status_fail(STATUS_CHECK, "limits: %s was accepted", what);
    return STATUS_OK;
}

static Status run_limits(const Device *device) {
    TRY(refuse(device, "a block of 1025 threads", 1, 1025, 0));
    TRY(refuse(device, "a block of 32 x 64 threads", 1, dim3(32, 64), 0));
    TRY(refuse(device, "a block of depth 65", 1, dim3(1, 1, 65), 0));
    TRY(refuse(device, "an empty block", 1, dim3(0), 0));
    TRY(refuse(device, "an empty grid", dim3(0), 32, 0));
    TRY(refuse(device, "a grid of height 65536", dim3(1, 65536), 32, 0));
    TRY(refuse(device, "a gibibyte of shared memory", 1, 32, (size_t)1 << 30));
    return launch(nothing, {1, 32, 0, device->stream()});
}

extern "C" const SelfTest CLEAN_BLOCK[] = {
    {"block scan", run_block_scan, {}},
    {"tree reduction", run_tree_reduction, {}},
    {"pieces of words", run_pieces, {}},
    {"early exit", run_early_exit, {}},
    {"barrier reductions", run_barrier_reductions, {}},
    {"indices", run_indices, {}},
    {"large block", run_large_block, {}},
    {"launch limits", run_limits, {}},
    {NULL, NULL, {}},
};
