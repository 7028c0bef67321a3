/* Idea: the published two-pass as its program runs it. Kernel 1 sums every column, kernel 2 makes the means; kernel 3 sums the
 *   powers of the distances from the means, kernel 4 makes the moments. The grid is 5 blocks of 384 threads per SM on an H100 or
 *   H200, 660 blocks. Of its threads the first stride = floor(threads / cols) cols take part: thread id takes elements id, id +
 *   stride, ... of the matrix, all of column id mod cols, and a warp reads neighbouring elements. In a block, thread t < cols adds
 *   the threads t, t + cols, ...; kernels 2 and 4 are one block, whose thread c adds the results of all blocks for column c, one
 *   after another. wide=1: other blocks, and nothing else changed. If the published geometry has fewer threads per block than
 *   the matrix has columns, there are fewer and wider blocks per SM, as many as leave cols <= threads: on an H100 or H200, 512
 *   columns run on 528 blocks of 512 threads (4 per SM; published: 660 of 384, which cannot) and 1024 columns on 264 of 1024. It
 *   stands for the published program at 512 columns, the width of its own table.
 * Traffic: 2 reads of the matrix, 4 bytes per load; per pass 16 and 20 bytes per block and column, written and read (float). 16
 *   and 20 KiB of static shared memory per block, 1024 slots whatever the number of threads. 4 launches, and inside the call 2
 *   allocations, 2 releases and 4 waits for the device: after each kernel.
 * Rounding: all in the precision of the data, counts too; chains of rows cols / stride, threads / cols and `blocks` additions.
 *   Sums of powers are corrected for the error of the mean; the mean itself is not. A constant column whose mean is rounded gets a
 *   variance that is not 0. Fourth powers of |x| about 1e10 overflow a float.
 * Limits: cols <= threads of a block (384 on an H100 or H200, 512 on the published card; wide=1: 1024): the original writes no more columns
 *   than that. rows cols + stride < 2^31, the original's 32-bit indices. No weights, order 4, at least one row. min and max drop a
 *   NaN, where the op wants NaN. Two forced differences from the original: blocks and threads without an element write results of
 *   count 0, where the original returns early and reads memory that nobody wrote (fewer elements than threads; cols = 300); and
 *   degenerate=nan is obeyed, where the original always gives 0. Added: float64; the original has floats alone.
 * Origin: EgyipTomi425/statistics, CUDA version; Pebay, Terriberry, Kolla and Bennett 2016. */
#include "_shared.cuh"

#include <limits.h>

enum { THREADS_MAX = 1024 /* slots of shared memory, one per thread */, ORDER_MAX = 4 };

static const ParamSpec TUNABLES[] = {
    MEMORY_TUNABLE,
    {"wide", "1: fewer and wider blocks where there are more columns than threads in a block; 0: as published", PARAM_INT, "0", 0,
     1, NULL},
    {},
};

/* What pass 1 leaves of a column in one block: 16 bytes of floats. The count is a number of the data's type, as published: exact up
 * to 2^24 in float. */
template <typename T> struct BlockSums { T sum, count, low, high; };

/* What pass 2 leaves: 20 bytes of floats. */
template <typename T> struct BlockPowers {
    T s1, s2, s3, s4, count; /* sums of d, d^2, d^3, d^4, d being the distance from the mean */
};

/* Kernel 1: sums, counts and extremes. cache: [blocks, cols]. */
template <typename T>
static __global__ void __launch_bounds__(THREADS_MAX) sums_kernel(const T *x, int rows, int cols, int stride, BlockSums<T> *cache) {
    __shared__ T sums[THREADS_MAX], counts[THREADS_MAX], lows[THREADS_MAX], highs[THREADS_MAX];
    const int slot = (int)threadIdx.x, threads = (int)blockDim.x, id = (int)blockIdx.x * threads + slot, total = rows * cols;
    T sum = 0, low = (T)__builtin_huge_val(), high = -(T)__builtin_huge_val();
    int taken = 0;
    if (id < stride) {
        for (int i = id; i < total; i += stride) {
            const T value = x[i];
            sum += value;
            low = min(low, value);
            high = max(high, value);
            taken++;
        }
    }
    T count = (T)taken;
    sums[slot] = sum;
    counts[slot] = count;
    lows[slot] = low;
    highs[slot] = high;
    __syncthreads();
    if (slot >= cols) return;
    for (int other = slot + cols; other < threads; other += cols) { /* those of the same column */
        sum += sums[other];
        count += counts[other];
        low = min(low, lows[other]);
        high = max(high, highs[other]);
    }
    cache[(int)blockIdx.x * cols + id % cols] = {sum, count, low, high};
}

