/* Idea: three kernels. aggregate: each block puts its elements together into one state. scan_aggregates: one block scans the
 *   states of all blocks. output: each block scans its elements again, starting from the state before it. A thread owns 15
 *   consecutive elements, which the block stages in shared memory, so that global reads and writes are coalesced. The log-stage
 *   rung moves two states of every element per stage; here a state leaves the block once per 3840 elements.
 * Traffic: 2n reads, n writes, and one state (16 to 80 bytes) for every block: written by the first kernel, read and written by
 *   the second, read by the third. Shared memory: 30 KiB in f64, 15 KiB in f32 at 256 threads, and a state for each of 32 warps.
 * Rounding: chains of 15 elements, joined by trees over lanes, warps and blocks; doubles for both dtypes.
 * Limits: none.
 * Origin: scan-then-propagate, Sengupta, Harris, Zhang and Owens 2007 ("Scan primitives for GPU computing"); the affine operator
 *   by Blelloch 1990 ("Prefix sums and their applications", 1.4.1); weighted moments by West 1979. */
#include "_shared.cuh"

enum { THREADS_MAX = 512, TOP_THREADS = 512 };

/* Elements of a thread; odd, so that lanes that read ITEMS elements apart read from different banks. */
constexpr unsigned ITEMS = 15;

/* elements[j] = x[first + j] for the blockDim.x * ITEMS elements of the block, as far as the array reaches. */
template <typename T> __device__ void stage(const T *x, size_t n, size_t first, T *elements) {
    const unsigned width = blockDim.x * ITEMS;
    if (first + width <= n) {
#pragma unroll
        for (unsigned k = 0; k < ITEMS; k++) elements[k * blockDim.x + threadIdx.x] = x[first + k * blockDim.x + threadIdx.x];
    } else {
        for (unsigned j = threadIdx.x; first + j < n; j += blockDim.x) elements[j] = x[first + j];
    }
    __syncthreads();
}

/* The state of this thread's elements; what lies beyond the array is left out. */
template <typename T, typename State> __device__ State collect(const EwmView<T> &view, size_t first, const T *own) {
    State state;
#pragma unroll 5
    for (unsigned k = 0; k < ITEMS; k++)
        if (first + k < view.rule.n) state.push(view.rule, (double)own[k], view.begins(first + k));
    return state;
}

/* aggregates[b]: the state of the elements of block b. */
template <typename T, typename State>
static __global__ void __launch_bounds__(THREADS_MAX) aggregate_kernel(EwmView<T> view, State *aggregates) {
    const size_t first = (size_t)blockIdx.x * blockDim.x * ITEMS;
    DYN_SHARED(T, elements);
    State *const totals = (State *)(elements + blockDim.x * ITEMS);
    stage(view.x, view.rule.n, first, elements);
    State all;
    block_scan_exclusive<true>(collect<T, State>(view, first + threadIdx.x * ITEMS, elements + threadIdx.x * ITEMS), totals, &all);
    if (threadIdx.x == 0) aggregates[blockIdx.x] = all;
}

/* One block: each aggregate is replaced by the state of all aggregates before it. A thread owns a run of consecutive aggregates: it
 * merges them, the block scans the 512 results, and the thread walks its run again. */
template <typename State>
static __global__ void __launch_bounds__(TOP_THREADS) scan_aggregates_kernel(State *aggregates, size_t count) {
    DYN_SHARED(State, totals);
    const size_t length = (count + TOP_THREADS - 1) / TOP_THREADS, from = threadIdx.x * length;
    const size_t end = from + length < count ? from + length : count;
    State own, all;
#pragma unroll 4
    for (size_t i = from; i < end; i++) own.merge(aggregates[i]);
    State before = block_scan_exclusive<true>(own, totals, &all);
    for (size_t i = from; i < end; i++) {
        const State next = aggregates[i];
        aggregates[i] = before;
        before.merge(next);
    }
}

/* Each thread gets the state before its first element: that before the block, merged with that of the lower threads. From there it
 * pushes one element at a time and replaces it by its output, in shared memory; the block then stores them coalesced. */
template <typename T, typename State>
static __global__ void __launch_bounds__(THREADS_MAX) output_kernel(EwmView<T> view, const State *before_block) {
    const size_t block_first = (size_t)blockIdx.x * blockDim.x * ITEMS, first = block_first + threadIdx.x * ITEMS, n = view.rule.n;
    DYN_SHARED(T, elements);
    State *const totals = (State *)(elements + blockDim.x * ITEMS);
    T *const own = elements + threadIdx.x * ITEMS;
    stage(view.x, n, block_first, elements);
    State all, state = before_block[blockIdx.x];
    state.merge(block_scan_exclusive<true>(collect<T, State>(view, first, own), totals, &all));
#pragma unroll 3
    for (unsigned k = 0; k < ITEMS; k++) {
        if (first + k >= n) break;
        state.push(view.rule, (double)own[k], view.begins(first + k));
        own[k] = (T)state.output(view.rule, first + k);
    }
    __syncthreads();
#pragma unroll 5
    for (unsigned k = 0; k < ITEMS; k++) {
        const unsigned j = k * blockDim.x + threadIdx.x;
        if (block_first + j < n) view.y[block_first + j] = elements[j];
    }
}

static size_t blocks_of(const VariantArgs *args) {
    return divide_up(array_count(&args->in[0]), (size_t)tunable_threads(args) * ITEMS);
}

static Status run(const VariantArgs *args) {
    if (array_count(&args->in[0]) == 0) return STATUS_OK;
    return ewm_with_types(args, [args]<typename T, typename State>() {
        const EwmView<T> view = ewm_view<T>(args);
        const unsigned threads = tunable_threads(args);
        const size_t blocks = blocks_of(args), shared = threads * ITEMS * sizeof(T) + WARP * sizeof(State);
        State *const aggregates = (State *)args->scratch;
        const LaunchShape wide = {dim3((unsigned)blocks), dim3(threads), shared, args->stream};
        const LaunchShape top = {dim3(1), dim3(TOP_THREADS), WARP * sizeof(State), args->stream};
        TRY(launch(aggregate_kernel<T, State>, wide, view, aggregates));
        TRY(launch(scan_aggregates_kernel<State>, top, aggregates, blocks));
        return launch(output_kernel<T, State>, wide, view, (const State *)aggregates);
    });
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (tunable_threads(args) % WARP != 0)
        return variant_refuse(reason, "threads=%u is no multiple of %d", tunable_threads(args), WARP);
    return ewm_fits_grid(args, (size_t)tunable_threads(args) * ITEMS, reason);
}

static size_t scratch_bytes(const VariantArgs *args) {
    const EwmCase rule = ewm_case(args);
    return blocks_of(args) * ewm_state_bytes(rule);
}

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block, a multiple of 32", PARAM_INT, "256", 32, THREADS_MAX, NULL},
    {},
};

static const DType ACCUMULATES[] = {DTYPE_F64, DTYPE_COUNT};

RUNGS_VARIANT(ewm, cuda_block_scan) = {
    .backend = BACKEND_CUDA,
    .summary = "three kernels: state of each block, scan of the states, scan of each block from there",
    .origin = "Sengupta et al. 2007; Blelloch 1990",
    .tunables = TUNABLES,
    .accumulates = ACCUMULATES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
