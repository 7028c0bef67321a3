/* Idea: van Herk / Gil-Werman with units of up to a whole warp. A unit is U = G K consecutive outputs, K for each of G lanes. The
 * window of output r of a unit is
 *     left[r..U-1]   a suffix of the U elements from the unit's first window on,
 *     the middle     w-1-U elements, which the U windows share,
 *     own[0..r]      a prefix of the unit's own elements,
 * so suffix and prefix are scans over the lanes, and the middle is read once for U outputs. It ends where the unit begins: `whole`
 * units and the last `rest` elements of the unit before those. Each unit of the block and of its halo is summed up once, as a whole
 * and its last `rest` elements. Nothing is subtracted, and the cost does not depend on w. Var and std sum x - c and its square,
 * where c is the mean of the middle, which all of these windows have. In most
 * shapes the copy engine brings the tile and takes the outputs, which costs the threads neither registers nor instructions.
 * Traffic: (1 + w / (threads K)) n reads, those beyond n mostly from L2; n writes.
 * Rounding: in the dtype (f16 and bf16: in float); sums are trees of depth about K + log2(G) + w / U.
 * Limits: threads K + w elements must fit into the shared memory of a block; 227 KiB hold w = 25000 in f64.
 * Origin: van Herk 1992, Gil and Werman 1993. */
#include "_warp.cuh"
#include "common/bulk_copy.cuh"
#include "common/grid.cuh"

enum { THREADS_MAX = 384 };

static const ParamSpec TUNABLES[] = {
    {"threads", "most threads of a block, a multiple of 32; 0: by window", PARAM_INT, "0", 0, THREADS_MAX, NULL},
    {},
};

/* The middle of a unit: whole units, and the last `rest` elements of the unit before them. */
struct UnitMiddle {
    unsigned whole, rest;
};
/* 1 / w, 1 / (w - 1), 1 / the elements of a middle: divided once, on the host. */
template <typename T> struct UnitReciprocals {
    T window, degree, middle;

    UnitReciprocals(size_t w, size_t shared) : window(1 / (T)w), degree(1 / ((T)w - 1)), middle(shared > 0 ? 1 / (T)shared : 0) {}
};

/* What a unit of var or std, or its rest, is summed up about: the mean of its first (rest: last) four elements, of fewer than four
 * one (stride 0). One of many may be far from all others; these are in each window that takes the sums. */
template <typename T> __device__ SumOf<T> mean_of_four(const T *x, int stride) {
    return (SumOf<T>)0.25 * ((wide(x[0]) + wide(x[stride])) + (wide(x[2 * stride]) + wide(x[3 * stride])));
}

/* Aggregates of the units that middles are made of: number q of `whole` and `rest` is that of unit q - before of the block; wholes
 * of the block's own units come from elsewhere, and a rest is needed of as many units as the block has. Wholes are shifted by their
 * first elements, rests by the last: those of an own unit may lie behind the array. */
template <typename A, bool SPREAD, unsigned K, unsigned G, typename T>
__device__ void sum_up_units(const T *own, UnitMiddle middle, unsigned before, A *whole, A *rest) {
    constexpr unsigned UNIT = G * K;
    const unsigned lane = threadIdx.x % G, groups = blockDim.x / G, rests = middle.rest > 0 ? groups : 0;
    const unsigned count = before > rests ? before : rests;
    for (unsigned done = 0; done < count; done += groups) {
        const unsigned q = done + threadIdx.x / G;
        const T *unit = own + ((int)q - (int)before) * (int)UNIT;
        if (done < before) {
            A all; /* of the first unit only the rest is in shared memory */
            if (q < before && (q > 0 || middle.rest == 0)) {
                const SumOf<T> shift = SPREAD ? mean_of_four(unit, K >= 4) : 0;
                const Elements<T, K> part(unit + lane * K, 0);
#pragma unroll
                for (unsigned r = 0; r < K; r++) all.push(wide(part[r]) - shift);
            }
            all = group_reduce<G>(all);
            if (lane == 0 && q < before) whole[q] = all;
        }
        if (done < rests) {
            A last;
            const SumOf<T> shift = SPREAD ? mean_of_four(unit + UNIT - 1, -(middle.rest >= 4)) : 0;
            for (unsigned at = UNIT - middle.rest + lane; at < UNIT; at += G) last.push(wide(unit[at]) - shift);
            last = group_reduce<G>(last);
            if (lane == 0) rest[q] = last;
        }
    }
}