/* Kernel 2, one block: thread c walks through what the blocks left of column c. */
template <typename T>
static __global__ void __launch_bounds__(THREADS_MAX)
    means_kernel(const BlockSums<T> *cache, int blocks, int cols, T *mean, T *min_out, T *max_out) {
    const int c = (int)threadIdx.x;
    if (c >= cols) return;
    T sum = 0, count = 0, low = (T)__builtin_huge_val(), high = -(T)__builtin_huge_val();
    for (int block = 0; block < blocks; block++) {
        const BlockSums<T> part = cache[block * cols + c];
        if (part.count == 0) continue;
        sum += part.sum;
        count += part.count;
        low = min(low, part.low);
        high = max(high, part.high);
    }
    mean[c] = sum / count;
    min_out[c] = low;
    max_out[c] = high;
}

/* Kernel 3: powers of the distances from the mean. Threads, shared memory and cache as in kernel 1. */
template <typename T>
static __global__ void __launch_bounds__(THREADS_MAX)
    powers_kernel(const T *x, const T *mean, int rows, int cols, int stride, BlockPowers<T> *cache) {
    __shared__ T s1s[THREADS_MAX], s2s[THREADS_MAX], s3s[THREADS_MAX], s4s[THREADS_MAX], counts[THREADS_MAX];
    const int slot = (int)threadIdx.x, threads = (int)blockDim.x, id = (int)blockIdx.x * threads + slot, total = rows * cols;
    const int c = id % cols;
    T s1 = 0, s2 = 0, s3 = 0, s4 = 0;
    int taken = 0;
    if (id < stride) {
        for (int i = id; i < total; i += stride) {
            const T d = x[i] - mean[c], d2 = d * d;
            s1 += d;
            s2 += d2;
            s3 += d2 * d;
            s4 += d2 * d2;
            taken++;
        }
    }
    T count = (T)taken;
    s1s[slot] = s1;
    s2s[slot] = s2;
    s3s[slot] = s3;
    s4s[slot] = s4;
    counts[slot] = count;
    __syncthreads();
    if (slot >= cols) return;
    for (int other = slot + cols; other < threads; other += cols) {
        s1 += s1s[other];
        s2 += s2s[other];
        s3 += s3s[other];
        s4 += s4s[other];
        count += counts[other];
    }
    cache[(int)blockIdx.x * cols + c] = {s1, s2, s3, s4, count};
}

/* Kernel 4, one block: thread c adds what the blocks left of column c and makes its moments. delta = S1 / n is the error of the
 * mean; it corrects S2, S3 and S4, but not the mean itself, as published. */
template <typename T>
static __global__ void __launch_bounds__(THREADS_MAX) moments_kernel(const BlockPowers<T> *cache, int blocks, MomentsView<T> view) {
    const int c = (int)threadIdx.x, cols = (int)view.cols;
    if (c >= cols) return;
    T s1 = 0, s2 = 0, s3 = 0, s4 = 0, n = 0;
    for (int block = 0; block < blocks; block++) {
        const BlockPowers<T> part = cache[block * cols + c];
        if (part.count == 0) continue;
        s1 += part.s1;
        s2 += part.s2;
        s3 += part.s3;
        s4 += part.s4;
        n += part.count;
    }
    const T delta = s1 / n, delta2 = delta * delta;
    const T m2 = s2 - n * delta2;
    const T m3 = s3 - 3 * delta * s2 + 2 * n * delta2 * delta;
    const T m4 = s4 - 4 * delta * s3 + 6 * delta2 * s2 - 3 * n * delta2 * delta2;
    const T var = m2 / n, degenerate = view.zero_spread ? (T)0 : (T)__builtin_nan("");
    view.out[OUT_VAR][c] = var;
    view.out[OUT_SKEWNESS][c] = var <= 0 ? degenerate : m3 / n / (var * sqrt(var));
    view.out[OUT_KURTOSIS][c] = var <= 0 ? degenerate : m4 / n / (var * var);
}

/* The launch that the published program derives from the device: enough blocks per SM for its threads and for its shared memory, if
 * every block took all that a block may have; then the threads that an SM has for each of so many blocks, in whole warps. wide=1:
 * fewer blocks per SM where a block would have fewer threads than there are columns. */
struct Geometry {
    int blocks_per_sm, blocks, threads;
    int stride; /* threads that take part */
};

static size_t block_threads(size_t blocks_per_sm) {
    const size_t warp = 32, threads = device_sm_threads_max() / blocks_per_sm / warp * warp, most = device_block_threads_max();
    return threads < most ? threads : most;
}

static Geometry geometry(const VariantArgs *args) {
    const size_t cols = moments_cols(args);
    const size_t by_threads = divide_up(device_sm_threads_max(), device_block_threads_max());
    const size_t by_shared = divide_up(device_sm_shared_bytes(), device_attribute(cudaDevAttrMaxSharedMemoryPerBlock, 48 * 1024));
    size_t blocks_per_sm = by_threads > by_shared ? by_threads : by_shared;
    while (params_int(args->tunables, "wide") && blocks_per_sm > 1 && block_threads(blocks_per_sm) < cols) blocks_per_sm--;
    const size_t threads = block_threads(blocks_per_sm), blocks = device_sm_count() * blocks_per_sm;
    return {(int)blocks_per_sm, (int)blocks, (int)threads, (int)(blocks * threads / cols * cols)};
}

