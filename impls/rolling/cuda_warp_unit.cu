/* Idea: van Herk / Gil-Werman with units of up to a whole warp. A unit is U = G K consecutive outputs, K for each of G lanes. The
 * window of output r of a unit is
 *     left[r..U-1]   a suffix of the U elements from the unit's first window on,
 *     the middle     w-1-U elements, which the U windows share,
 *     own[0..r]      a prefix of the unit's own elements,
 * so suffix and prefix are scans over the lanes, and the middle is read once for U outputs. It ends where the unit begins: `whole`
 * units and the last `rest` elements of the unit before those. Each unit of the block and of its halo is summed up once, as a whole
 * and its last `rest` elements. Nothing is subtracted, and the cost does not depend on w. Var and std sum x - c and its square,
 * where c is an element that all of these windows have.
 * Traffic: (1 + w / (threads K)) n reads, those beyond n mostly from L2; n writes.
 * Rounding: sums are trees of depth about K + log2(G) + w / U.
 * Limits: threads K + w elements must fit into the shared memory of a block; 227 KiB hold w = 25000 in f64.
 * Origin: van Herk 1992, Gil and Werman 1993. */
#include "_shared.cuh"
#include "common/async_copy.cuh"
#include "common/grid.cuh"

enum { WARP = 32, THREADS_MAX = 256, BLOCKS_MIN = 3, COPY_BYTES = 16, LINE_BYTES = 128 };
static const unsigned ALL_LANES = 0xffffffff;

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block, a multiple of 32; 0: by window", PARAM_INT, "0", 0, THREADS_MAX, NULL},
    {},
};

/* The middle of a unit: whole units, and the last `rest` elements of the unit before them. */
struct UnitMiddle {
    unsigned whole, rest;
};

/* Sums of d and d^2, d = x - shift, for var and std. The shift is an element that all windows have in which the aggregate is used:
 * so sum d^2 is at most w + 1 times the sum of squares about the mean, and an inf or NaN shows in no window that has none. */
template <typename T> struct Spread {
    T sum = 0, squares = 0;
    __device__ void push(T d) {
        sum += d;
        squares += d * d;
    }
    __device__ void merge(const Spread &other) {
        sum += other.sum;
        squares += other.squares;
    }
    /* From elements less a shift that is `by` larger. */
    __device__ void shift(T count, T by) {
        squares += by * (2 * sum + count * by);
        sum += count * by;
    }
};
/* The output of a whole window. Products with 1/w for divisions: one rounding more. */
template <Aggregate AGG, typename T> __device__ T finish(const Sum<T> &a, T per_window, T) {
    return AGG == AGG_MEAN ? a.sum * per_window : a.sum;
}
template <Aggregate AGG, typename T, bool IS_MIN> __device__ T finish(const Extreme<T, IS_MIN> &a, T, T) {
    return a.value;
}
template <Aggregate AGG, typename T> __device__ T finish(const Spread<T> &a, T per_window, T per_degree) {
    const T m2 = a.squares - a.sum * (a.sum * per_window), variance = (m2 < 0 ? 0 : m2) * per_degree;
    return AGG == AGG_VAR ? variance : sqrt(variance);
}

template <typename T, Aggregate AGG> struct UnitAggregateOf { using Type = Accumulator<T, AGG>; };
template <typename T> struct UnitAggregateOf<T, AGG_VAR> { using Type = Spread<T>; };
template <typename T> struct UnitAggregateOf<T, AGG_STD> { using Type = Spread<T>; };
template <typename T, Aggregate AGG> using UnitAggregate = typename UnitAggregateOf<T, AGG>::Type;

/* The value of another lane: `distance` below, above, or where the lane number differs in this bit. */
enum Move { FROM_BELOW, FROM_ABOVE, ACROSS };
template <Move MOVE, typename T> __device__ T from_lane(T value, unsigned distance) {
    if (MOVE == FROM_BELOW) return __shfl_up_sync(ALL_LANES, value, distance);
    if (MOVE == FROM_ABOVE) return __shfl_down_sync(ALL_LANES, value, distance);
    return __shfl_xor_sync(ALL_LANES, value, (int)distance);
}
template <Move MOVE, typename T> __device__ Sum<T> from_lane(const Sum<T> &a, unsigned distance) {
    return {from_lane<MOVE>(a.sum, distance)};
}
template <Move MOVE, typename T, bool IS_MIN>
__device__ Extreme<T, IS_MIN> from_lane(const Extreme<T, IS_MIN> &a, unsigned distance) {
    return {from_lane<MOVE>(a.value, distance)};
}
template <Move MOVE, typename T> __device__ Spread<T> from_lane(const Spread<T> &a, unsigned distance) {
    return {from_lane<MOVE>(a.sum, distance), from_lane<MOVE>(a.squares, distance)};
}