/* Part j of the middle of unit number `unit` of the block: a whole unit, or the rest of the one before those. */
template <typename A, bool SPREAD, unsigned K, unsigned UNIT, typename T> struct MiddlePart {
    using S = SumOf<T>;
    A aggregate;
    S count, shift;
    __device__ MiddlePart(const T *own, UnitMiddle middle, unsigned before, unsigned unit, const A *whole, const A *rest,
                          unsigned j) {
        const unsigned q = unit + before - 1 - j;
        aggregate = j < middle.whole ? whole[q] : rest[q];
        count = (S)(j < middle.whole ? UNIT : middle.rest);
        const T *first = own + ((int)q - (int)before) * (int)UNIT;
        const bool is_whole = j < middle.whole;
        shift = !SPREAD ? 0 : mean_of_four(is_whole ? first : first + UNIT - 1, is_whole ? K >= 4 : -(middle.rest >= 4));
    }
};

/* The middle of unit number `unit` of the block in each lane of its group; for var and std less its mean, the shift. */
template <typename A, bool SPREAD, unsigned K, unsigned G, typename T>
__device__ A gather_middle(const T *own, UnitMiddle middle, SumOf<T> per_middle, unsigned before, unsigned unit, const A *whole,
                           const A *rest, SumOf<T> *shift) {
    using Part = MiddlePart<A, SPREAD, K, G * K, T>;
    *shift = 0;
    if constexpr (SPREAD) {
        SumOf<T> sum = 0;
        for (unsigned j = threadIdx.x % G; j < before; j += G) {
            const Part part(own, middle, before, unit, whole, rest, j);
            sum += part.aggregate.sum + part.count * part.shift;
        }
        *shift = before > 0 ? group_sum<G>(sum) * per_middle : wide(own[unit * G * K]);
    }
    A all;
    for (unsigned j = threadIdx.x % G; j < before; j += G) {
        Part part(own, middle, before, unit, whole, rest, j);
        if constexpr (SPREAD) part.aggregate.shift(part.count, part.shift - *shift);
        all.merge(part.aggregate);
    }
    return group_reduce<G>(all);
}

/* The same for a middle of at most LANES parts, each of which is read once: fewer steps where G is more than LANES. */
template <typename A, bool SPREAD, unsigned K, unsigned UNIT, unsigned LANES, typename T>
__device__ A gather_few(const T *own, UnitMiddle middle, SumOf<T> per_middle, unsigned before, unsigned unit, const A *whole,
                        const A *rest, SumOf<T> *shift) {
    const unsigned j = threadIdx.x % LANES;
    A aggregate;
    SumOf<T> count = 0, its = 0;
    if (j < before) {
        const MiddlePart<A, SPREAD, K, UNIT, T> part(own, middle, before, unit, whole, rest, j);
        aggregate = part.aggregate, count = part.count, its = part.shift;
    }
    *shift = 0;
    if constexpr (SPREAD) {
        *shift = before > 0 ? group_sum<LANES>(aggregate.sum + count * its) * per_middle : wide(own[unit * UNIT]);
        if (j < before) aggregate.shift(count, its - *shift);
    }
    return group_reduce<LANES>(aggregate);
}

/* The elements of the block and of its halo; zeros, which no complete window sees, outside the array. Ends with a barrier. */
template <bool BULK, typename T>
__device__ void load_tile(const RollingView<T> &view, size_t first, unsigned halo, unsigned count, T *staged,
                          BulkBarrier *arrived) {
    if constexpr (BULK) {
        const long long low = (long long)first - halo, end = low + count, n = (long long)view.n;
        bulk_load_begin(staged, count, view.x, {low, low > 0 ? low : 0, end < n ? end : n}, view.packed, arrived);
        bulk_load_wait(arrived);
    } else {
        stage(view, first, halo, count, staged);
        async_copy_wait();
        __syncthreads();
    }
}