static Status wait_for_device(void) {
    TRY_CUDA(cudaDeviceSynchronize());
    return STATUS_OK;
}

template <typename T> static Status launch_means(const VariantArgs *args, const Geometry &g, BlockSums<T> *cache) {
    const MomentsView<T> view = moments_view<T>(args);
    TRY(launch(sums_kernel<T>, {dim3((unsigned)g.blocks), dim3((unsigned)g.threads), 0, args->stream}, view.x, (int)view.rows,
               (int)view.cols, g.stride, cache));
    TRY(wait_for_device());
    TRY(launch(means_kernel<T>, {dim3(1), dim3((unsigned)g.threads), 0, args->stream}, (const BlockSums<T> *)cache, g.blocks,
               (int)view.cols, view.out[OUT_MEAN], view.out[OUT_MIN], view.out[OUT_MAX]));
    return wait_for_device();
}

template <typename T> static Status launch_moments(const VariantArgs *args, const Geometry &g, BlockPowers<T> *cache) {
    const MomentsView<T> view = moments_view<T>(args);
    TRY(launch(powers_kernel<T>, {dim3((unsigned)g.blocks), dim3((unsigned)g.threads), 0, args->stream}, view.x,
               (const T *)view.out[OUT_MEAN], (int)view.rows, (int)view.cols, g.stride, cache));
    TRY(wait_for_device());
    TRY(launch(moments_kernel<T>, {dim3(1), dim3((unsigned)g.threads), 0, args->stream}, (const BlockPowers<T> *)cache, g.blocks,
               view));
    return wait_for_device();
}

/* Allocate, two kernels with a wait after each, free; twice. */
template <typename T> static Status launch_all(const VariantArgs *args) {
    const Geometry g = geometry(args);
    const size_t columns = (size_t)g.blocks * moments_cols(args);
    VariantMemory *const memory = args->memory;
    void *cache = NULL;
    TRY(memory->allocate(memory, columns * sizeof(BlockSums<T>), args->stream, &cache));
    const Status means = launch_means(args, g, (BlockSums<T> *)cache);
    memory->release(memory, cache, args->stream);
    TRY(means);
    TRY(memory->allocate(memory, columns * sizeof(BlockPowers<T>), args->stream, &cache));
    const Status moments = launch_moments(args, g, (BlockPowers<T> *)cache);
    memory->release(memory, cache, args->stream);
    return moments;
}

static Status run(const VariantArgs *args) {
    return args->problem->dtype == DTYPE_F64 ? launch_all<double>(args) : launch_all<float>(args);
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const Geometry g = geometry(args);
    const size_t rows = moments_rows(args), cols = moments_cols(args);
    if (cols > (size_t)g.threads)
        return variant_refuse(reason,
                              params_int(args->tunables, "wide")
                                  ? "cols=%zu: a block has at most %d threads, and writes no more columns"
                                  : "cols=%zu: the published launch has %d threads per block here, and writes no more columns",
                              cols, g.threads);
    if (rows == 0) return variant_refuse(reason, "rows=0: the published kernels leave no statistics of no rows");
    if (moments_weighted(args)) return variant_refuse(reason, "weights: the published kernels have none");
    if (moments_order(args) > ORDER_MAX)
        return variant_refuse(reason, "order=%d: the published kernels end at %d", moments_order(args), ORDER_MAX);
    if (rows > ((size_t)INT_MAX - (size_t)g.stride) / cols)
        return variant_refuse(reason, "rows=%zu cols=%zu: the published kernels count elements in 32 bits", rows, cols);
    return true;
}

static Status configuration(const VariantArgs *args, LaunchNotes *out) {
    const Geometry g = geometry(args);
    const size_t element = dtype_size(args->problem->dtype), shared = device_sm_shared_bytes() / (size_t)g.blocks_per_sm;
    launch_note(out, "threads", g.threads);
    launch_note(out, "blocks", g.blocks);
    launch_note(out, "stride", g.stride);
    launch_note(out, "shared_bytes", (double)(5 * THREADS_MAX * element)); /* of kernel 3, the larger */
    launch_note(out, "shared_bytes_per_thread", (double)(shared / (size_t)g.threads));
    launch_note(out, "registers_per_thread", (double)(device_sm_registers() / (size_t)g.threads));
    launch_note(out, "sm_count", (double)device_sm_count());
    return STATUS_OK;
}

RUNGS_VARIANT(moments, cuda_two_pass) = {
    .backend = BACKEND_CUDA,
    .summary = "as published: four kernels with allocations and waits between them, threads that stay on their column",
    .origin = "EgyipTomi425/statistics",
    .tunables = TUNABLES,
    .supports = supports,
    .run = run,
    .configuration = configuration,
};
