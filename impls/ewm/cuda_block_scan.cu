/* Idea: three kernels. Each block puts its elements together into one state; one block scans the states of all blocks; then each
 *   block scans its elements again, from the state before it. A thread has K consecutive elements, staged in shared memory.
 * Traffic: 2n reads, n writes, and a state (16 to 80 bytes) for every block, thrice.
 * Rounding: chains of K elements joined by trees; doubles for both dtypes.
 * Limits: none.
 * Origin: scan-then-propagate, Sengupta, Harris, Zhang and Owens 2007 ("Scan primitives for GPU computing"); the affine operator by
 *   Blelloch 1990 ("Prefix sums and their applications", 1.4.1); weighted moments by West 1979. */
#include "common/ewm/kernels.cuh"

enum { THREADS_MAX = 512, TOP_THREADS = 512 };

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block, a multiple of 32", PARAM_INT, "256", 32, THREADS_MAX, NULL},
    {},
};

/* Elements of a thread; odd, so that lanes K elements apart read from different banks. */
template <typename T> constexpr unsigned ITEMS = 15;

template <typename T> __device__ void stage(const T *x, size_t n, size_t first, T *elements) {
    constexpr unsigned K = ITEMS<T>;
    const unsigned width = blockDim.x * K;
    if (first + width <= n) {
#pragma unroll
        for (unsigned k = 0; k < K; k++) elements[k * blockDim.x + threadIdx.x] = x[first + k * blockDim.x + threadIdx.x];
    } else {
        for (unsigned j = threadIdx.x; first + j < n; j += blockDim.x) elements[j] = x[first + j];
    }
    __syncthreads();
}

/* The state of this thread's elements; what lies beyond the array is left out. */
template <typename T, typename State> __device__ State collect(const EwmView<T> &view, size_t first, const T *own) {
    State state;
#pragma unroll 5
    for (unsigned k = 0; k < ITEMS<T>; k++)
        if (first + k < view.rule.n) state.push(view.rule, (double)own[k], view.begins(first + k));
    return state;
}

template <typename T, typename State>
static __global__ void __launch_bounds__(THREADS_MAX) aggregate_kernel(EwmView<T> view, State *aggregates) {
    constexpr unsigned K = ITEMS<T>;
    const size_t first = (size_t)blockIdx.x * blockDim.x * K;
    DYN_SHARED(T, elements);
    State *const totals = (State *)(elements + blockDim.x * K);
    stage(view.x, view.rule.n, first, elements);
    State all;
    block_scan_exclusive<true>(collect<T, State>(view, first + threadIdx.x * K, elements + threadIdx.x * K), totals, &all);
    if (threadIdx.x == 0) aggregates[blockIdx.x] = all;
}

/* One block: each aggregate becomes the state of all before it. A thread has a run of them. */
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

template <typename T, typename State>
static __global__ void __launch_bounds__(THREADS_MAX) output_kernel(EwmView<T> view, const State *before_block) {
    constexpr unsigned K = ITEMS<T>;
    const size_t block_first = (size_t)blockIdx.x * blockDim.x * K, first = block_first + threadIdx.x * K, n = view.rule.n;
    DYN_SHARED(T, elements);
    State *const totals = (State *)(elements + blockDim.x * K);
    T *const own = elements + threadIdx.x * K;
    stage(view.x, n, block_first, elements);
    State all, state = before_block[blockIdx.x];
    state.merge(block_scan_exclusive<true>(collect<T, State>(view, first, own), totals, &all));
#pragma unroll 3
    for (unsigned k = 0; k < K; k++) {
        if (first + k >= n) break;
        state.push(view.rule, (double)own[k], view.begins(first + k));
        own[k] = (T)state.output(view.rule, first + k);
    }
    __syncthreads();
#pragma unroll 5
    for (unsigned k = 0; k < K; k++) {
        const unsigned j = k * blockDim.x + threadIdx.x;
        if (block_first + j < n) view.y[block_first + j] = elements[j];
    }
}

static unsigned threads_of(const VariantArgs *args) {
    return (unsigned)params_int(args->tunables, "threads");
}

static size_t blocks_of(const VariantArgs *args) {
    static_assert(ITEMS<float> == ITEMS<double>);
    return divide_up(array_count(&args->in[0]), (size_t)threads_of(args) * ITEMS<double>);
}

namespace { /* every variant has its own Kernels */
template <typename T, typename State> struct Kernels {
    static Status launch_on(const VariantArgs *args, EwmView<T> view) {
        const unsigned threads = threads_of(args);
        const size_t blocks = blocks_of(args), shared = threads * ITEMS<T> * sizeof(T) + WARP * sizeof(State);
        State *const aggregates = (State *)args->scratch;
        TRY(launch(aggregate_kernel<T, State>, {dim3((unsigned)blocks), dim3(threads), shared, args->stream}, view, aggregates));
        TRY(launch(scan_aggregates_kernel<State>, {dim3(1), dim3(TOP_THREADS), WARP * sizeof(State), args->stream}, aggregates,
                   blocks));
        return launch(output_kernel<T, State>, {dim3((unsigned)blocks), dim3(threads), shared, args->stream}, view,
                      (const State *)aggregates);
    }
};
} // namespace

static size_t scratch_bytes(const VariantArgs *args) {
    const EwmCase rule = ewm_case(args);
    return blocks_of(args) * ewm_state_bytes(&rule);
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (threads_of(args) % WARP != 0) return variant_refuse(reason, "threads=%u is no multiple of %d", threads_of(args), WARP);
    return ewm_fits_grid(args, (size_t)threads_of(args) * ITEMS<double>, reason);
}

static Status run(const VariantArgs *args) {
    return ewm_dispatch<Kernels>(args);
}

RUNGS_VARIANT(ewm, cuda_block_scan) = {
    .backend = BACKEND_CUDA,
    .summary = "three kernels: state of each block, scan of the states, scan of each block from there",
    .origin = "Sengupta et al. 2007; Blelloch 1990",
    .tunables = TUNABLES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