/* The outputs of the calling warp, which are at own[begin .. begin + count). */
template <bool BULK, typename T>
__device__ void store_warp(const RollingView<T> &view, size_t first, unsigned begin, unsigned count, const T *own) {
    if constexpr (BULK) {
        const long long from = (long long)(first + begin), n = (long long)view.n, end = from + count < n ? from + count : n;
        if (first + begin + 1 >= view.window && from < end) {
            bulk_store_warp(view.y, own, begin, count, {(long long)first, from, end}, view.packed);
            return;
        }
    }
    __syncwarp();
    write_warp(view, first, begin, begin + count, own);
}

/* G lanes with K outputs each; `halo` elements before the block's own are staged: w - 1, rounded up to LINE_BYTES. The mean of
 * a unit's middle is the shift of var and std; without a middle its first element. */
template <typename T, Aggregate AGG, unsigned K, unsigned G, unsigned THREADS, unsigned BLOCKS>
static __global__ void __launch_bounds__(THREADS, resident(THREADS, BLOCKS))
    unit_kernel(RollingView<T> view, unsigned halo, UnitMiddle middle, UnitReciprocals<SumOf<T>> per) {
    using S = SumOf<T>;
    using A = UnitAggregate<S, AGG>;
    constexpr bool SPREAD = aggregate_is_spread(AGG);
    constexpr unsigned FEW = G < 8 ? G : 8;
    constexpr bool LATER = AGG == AGG_STD || sizeof(T) == 2; /* outputs are kept until all are there */
    constexpr bool BULK = G > 1 && THREADS < THREADS_MAX; /* tiles of a few KiB, or of most threads, gain nothing by bulk copies */
    const unsigned w = (unsigned)view.window, tile = blockDim.x * K, unit = threadIdx.x / G;
    const unsigned before = middle.whole + (middle.rest > 0);
    const size_t first = (size_t)blockIdx.x * tile;
    DYN_SHARED(T, staged);
    T *const own = staged + halo, *const mine = own + threadIdx.x * K;
    A *const whole = (A *)(own + tile), *const rest = whole + before + blockDim.x / G;
    load_tile<BULK>(view, first, halo, halo + tile, staged, (BulkBarrier *)(rest + before + blockDim.x / G));
    const S unit_shift = SPREAD ? mean_of_four(own + unit * G * K, K >= 4) : 0;
    const Elements<T, K> elements(mine, 0);
    A all_mine;
#pragma unroll
    for (unsigned r = 0; r < K; r++) all_mine.push(wide(elements[r]) - unit_shift);
    A below = group_scan_exclusive<G, FROM_BELOW>(all_mine);
    if (before > 0) {
        all_mine.merge(below);
        if (threadIdx.x % G == G - 1) whole[before + unit] = all_mine;
        sum_up_units<A, SPREAD, K, G>(own, middle, before, whole, rest);
        __syncthreads();
    }

    S shift;
    A base = before <= FEW ? gather_few<A, SPREAD, K, G * K, FEW>(own, middle, per.middle, before, unit, whole, rest, &shift)
                           : gather_middle<A, SPREAD, K, G>(own, middle, per.middle, before, unit, whole, rest, &shift);
    if constexpr (SPREAD)
        if (threadIdx.x % G > 0) below.shift((S)(threadIdx.x % G * K), unit_shift - shift); /* not by a NaN of later elements */
    base.merge(below);
    const Elements<T, K> left(mine - (w - 1), (w - 1) % 2);
    A suffix[K], all_left;
#pragma unroll
    for (unsigned r = K; r-- > 0;) {
        all_left.push(wide(left[r]) - shift);
        suffix[r] = all_left;
    }
    base.merge(group_scan_exclusive<G, FROM_ABOVE>(all_left));
    __syncthreads(); /* what follows overwrites elements that are left of others */
    A prefix = base;
    S outputs[K];
#pragma unroll
    for (unsigned r = 0; r < K; r++) {
        prefix.push(wide(elements[r]) - shift);
        A output = prefix;
        output.merge(suffix[r]);
        outputs[r] = finish<AGG>(output, per.window, per.degree);
        if (!LATER) mine[r] = (T)outputs[r];
    }
    if constexpr (AGG == AGG_STD) square_roots(outputs, outputs);
    if constexpr (LATER) put_elements(mine, outputs);
    store_warp<BULK>(view, first, threadIdx.x / WARP * WARP * K, WARP * K, own);
}