/* The aggregate of the whole group of G lanes, in each of them. */
template <unsigned G, typename A> __device__ A group_reduce(A a) {
    for (unsigned distance = G / 2; distance > 0; distance /= 2) a.merge(from_lane<ACROSS>(a, distance));
    return a;
}

/* The aggregate of the lanes of the group before this one (FROM_BELOW) or behind it (FROM_ABOVE). */
template <unsigned G, Move MOVE, typename A> __device__ A group_scan_exclusive(A a) {
    const unsigned lane = threadIdx.x % G, others = MOVE == FROM_BELOW ? lane : G - 1 - lane;
    for (unsigned distance = 1; distance < G; distance *= 2) {
        A other = from_lane<MOVE>(a, distance);
        if (others >= distance) {
            other.merge(a);
            a = other;
        }
    }
    const A exclusive = from_lane<MOVE>(a, 1);
    return others == 0 ? A() : exclusive;
}

/* staged[j] = x[first - halo + j] for j < count; 0, which no complete window sees, where that is outside the array. first, halo and
 * count are multiples of COPY_BYTES. */
template <typename T> __device__ void stage(const RollingView<T> &view, size_t first, unsigned halo, unsigned count, T *staged) {
    constexpr unsigned EACH = COPY_BYTES / sizeof(T);
    if (first >= halo && first - halo + count <= view.n) {
        const T *from = view.x + (first - halo);
        for (unsigned j = threadIdx.x * EACH; j < count; j += blockDim.x * EACH) async_copy_16(staged + j, from + j);
        async_copy_wait();
        return;
    }
    for (unsigned j = threadIdx.x; j < count; j += blockDim.x) {
        const size_t shifted = first + j;
        staged[j] = shifted >= halo && shifted - halo < view.n ? view.x[shifted - halo] : 0;
    }
}

/* Aggregates of the units that middles are made of: number q of `whole` and `rest` is that of unit q - before of the block. Those
 * of var and std are shifted by the last element of the unit. */
template <typename A, bool SPREAD, unsigned K, unsigned G, typename T>
__device__ void sum_up_units(const T *own, UnitMiddle middle, unsigned before, A *whole, A *rest) {
    constexpr unsigned UNIT = G * K;
    const unsigned lane = threadIdx.x % G, groups = blockDim.x / G, count = before + groups - 1;
    for (unsigned done = 0; done < count; done += groups) {
        const unsigned q = done + threadIdx.x / G;
        const T *unit = own + ((int)q - (int)before) * (int)UNIT;
        A all, last;
        if (q < count) {
            const T shift = SPREAD ? unit[UNIT - 1] : 0;
#pragma unroll
            for (unsigned r = 0; r < K; r++) { /* of the first unit only the rest is in shared memory */
                const unsigned at = lane * K + r;
                if (at >= UNIT - middle.rest) last.push(unit[at] - shift);
                if (q > 0 || middle.rest == 0) all.push(unit[at] - shift);
            }
        }
        all = group_reduce<G>(all);
        last = group_reduce<G>(last);
        if (lane == 0 && q < count) {
            whole[q] = all;
            rest[q] = last;
        }
    }
}

/* The middle of unit number `unit` of the block, less `shift`, in each lane of its group. */
template <typename A, bool SPREAD, unsigned K, unsigned G, typename T>
__device__ A gather_middle(const T *own, UnitMiddle middle, unsigned before, unsigned unit, const A *whole, const A *rest,
                           T shift) {
    constexpr unsigned UNIT = G * K;
    A all;
    for (unsigned j = threadIdx.x % G; j < middle.whole + (middle.rest > 0); j += G) {
        const unsigned q = unit + before - 1 - j; /* the rest is of the unit before the whole ones */
        A part = j < middle.whole ? whole[q] : rest[q];
        if constexpr (SPREAD)
            part.shift((T)(j < middle.whole ? UNIT : middle.rest), own[((int)q - (int)before + 1) * (int)UNIT - 1] - shift);
        all.merge(part);
    }
    return group_reduce<G>(all);
}

