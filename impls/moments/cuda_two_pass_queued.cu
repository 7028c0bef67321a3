/* Idea: the published two-pass with its host work taken out of the call: memory is taken beforehand and the four kernels are
 *   queued one behind the other. Blocks are as large as the device allows (264 x 1024 on an H100 or H200). As in cuda_two_pass the
 *   first stride = floor(threads / cols) cols threads take part, thread id takes elements id, id + stride, ..., all of column id
 *   mod cols; a block adds its threads of the same column in shared memory, and one block adds the blocks: here floor(threads /
 *   cols) threads share a column.
 * Traffic: 2 reads of the matrix (the second an L2 hit where it fits), 4 bytes per load; per pass 12 and 16 bytes (float) per
 *   block and column. 12 and 16 KiB of shared memory per block, 4 launches, no allocation, no wait.
 * Rounding: chains of rows cols / threads additions in the precision of the data (accumulate=f64: in double); the first
 *   deviation sum corrects the others and the mean. Counts are integers, outputs are made in double.
 * Limits: cols <= threads of a block, for a block has a thread for every column of a reduction. No weights, order 4, as
 *   published. Fourth powers of |x| about 1e10 overflow a float; deviations are not scaled.
 * Origin: EgyipTomi425/statistics, CUDA version, without its allocations and waits; Pebay, Terriberry, Kolla and Bennett 2016. */
#include "_shared.cuh"

enum { THREADS_MAX = 1024, ORDER = 4 };

static const ParamSpec TUNABLES[] = {
    ACCUMULATE_TUNABLE("data"),
    {"threads", "threads of a block; 0: as many as the device allows", PARAM_INT, "0", 0, THREADS_MAX, NULL},
    {},
};

/* Pass 1: what a thread has of its column. */
template <typename T, typename A> struct Sums {
    A sum = 0;
    Range<T> range;
    __device__ void merge(const Sums &b) {
        sum += b.sum;
        range.merge(b.range);
    }
};
/* Pass 2. */
template <typename A> struct Deviations {
    A s[ORDER] = {}; /* s[p-1] = sum d^p */
    __device__ void merge(const Deviations &b) {
#pragma unroll
        for (int p = 0; p < ORDER; p++) s[p] += b.s[p];
    }
};

/* Threads whose numbers differ by cols have the same column: threads 0 to cols-1 return the sum over theirs. All threads of the
 * block take part; one without work brings an empty part. */
template <typename P> __device__ P add_columns(P own, size_t cols) {
    DYN_SHARED(P, shared);
    shared[threadIdx.x] = own;
    __syncthreads();
    if (threadIdx.x < cols)
        for (size_t other = threadIdx.x + cols; other < blockDim.x; other += cols) own.merge(shared[other]);
    return own;
}

template <typename T, typename A>
static __global__ void __launch_bounds__(THREADS_MAX) sums_kernel(MomentsView<T> view, size_t stride, Sums<T, A> *partials) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x, total = view.rows * view.cols;
    A sum = 0;
    Extremes<T> extremes;
    if (i < stride) {
#pragma unroll 4
        for (size_t at = i; at < total; at += stride) {
            const T x = view.x[at];
            sum += (A)x;
            extremes.push(x);
        }
    }
    const Sums<T, A> all = add_columns(Sums<T, A>{sum, extremes.done()}, view.cols);
    if (threadIdx.x < view.cols) partials[blockIdx.x * view.cols + i % view.cols] = all;
}

template <typename T, typename A>
static __global__ void __launch_bounds__(THREADS_MAX)
    deviations_kernel(MomentsView<T> view, size_t stride, const A *means, Deviations<A> *partials) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x, total = view.rows * view.cols;
    Deviations<A> own;
    if (i < stride) {
        const A mean = means[i % view.cols];
#pragma unroll 4
        for (size_t at = i; at < total; at += stride) {
            const A d = (A)view.x[at] - mean, d2 = d * d;
            own.s[0] += d;
            own.s[1] += d2;
            own.s[2] += d2 * d;
            own.s[3] += d2 * d2;
        }
    }
    own = add_columns(own, view.cols);
    if (threadIdx.x < view.cols) partials[blockIdx.x * view.cols + i % view.cols] = own;
}

/* One block: floor(threads / cols) threads share the partial results of a column. */
template <typename P> __device__ P reduce_partials(const P *partials, size_t blocks, size_t cols) {
    const size_t lanes = blockDim.x / cols, lane = threadIdx.x / cols;
    P own;
    if (lane < lanes)
        for (size_t block = lane; block < blocks; block += lanes) own.merge(partials[block * cols + threadIdx.x % cols]);
    return add_columns(own, cols);
}

template <typename T, typename A>
static __global__ void __launch_bounds__(THREADS_MAX)
    means_kernel(MomentsView<T> view, const Sums<T, A> *partials, size_t blocks, A *means) {
    const Sums<T, A> all = reduce_partials(partials, blocks, view.cols);
    const size_t c = threadIdx.x;
    if (c >= view.cols) return;
    means[c] = (A)((double)all.sum / (double)view.rows);
    view.out[OUT_MIN][c] = all.range.low;
    view.out[OUT_MAX][c] = all.range.high;
}