/* Windows that a thread reads alone. Of var and std those that no unit leaves a third of, see below. */
static __host__ __device__ constexpr unsigned tiny_most(Aggregate aggregate) {
    return aggregate_is_spread(aggregate) ? 5 : 3;
}
static bool is_tiny(Aggregate aggregate, size_t window) {
    return window <= tiny_most(aggregate);
}
enum { TINY_THREADS = 256, TINY_OUTPUTS = 2 };

/* The output of a window that is in registers, the newest element first; var and std about its mean. */
template <Aggregate AGG, unsigned MOST, typename S>
__device__ S tiny_output(const S (&x)[MOST], unsigned w, S per_window, S per_degree) {
    S shift = 0;
    if constexpr (aggregate_is_spread(AGG)) {
#pragma unroll
        for (unsigned j = 0; j < MOST; j++)
            if (j < w) shift += x[j];
        shift *= per_window;
    }
    UnitAggregate<S, AGG> all;
#pragma unroll
    for (unsigned j = 0; j < MOST; j++)
        if (j < w) all.push(x[j] - shift);
    constexpr Aggregate SQUARE = AGG == AGG_STD ? AGG_VAR : AGG;
    const S output = finish<SQUARE>(all, per_window, per_degree);
    return AGG == AGG_STD ? sqrt(output) : output;
}
/* A thread's outputs are a block's width apart; all that it reads is on its way before it adds. */
template <typename T, Aggregate AGG>
static __global__ void __launch_bounds__(TINY_THREADS) tiny_kernel(RollingView<T> view, UnitReciprocals<SumOf<T>> per) {
    constexpr unsigned MOST = tiny_most(AGG);
    const unsigned w = (unsigned)view.window;
    const size_t first = (size_t)blockIdx.x * (TINY_THREADS * TINY_OUTPUTS) + threadIdx.x;
    SumOf<T> x[TINY_OUTPUTS][MOST];
#pragma unroll
    for (unsigned r = 0; r < TINY_OUTPUTS; r++)
#pragma unroll
        for (unsigned j = 0; j < MOST; j++) {
            const size_t i = first + r * TINY_THREADS;
            x[r][j] = j < w && i >= j && i < view.n ? wide(view.x[i - j]) : 0;
        }
#pragma unroll
    for (unsigned r = 0; r < TINY_OUTPUTS; r++) {
        const size_t i = first + r * TINY_THREADS;
        if (i >= view.n) return;
        const SumOf<T> output = tiny_output<AGG>(x[r], w, per.window, per.degree);
        view.y[i] = i + 1 < w ? view.incomplete : (T)output;
    }
}

/* How windows from `from` on are cut: K outputs for each of G lanes, `threads` to a block, and `blocks` to a multiprocessor, which
 * is what the compiler may use registers for. Odd K, of 16 bits twice an odd number: lanes K elements apart read from different
 * banks. The last one of the table that begins at or before the window and fits into the shared memory of a block is taken. Units
 * of var and std are at most about two thirds of a window, so that the shift is the mean of about a third of it at least. */
struct Cut {
    unsigned from, k, g, threads, blocks;
};
/* Measured on compute capability 9.0; the others take the same as far as their shared memory allows. */
struct CutTable {
    unsigned count;
    Cut list[13];
};
constexpr bool units_leave_a_third(const CutTable &table) {
    for (unsigned i = 0; i < table.count; i++)
        if (3 * table.list[i].k * table.list[i].g > 2 * table.list[i].from) return false;
    return true;
}
template <size_t SIZE, bool SPREAD>
constexpr CutTable CUTS = {7,
                           {{4, 3, 1, 64, 16},
                            {10, 9, 1, 64, 12},
                            {37, 9, 4, 128, 6},
                            {401, 15, 32, 256, 3},
                            {1501, 27, 32, 384, 2},
                            {4201, 27, 32, 256, 2},
                            {7001, 15, 32, 256, 3}}};