/* The outputs of the calling warp, incomplete ones replaced. */
template <typename T, unsigned K> __device__ void write_warp(const RollingView<T> &view, size_t first, const T *outputs) {
    const unsigned begin = threadIdx.x / WARP * WARP * K, end = begin + WARP * K, lane = threadIdx.x % WARP;
    constexpr unsigned EACH = COPY_BYTES / sizeof(T);
    if (first + begin + 1 >= view.window && first + end <= view.n) {
        for (unsigned j = begin + lane * EACH; j < end; j += WARP * EACH)
            *(int4 *)(view.y + first + j) = *(const int4 *)(outputs + j);
        return;
    }
    for (unsigned j = begin + lane; j < end && first + j < view.n; j += WARP)
        view.y[first + j] = first + j + 1 < view.window ? view.incomplete : outputs[j];
}

/* G lanes with K outputs each; `halo` elements before the block's own are staged: w - 1, rounded up to LINE_BYTES. The first
 * element of a unit, in all of its windows, is the shift of var and std. */
template <typename T, Aggregate AGG, unsigned K, unsigned G>
static __global__ void __launch_bounds__(THREADS_MAX, BLOCKS_MIN)
    unit_kernel(RollingView<T> view, unsigned halo, UnitMiddle middle) {
    using A = UnitAggregate<T, AGG>;
    constexpr bool SPREAD = aggregate_is_spread(AGG);
    const unsigned w = (unsigned)view.window, tile = blockDim.x * K, unit = threadIdx.x / G;
    const unsigned before = middle.whole + (middle.rest > 0);
    const size_t first = (size_t)blockIdx.x * tile;
    DYN_SHARED(T, staged);
    T *const own = staged + halo, *const mine = own + threadIdx.x * K;
    A *const whole = (A *)(own + tile), *const rest = whole + before + blockDim.x / G;
    stage(view, first, halo, halo + tile, staged);
    __syncthreads();
    if (before > 0) {
        sum_up_units<A, SPREAD, K, G>(own, middle, before, whole, rest);
        __syncthreads();
    }

    const T shift = SPREAD ? own[unit * G * K] : 0, *const left = mine - (w - 1);
    A base = gather_middle<A, SPREAD, K, G>(own, middle, before, unit, whole, rest, shift);
    A suffix[K], all_left, all_mine;
#pragma unroll
    for (unsigned r = K; r-- > 0;) {
        all_left.push(left[r] - shift);
        suffix[r] = all_left;
    }
#pragma unroll
    for (unsigned r = 0; r < K; r++) all_mine.push(mine[r] - shift);
    base.merge(group_scan_exclusive<G, FROM_ABOVE>(all_left));
    base.merge(group_scan_exclusive<G, FROM_BELOW>(all_mine));
    __syncthreads(); /* what follows overwrites elements that are left of others */
    const T per_window = 1 / (T)w, per_degree = 1 / ((T)w - 1);
    A prefix;
#pragma unroll
    for (unsigned r = 0; r < K; r++) {
        prefix.push(mine[r] - shift);
        A output = prefix;
        output.merge(suffix[r]);
        output.merge(base);
        mine[r] = finish<AGG>(output, per_window, per_degree);
    }
    __syncwarp();
    write_warp<T, K>(view, first, own);
}

/* w <= 3. */
template <typename T, Aggregate AGG> static __global__ void __launch_bounds__(THREADS_MAX) tiny_kernel(RollingView<T> view) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x, w = view.window;
    if (i >= view.n) return;
    view.y[i] = i + 1 < w ? view.incomplete : Accumulator<T, AGG>::collect(view.x + (i + 1 - w), w).template finish<AGG>((T)w);
}

/* How a window is cut: K outputs for each of G lanes, `threads` to a block. Odd K: lanes K elements apart read from different
 * banks. */
struct Cut {
    unsigned k, g, threads;
};
static Cut cut_of(const VariantArgs *args) {
    const size_t w = rolling_window(args);
    const bool spread = aggregate_is_spread((Aggregate)rolling_aggregate(args));
    const unsigned threads = (unsigned)params_int(args->tunables, "threads"), k = spread ? 7 : 9;
    Cut cut = w <= 9      ? Cut{3, 1, 128}
              : w <= 36   ? Cut{k, 1, 128}
              : w <= 288  ? Cut{k, 4, 128}
              : w <= 1024 ? Cut{k, 32, 128}
                          : Cut{spread ? 9u : 15u, 32, 256};
    if (threads > 0) cut.threads = threads;
    return cut;
}

