/* Idea: a tile kernel that never subtracts. A window is a front (from its beginning to a split) and a tail (from the split to its
 *   end). The thread stores the aggregates of all fronts that end at the split, by one walk backwards; the tail grows by the
 *   entering element; an output merges the two. When the front is used up, the split moves behind the present window: once per tile
 *   if w >= tile, every w outputs otherwise. Works alike for all aggregates.
 * Traffic: global as cuda_thread_tile; shared about w / tile + 4 accesses per output, rows of odd stride.
 * Rounding: sums of w terms in order; var by two passes for the first tail, Welford and Chan from there, of distances from the
 *   last element before the split, which all windows across it have: far from zero a mean has too few digits. Nothing outlives its
 *   window.
 * Limits: the rows and one aggregate (two numbers for var and std) per output must fit into shared memory.
 * Origin: the two-stack queue, in the place of the published kernel's add and drop. */
#include "_padded.cuh"

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block", PARAM_INT, "64", 1, 1024, NULL},
    {"tile", "consecutive outputs of a thread", PARAM_INT, "48", 1, 1024, NULL},
    {},
};

/* Stored fronts, one column of shared memory per thread: front k lies blockDim.x elements behind front k - 1. The count of a front
 * follows from its place and is not stored; moments take two numbers. */
template <typename T> __device__ void store_front(T *column, unsigned k, const Sum<T> &front) {
    column[k * blockDim.x] = front.sum;
}
template <typename T> __device__ void load_front(T *column, unsigned k, unsigned, Sum<T> *front) {
    front->sum = column[k * blockDim.x];
}
template <typename T, bool IS_MIN> __device__ void store_front(T *column, unsigned k, const Extreme<T, IS_MIN> &front) {
    column[k * blockDim.x] = front.value;
}
template <typename T, bool IS_MIN> __device__ void load_front(T *column, unsigned k, unsigned, Extreme<T, IS_MIN> *front) {
    front->value = column[k * blockDim.x];
}
template <typename T> __device__ void store_front(T *column, unsigned k, const Moments<T> &front) {
    column[2 * k * blockDim.x] = front.mean;
    column[(2 * k + 1) * blockDim.x] = front.m2;
}
template <typename T> __device__ void load_front(T *column, unsigned k, unsigned count, Moments<T> *front) {
    *front = {(T)count, column[2 * k * blockDim.x], column[(2 * k + 1) * blockDim.x]};
}

/* The first tail: `count` staged inputs. Moments take two passes (see Moments::collect), the others one. */
template <typename A, typename T> __device__ void collect_tail(PaddedWalk<T> inputs, size_t count, T, A *tail) {
    *tail = A();
    for (size_t k = 0; k < count; k++) tail->push(inputs.next());
}
template <typename T> __device__ void collect_tail(PaddedWalk<T> inputs, size_t count, T center, Moments<T> *tail) {
    *tail = {};
    if (count == 0) return;
    PaddedWalk<T> again = inputs;
    T sum = 0, squares = 0, rest = 0;
    for (size_t k = 0; k < count; k++) sum += inputs.next() - center;
    const T total = (T)count, mean = sum / total;
    for (size_t k = 0; k < count; k++) {
        const T delta = (again.next() - center) - mean;
        squares += delta * delta;
        rest += delta;
    }
    const T m2 = squares - rest * (rest / total);
    *tail = {total, mean + rest / total, m2 < 0 ? 0 : m2};
}

/* Shared memory: the staged inputs in `staged` elements, then the fronts. */
template <typename T, Aggregate AGG>
static __global__ void __launch_bounds__(1024) stable_kernel(RollingView<T> view, unsigned tile, unsigned staged) {
    using A = Accumulator<T, AGG>;
    DYN_SHARED(T, memory);
    T *const fronts = memory + staged + threadIdx.x;
    const size_t block_first = (size_t)blockIdx.x * blockDim.x * tile;
    padded_stage(view, block_first, blockDim.x * tile, tile, memory);

    const unsigned begin = threadIdx.x * tile; /* the window of output k is staged inputs begin + k to begin + k + w - 1 */
    const size_t first = block_first + begin;
    const unsigned w = (unsigned)view.window;
    unsigned k = 0;
    for (; k < tile && first + k < view.n && first + k + 1 < view.window; k++) view.y[first + k] = view.incomplete;
    if (k == tile || first + k >= view.n) return;

    const unsigned end = view.n - first < tile ? (unsigned)(view.n - first) : tile;
    A tail;
    T center = 0; /* of moments; of others it stays 0 */
    PaddedWalk<T> entering = padded_walk(memory, begin + k + w - 1, tile);
    unsigned fronts_made = 0, left = 0; /* fronts behind the present split, and how many of them are still to be used */
    for (; k < end; k++, left--) {
        const T x = entering.next();
        if (left > 0) {
            tail.push(x - center);
        } else { /* split behind the beginnings of as many windows as are still to come, w at most */
            fronts_made = left = end - k < w ? end - k : w;
            PaddedWalk<T> back = padded_walk(memory, begin + k + left, tile);
            if (aggregate_is_spread(AGG)) center = PaddedWalk<T>(back).previous();
            collect_tail(back, w - left, center, &tail);
            A front;
            for (unsigned m = left; m-- > 0;) {
                front.push(back.previous() - center);
                store_front(fronts, m, front);
            }
        }
        A all;
        load_front(fronts, fronts_made - left, left, &all);
        all.merge(tail);
        view.y[first + k] = all.template finish<AGG>((T)w);
    }
}

static size_t staged_elements(const VariantArgs *args, size_t window) {
    return padded_elements(rolling_tile_outputs(args) + window - 1, tunable_tile(args));
}
static size_t shared_bytes(const VariantArgs *args, size_t window) {
    const size_t fronts = rolling_tile_outputs(args) * (aggregate_is_spread((Aggregate)rolling_aggregate(args)) ? 2 : 1);
    return (staged_elements(args, window) + fronts) * dtype_size(args->problem->dtype);
}

static Status run(const VariantArgs *args) {
    return rolling_run(args, [args]<typename T, Aggregate AGG>(const RollingView<T> &view) {
        const dim3 blocks((unsigned)divide_up(view.n, rolling_tile_outputs(args))), threads(tunable_threads(args));
        return launch(stable_kernel<T, AGG>, {blocks, threads, shared_bytes(args, view.window), args->stream}, view,
                      tunable_tile(args), (unsigned)staged_elements(args, view.window));
    });
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return rolling_tile_supports(args, shared_bytes, reason);
}

RUNGS_VARIANT(rolling, cuda_thread_tile_stable) = {
    .backend = BACKEND_CUDA,
    .summary = "a tile kernel without subtraction: stored fronts, a growing tail, merged for each output",
    .origin = "two-stack queue in place of add and drop",
    .tunables = TUNABLES,
    .supports = supports,
    .run = run,
};