template <>
constexpr CutTable CUTS<8, true> = {13,
                                    {{6, 3, 1, 64, 24},
                                     {8, 5, 1, 64, 16},
                                     {14, 9, 1, 64, 12},
                                     {20, 13, 1, 64, 10},
                                     {27, 9, 2, 128, 8},
                                     {52, 13, 2, 64, 12},
                                     {81, 11, 4, 128, 7},
                                     {157, 13, 8, 128, 6},
                                     {451, 15, 16, 128, 6},
                                     {801, 15, 32, 192, 4},
                                     {1401, 25, 32, 160, 3},
                                     {2501, 25, 32, 256, 2},
                                     {7001, 15, 32, 256, 3}}};
template <>
constexpr CutTable CUTS<4, false> = {7,
                                     {{4, 3, 1, 128, 8},
                                      {10, 9, 1, 128, 8},
                                      {16, 15, 1, 128, 8},
                                      {61, 15, 4, 128, 8},
                                      {501, 15, 8, 128, 8},
                                      {1501, 15, 32, 256, 4},
                                      {2001, 39, 32, 256, 3}}};
template <>
constexpr CutTable CUTS<4, true> = {13,
                                    {{6, 3, 1, 128, 12},
                                     {8, 5, 1, 128, 8},
                                     {14, 9, 1, 128, 8},
                                     {23, 15, 1, 128, 6},
                                     {35, 23, 1, 128, 6},
                                     {45, 15, 2, 128, 10},
                                     {91, 15, 4, 128, 10},
                                     {139, 23, 4, 128, 6},
                                     {277, 23, 8, 128, 6},
                                     {401, 27, 8, 128, 6},
                                     {801, 27, 16, 128, 6},
                                     {1501, 31, 32, 192, 4},
                                     {7001, 31, 32, 256, 3}}};

template <>
constexpr CutTable CUTS<2, false> = {7,
                                     {{4, 2, 1, 128, 8},
                                      {11, 10, 1, 128, 8},
                                      {15, 14, 1, 128, 8},
                                      {31, 30, 1, 128, 6},
                                      {61, 30, 2, 128, 6},
                                      {121, 30, 4, 128, 6},
                                      {1501, 30, 32, 256, 3}}};
template <>
constexpr CutTable CUTS<2, true> = {8,
                                    {{6, 2, 1, 128, 12},
                                     {10, 6, 1, 128, 8},
                                     {16, 10, 1, 128, 8},
                                     {46, 30, 1, 128, 5},
                                     {91, 30, 2, 128, 5},
                                     {181, 30, 4, 128, 5},
                                     {721, 30, 16, 128, 5},
                                     {1501, 30, 32, 192, 3}}};

static_assert(units_leave_a_third(CUTS<8, true>) && units_leave_a_third(CUTS<4, true>) && units_leave_a_third(CUTS<2, true>));

static UnitMiddle middle_of(size_t window, Cut cut) {
    const size_t unit = (size_t)cut.g * cut.k, length = window - 1 - unit;
    return {(unsigned)(length / unit), (unsigned)(length % unit)};
}

/* Whole lines: from the middle of a 32-byte sector on, reads are 5% slower. */
static size_t halo_of(size_t window, size_t element) {
    const size_t each = LINE_BYTES / element;
    return divide_up(window - 1, each) * each;
}

static size_t shared_bytes(const VariantArgs *args, Cut cut) {
    const size_t w = rolling_window(args), element = dtype_size(args->problem->dtype);
    const UnitMiddle middle = middle_of(w, cut);
    const size_t sum = element < sizeof(float) ? sizeof(float) : element;
    const size_t aggregate = sum * (aggregate_is_spread((Aggregate)rolling_aggregate(args)) ? 2 : 1);
    return (halo_of(w, element) + (size_t)cut.threads * cut.k) * element +
           2 * (middle.whole + 1 + cut.threads / cut.g) * aggregate + sizeof(BulkBarrier);
}