static UnitMiddle middle_of(size_t window, Cut cut) {
    const size_t unit = (size_t)cut.g * cut.k, length = window - 1 - unit;
    return {(unsigned)(length / unit), (unsigned)(length % unit)};
}

/* Whole lines: from the middle of a 32-byte sector on, reads are 5% slower. */
static size_t halo_of(size_t window, size_t element) {
    const size_t each = LINE_BYTES / element;
    return divide_up(window - 1, each) * each;
}

/* Shared memory of a block. */
static size_t shared_bytes(const VariantArgs *args) {
    const size_t w = rolling_window(args), element = dtype_size(args->problem->dtype);
    if (w <= 3) return 0;
    const Cut cut = cut_of(args);
    const UnitMiddle middle = middle_of(w, cut);
    const size_t aggregate = element * (aggregate_is_spread((Aggregate)rolling_aggregate(args)) ? 2 : 1);
    return (halo_of(w, element) + (size_t)cut.threads * cut.k) * element + 2 * (middle.whole + 1 + cut.threads / cut.g) * aggregate;
}

template <typename T, Aggregate AGG, unsigned K, unsigned G>
static Status launch_units(const VariantArgs *args, RollingView<T> view) {
    const Cut cut = cut_of(args);
    const unsigned blocks = (unsigned)divide_up(view.n, (size_t)cut.threads * K);
    return launch(unit_kernel<T, AGG, K, G>, {dim3(blocks), dim3(cut.threads), shared_bytes(args), args->stream}, view,
                  (unsigned)halo_of(view.window, sizeof(T)), middle_of(view.window, cut));
}

template <typename T, Aggregate AGG> static Status launch_for_window(const VariantArgs *args, RollingView<T> view) {
    if (view.window <= 3) {
        const unsigned threads = 256, blocks = (unsigned)divide_up(view.n, threads);
        return launch(tiny_kernel<T, AGG>, {dim3(blocks), dim3(threads), 0, args->stream}, view);
    }
    constexpr unsigned K = aggregate_is_spread(AGG) ? 7 : 9, MORE = aggregate_is_spread(AGG) ? 9 : 15;
    const Cut cut = cut_of(args);
    if (cut.k == 3) return launch_units<T, AGG, 3, 1>(args, view);
    if (cut.g == 1) return launch_units<T, AGG, K, 1>(args, view);
    if (cut.g == 4) return launch_units<T, AGG, K, 4>(args, view);
    return cut.k == K ? launch_units<T, AGG, K, 32>(args, view) : launch_units<T, AGG, MORE, 32>(args, view);
}

template <typename T> static Status run_typed(const VariantArgs *args) {
    const RollingView<T> view = rolling_view<T>(args);
    if (view.window > view.n) return rolling_fill(args, view);
    switch (rolling_aggregate(args)) {
    case AGG_MEAN:
        return launch_for_window<T, AGG_MEAN>(args, view);
    case AGG_SUM:
        return launch_for_window<T, AGG_SUM>(args, view);
    case AGG_VAR:
        return launch_for_window<T, AGG_VAR>(args, view);
    case AGG_STD:
        return launch_for_window<T, AGG_STD>(args, view);
    case AGG_MIN:
        return launch_for_window<T, AGG_MIN>(args, view);
    default:
        return launch_for_window<T, AGG_MAX>(args, view);
    }
}

static Status run(const VariantArgs *args) {
    return args->problem->dtype == DTYPE_F64 ? run_typed<double>(args) : run_typed<float>(args);
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const Cut cut = cut_of(args);
    if (cut.threads % WARP != 0) return variant_refuse(reason, "threads=%u is no multiple of %d", cut.threads, WARP);
    if (!rolling_supports(args, cut.threads, reason)) return false;
    if (rolling_window(args) > rolling_length(args) || shared_bytes(args) <= device_block_shared_max()) return true;
    return variant_refuse(reason, "window=%zu needs %zu bytes of shared memory, a block has %zu", rolling_window(args),
                          shared_bytes(args), device_block_shared_max());
}

RUNGS_VARIANT(rolling, cuda_warp_unit) = {
    .backend = BACKEND_CUDA,
    .summary = "van Herk / Gil-Werman by warps: the shared middle is read once for 288 or 480 outputs",
    .origin = "van Herk 1992, Gil and Werman 1993",
    .tunables = TUNABLES,
    .supports = supports,
    .run = run,
};