template <typename T, typename A>
static __global__ void __launch_bounds__(THREADS_MAX)
    moments_kernel(MomentsView<T> view, const Deviations<A> *partials, size_t blocks, const A *means) {
    const Deviations<A> all = reduce_partials(partials, blocks, view.cols);
    const size_t c = threadIdx.x;
    if (c >= view.cols) return;
    double sums[ORDER + 1];
    for (int p = 1; p <= ORDER; p++) sums[p] = (double)all.s[p - 1];
    moments_write(view, c, Central<double, ORDER>::about((double)means[c], (double)view.rows, sums),
                  Range<T>{view.out[OUT_MIN][c], view.out[OUT_MAX][c]});
}

/* The grid is what the device holds at once. */
struct Configuration {
    unsigned blocks, threads;
    size_t stride;                                        /* threads that take part */
    double shared_bytes_per_thread, registers_per_thread; /* the SM's, divided among the threads that it holds */
};

static Configuration configure(const VariantArgs *args) {
    const size_t asked = (size_t)params_int(args->tunables, "threads"), most = device_block_threads_max();
    Configuration c = {};
    c.threads = (unsigned)(asked > 0 ? asked : most < THREADS_MAX ? most : (size_t)THREADS_MAX);
    const size_t held = device_sm_threads_max() / c.threads, blocks_per_sm = held > 0 ? held : 1;
    const size_t sm_threads = blocks_per_sm * c.threads, cols = moments_cols(args);
    c.blocks = (unsigned)(device_sm_count() * blocks_per_sm);
    c.stride = cols > 0 ? (size_t)c.blocks * c.threads / cols * cols : 0;
    c.shared_bytes_per_thread = (double)device_sm_shared_bytes() / (double)sm_threads;
    c.registers_per_thread = (double)device_sm_registers() / (double)sm_threads;
    return c;
}

/* Scratch: means, then partial results [blocks, cols] of one pass after the other. */
static size_t means_bytes(const VariantArgs *args) {
    return divide_up(moments_cols(args) * sizeof(double), 256) * 256;
}

template <typename T, typename A> static Status launch_all(const VariantArgs *args) {
    const Configuration c = configure(args);
    const MomentsView<T> view = moments_view<T>(args);
    const dim3 grid(c.blocks), block(c.threads);
    const size_t sums_bytes = c.threads * sizeof(Sums<T, A>), deviations_bytes = c.threads * sizeof(Deviations<A>);
    A *means = (A *)args->scratch;
    Sums<T, A> *sums = (Sums<T, A> *)((char *)args->scratch + means_bytes(args));
    Deviations<A> *deviations = (Deviations<A> *)sums;
    const size_t blocks = c.blocks;
    TRY(launch(sums_kernel<T, A>, {grid, block, sums_bytes, args->stream}, view, c.stride, sums));
    TRY(launch(means_kernel<T, A>, {dim3(1), block, sums_bytes, args->stream}, view, (const Sums<T, A> *)sums, blocks, means));
    TRY(launch(deviations_kernel<T, A>, {grid, block, deviations_bytes, args->stream}, view, c.stride, (const A *)means,
               deviations));
    return launch(moments_kernel<T, A>, {dim3(1), block, deviations_bytes, args->stream}, view, (const Deviations<A> *)deviations,
                  blocks, (const A *)means);
}

static size_t shared_bytes(const VariantArgs *args) {
    return configure(args).threads * (moments_in_double(args) ? sizeof(Deviations<double>) : sizeof(Deviations<float>));
}

static size_t scratch_bytes(const VariantArgs *args) {
    return means_bytes(args) + configure(args).blocks * moments_cols(args) * sizeof(Deviations<double>);
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const Configuration c = configure(args);
    if (moments_cols(args) > c.threads)
        return variant_refuse(reason, "cols=%zu: a block of %u threads has one for each column, and one block reduces all",
                              moments_cols(args), c.threads);
    if (moments_weighted(args)) return variant_refuse(reason, "weights: the published method has none");
    if (moments_order(args) > ORDER) return variant_refuse(reason, "order=%d: the published method ends at 4", moments_order(args));
    if (c.threads > device_block_threads_max() || shared_bytes(args) > device_block_shared_max())
        return variant_refuse(reason, "blocks of %u threads and %zu bytes of shared memory are more than the device allows",
                              c.threads, shared_bytes(args));
    return true;
}

static Status run(const VariantArgs *args) {
    return moments_with_types(args, [args]<typename T, typename A>() { return launch_all<T, A>(args); });
}

static Status configuration(const VariantArgs *args, LaunchNotes *out) {
    const Configuration c = configure(args);
    launch_note(out, "threads", c.threads);
    launch_note(out, "blocks", c.blocks);
    launch_note(out, "stride", (double)c.stride);
    launch_note(out, "shared_bytes", (double)shared_bytes(args));
    launch_note(out, "shared_bytes_per_thread", c.shared_bytes_per_thread);
    launch_note(out, "registers_per_thread", c.registers_per_thread);
    launch_note(out, "sm_count", (double)device_sm_count());
    return STATUS_OK;
}

RUNGS_VARIANT(moments, cuda_two_pass_queued) = {
    .backend = BACKEND_CUDA,
    .summary = "the published two-pass without its allocations and waits: four kernels queued, reductions by all threads",
    .origin = "EgyipTomi425/statistics, without allocations and waits",
    .tunables = TUNABLES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
    .configuration = configuration,
};