/* The last entry of the table that fits, or else the first; with the tunable's threads, if they are fewer. */
static unsigned choose(const VariantArgs *args, const CutTable &table, Cut *cut) {
    const unsigned threads = (unsigned)params_int(args->tunables, "threads");
    unsigned chosen = 0;
    for (unsigned i = 0; i < table.count; i++) {
        Cut each = table.list[i];
        if (threads > 0 && threads < each.threads) each.threads = threads;
        if (i > 0 && (each.from > rolling_window(args) || shared_bytes(args, each) > device_block_shared_max())) continue;
        chosen = i;
        *cut = each;
    }
    return chosen;
}
static unsigned cut_of(const VariantArgs *args, Cut *cut) {
    const bool spread = aggregate_is_spread((Aggregate)rolling_aggregate(args));
    switch (dtype_size(args->problem->dtype)) {
    case 8:
        return spread ? choose(args, CUTS<8, true>, cut) : choose(args, CUTS<8, false>, cut);
    case 4:
        return spread ? choose(args, CUTS<4, true>, cut) : choose(args, CUTS<4, false>, cut);
    default:
        return spread ? choose(args, CUTS<2, true>, cut) : choose(args, CUTS<2, false>, cut);
    }
}

/* Launches entry `chosen` of the table, I or a later one. */
template <typename T, Aggregate AGG, unsigned I>
static Status launch_units(const VariantArgs *args, RollingView<T> view, Cut cut, unsigned chosen) {
    constexpr CutTable TABLE = CUTS<sizeof(T), aggregate_is_spread(AGG)>;
    constexpr Cut MADE = TABLE.list[I];
    if constexpr (I + 1 < TABLE.count)
        if (chosen > I) return launch_units<T, AGG, I + 1>(args, view, cut, chosen);
    const unsigned blocks = (unsigned)divide_up(view.n, (size_t)cut.threads * MADE.k);
    const UnitReciprocals<SumOf<T>> per(view.window, view.window - 1 - (size_t)MADE.g * MADE.k);
    return launch(unit_kernel<T, AGG, MADE.k, MADE.g, MADE.threads, MADE.blocks>,
                  {dim3(blocks), dim3(cut.threads), shared_bytes(args, cut), args->stream}, view,
                  (unsigned)halo_of(view.window, sizeof(T)), middle_of(view.window, cut), per);
}

static Status run(const VariantArgs *args) {
    return rolling_run_stored(args, [args]<typename T, Aggregate AGG>(const RollingView<T> &view) {
        if (is_tiny(AGG, view.window)) {
            const UnitReciprocals<SumOf<T>> per(view.window, 0);
            const unsigned blocks = (unsigned)divide_up(view.n, (size_t)TINY_THREADS * TINY_OUTPUTS);
            return launch(tiny_kernel<T, AGG>, {dim3(blocks), dim3(TINY_THREADS), 0, args->stream}, view, per);
        }
        Cut cut;
        const unsigned chosen = cut_of(args, &cut);
        return launch_units<T, AGG, 0>(args, view, cut, chosen);
    });
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const unsigned threads = (unsigned)params_int(args->tunables, "threads");
    if (threads % WARP != 0) return variant_refuse(reason, "threads=%u is no multiple of %d", threads, WARP);
    if (!rolling_supports(args, WARP, reason)) return false;
    const size_t w = rolling_window(args);
    if (w > rolling_length(args) || is_tiny((Aggregate)rolling_aggregate(args), w)) return true;
    Cut cut;
    cut_of(args, &cut);
    if (shared_bytes(args, cut) <= device_block_shared_max()) return true;
    return variant_refuse(reason, "window=%zu needs %zu bytes of shared memory, a block has %zu", w, shared_bytes(args, cut),
                          device_block_shared_max());
}

RUNGS_VARIANT(rolling, cuda_warp_unit) = {
    .backend = BACKEND_CUDA,
    .summary = "van Herk / Gil-Werman by warps: the shared middle is read once for up to 1248 outputs",
    .origin = "van Herk 1992, Gil and Werman 1993",
    .tunables = TUNABLES,
    .dtypes = STORAGE_TYPES,
    .supports = supports,
    .run = run,
};
