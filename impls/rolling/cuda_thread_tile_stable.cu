/* Idea: a tile kernel that never subtracts. A window is a front (from its beginning to a split) and a tail (from the split to its
 * end). The thread stores the aggregates of all fronts that end at the split, by one walk backwards; the tail grows by the entering
 * element; an output merges the two. When the front is used up, the split moves behind the present window: once per tile if
 * w >= tile, every w outputs otherwise. Works alike for all aggregates.
 * Traffic: global as cuda_thread_tile; shared about w / tile + 4 accesses per output, rows of odd stride.
 * Rounding: sums of w terms in order; var by two passes for the first tail, Welford and Chan from there. Nothing outlives its
 *   window.
 * Limits: the rows and one aggregate (two numbers for var and std) per output must fit into shared memory.
 * Origin: the two-stack queue, in the place of the published kernel's add and drop. */
#include "common/rolling/tile.cuh"

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block", PARAM_INT, "64", 1, 1024, NULL},
    {"tile", "consecutive outputs of a thread", PARAM_INT, "48", 1, 1024, NULL},
    {},
};

/* A thread's fronts in shared memory, one column per thread; the count of a front follows from its place. */
template <typename T> struct Fronts {
    T *column;
    __device__ explicit Fronts(T *memory) : column(memory + threadIdx.x) {}
    __device__ T &at(unsigned k, unsigned part) { return column[(2 * k + part) * blockDim.x]; }
    __device__ void store(unsigned k, const Moments<T> &front) {
        at(k, 0) = front.mean;
        at(k, 1) = front.m2;
    }
    __device__ void load(unsigned k, unsigned count, Moments<T> *front) { *front = {(T)count, at(k, 0), at(k, 1)}; }
    __device__ void store(unsigned k, const Sum<T> &front) { column[k * blockDim.x] = front.sum; }
    __device__ void load(unsigned k, unsigned, Sum<T> *front) { front->sum = column[k * blockDim.x]; }
    template <bool IS_MIN> __device__ void store(unsigned k, const Extreme<T, IS_MIN> &front) {
        column[k * blockDim.x] = front.value;
    }
    template <bool IS_MIN> __device__ void load(unsigned k, unsigned, Extreme<T, IS_MIN> *front) {
        front->value = column[k * blockDim.x];
    }
};

template <typename T, Aggregate AGG>
static __global__ void __launch_bounds__(1024) stable_kernel(RollingView<T> view, unsigned tile, unsigned staged) {
    using A = Accumulator<T, AGG>;
    DYN_SHARED(T, memory);
    PaddedRows<T> rows(memory, tile);
    Fronts<T> fronts(memory + staged);
    const size_t block_first = (size_t)blockIdx.x * blockDim.x * tile;
    rolling_stage(view, block_first, blockDim.x * tile, rows);

    const unsigned begin = threadIdx.x * tile; /* the window of output k is rows[begin + k] to rows[begin + k + w - 1] */
    const size_t first = block_first + begin;
    const unsigned w = (unsigned)view.window;
    unsigned k = 0;
    for (; k < tile && first + k < view.n && first + k + 1 < view.window; k++) view.y[first + k] = view.incomplete;
    if (k == tile || first + k >= view.n) return;

    const unsigned end = view.n - first < tile ? (unsigned)(view.n - first) : tile;
    A tail;
    auto entering = rows.from(begin + k + w - 1);
    unsigned fronts_made = 0, left = 0; /* fronts behind the present split, and how many of them are still to be used */
    for (; k < end; k++, left--) {
        const T x = entering.next();
        if (left > 0) {
            tail.push(x);
        } else { /* split behind the beginnings of as many windows as are still to come, w at most */
            fronts_made = left = end - k < w ? end - k : w;
            const auto split = rows.from(begin + k + left);
            tail = A::collect(split, w - left);
            auto back = split;
            A front;
            for (unsigned m = left; m-- > 0;) {
                front.push(back.previous());
                fronts.store(m, front);
            }
        }
        A all;
        fronts.load(fronts_made - left, left, &all);
        all.merge(tail);
        view.y[first + k] = all.template finish<AGG>((T)w);
    }
}

/* Staged inputs, in elements of T. */
static size_t staged_elements(const VariantArgs *args, size_t window) {
    return tile_shared_bytes<PaddedRows>(args, window) / dtype_size(args->problem->dtype);
}

static size_t shared_bytes(const VariantArgs *args, size_t window) {
    const bool moments = aggregate_is_spread((Aggregate)rolling_aggregate(args));
    const size_t fronts = (size_t)tile_threads(args) * tile_outputs(args) * (moments ? 2 : 1);
    return (staged_elements(args, window) + fronts) * dtype_size(args->problem->dtype);
}

namespace { /* every variant has its own Kernels */
template <typename T, Aggregate AGG> struct Kernels {
    static Status launch_on(const VariantArgs *args, RollingView<T> view) {
        return launch(stable_kernel<T, AGG>,
                      {dim3((unsigned)tile_grid(args)), dim3(tile_threads(args)), shared_bytes(args, view.window), args->stream},
                      view, tile_outputs(args), (unsigned)staged_elements(args, view.window));
    }
};
} // namespace

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return tile_supports(args, shared_bytes, reason);
}

static Status run(const VariantArgs *args) {
    return rolling_dispatch<Kernels>(args);
}

RUNGS_VARIANT(rolling, cuda_thread_tile_stable) = {
    .backend = BACKEND_CUDA,
    .summary = "a tile kernel without subtraction: stored fronts, a growing tail, merged for each output",
    .origin = "two-stack queue in place of add and drop",
    .tunables = TUNABLES,
    .supports = supports,
    .run = run,
};
