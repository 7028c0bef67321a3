/* Idea: van Herk / Gil-Werman with aggregates that blocks publish for each other. The array is cut into tiles, one for each block.
 * The window of output r of a tile is
 *     left[r..]      a suffix of the elements from the tile's first window on, as many as the tile has,
 *     the middle     what all windows of the tile have: whole tiles before it and the last `tail` elements of one more,
 *     own[0..r]      a prefix of the tile.
 * A block publishes the aggregates of its tile and of its tail in global memory as soon as its elements are there, and one warp
 * more reads those of the middle meanwhile: nothing waits for a chain, since what a block publishes depends on its elements only.
 * It waits for earlier blocks only. From 128 tiles a middle on, the aggregates of 32 tiles are published as well. Var and std sum x
 * - c and its square, c the mean of the earliest tile (or 32 tiles) of the middle, which was published long ago. Their tiles run in
 * strips: one tile of each strip of the array, then the next of each, so that a block waits for one that began earlier. Waiting: a
 * word is EMPTY until it is published. A warp that has polled long computes the aggregate from the elements, so the result needs no
 * order of blocks and no number of resident ones.
 * Traffic: n reads from memory, n more mostly from L2; n writes.
 * Rounding: sums are trees of depth about K + log2(threads) + w / tile / 32; c is off the mean of the window by at most sqrt(w / tile)
 * deviations.
 * Limits: w from two lines of 128 bytes and one element on.
 * Origin: van Herk 1992, Gil and Werman 1993; publishing aggregates: Merrill and Garland 2016. */
#include "_board.cuh"
#include "common/bulk_copy.cuh"
#include "common/grid.cuh"

enum { THREADS_MAX = 256, STRIPS_BYTES = 12 << 20, AHEAD_FROM = 64 };

/* What the warps of a block tell each other. */
template <typename T, Aggregate AGG> struct TileShared {
    static constexpr unsigned WARPS = THREADS_MAX / (unsigned)WARP;
    Accumulator<T, AGG> tile[WARPS], tail[WARPS];
    UnitAggregate<T, AGG> own[WARPS], left[WARPS], middle;
};

/* 1 / w, 1 / (w - 1), 1 / the elements of a tile and of its tail. */
template <typename T> struct TileReciprocals { T window, degree, width, tail; };
/* Which tile a block has: one of each strip of `length` tiles, then the next of each. A strip begins with the `lead` tiles before
 * it, which are only published. `ahead` tiles later the L2 cache is asked for elements. */
struct TileOrder {
    unsigned tiles, strips, length, lead, ahead;
    size_t reach;
};

/* step(r) for r < count <= K, from 0 on or down to 0; the loop is unrolled, so that arrays stay in registers, and all but one
 * thread of a block need no condition. */
template <unsigned K, typename Step> __device__ void upwards(unsigned count, Step step) {
    if (count == K) {
#pragma unroll
        for (unsigned r = 0; r < K; r++) step(r);
    } else {
#pragma unroll
        for (unsigned r = 0; r < K; r++)
            if (r < count) step(r);
    }
}
template <unsigned K, typename Step> __device__ void downwards(unsigned count, Step step) {
    if (count == K) {
#pragma unroll
        for (unsigned r = K; r-- > 0;) step(r);
    } else {
#pragma unroll
        for (unsigned r = K; r-- > 0;)
            if (r < count) step(r);
    }
}

/* The K elements of a thread or fewer, less `point`: their mean for var and std, else 0. */
template <typename T, Aggregate AGG, unsigned K> struct ThreadSums {
    UnitAggregate<T, AGG> sums;
    T point = 0;
    __device__ ThreadSums(const T *mine, unsigned count) {
        if constexpr (aggregate_is_spread(AGG)) {
            upwards<K>(count, [&](unsigned r) { point += mine[r]; });
            if (count > 0) point *= count == K ? (T)1 / K : 1 / (T)count;
        }
        upwards<K>(count, [&](unsigned r) { sums.push(mine[r] - point); });
    }
    __device__ Moments<T> moments() const {
        const T error = sums.sum * ((T)1 / K);
        return {(T)K, point + error, sums.squares - sums.sum * error};
    }
};

/* The calling warp's elements [first, end) of the tile, of which `sums` are those of each lane: their aggregate. */
template <typename T, Aggregate AGG, unsigned K>
__device__ Accumulator<T, AGG> warp_aggregate(const ThreadSums<T, AGG, K> &mine, const T *own, unsigned first, unsigned end) {
    if (first >= end) return {};
    if constexpr (aggregate_is_spread(AGG)) {
        if (end - first < WARP * K) return warp_collect<T, AGG>(own + first, end - first);
        Moments<T> all = merge_lanes(mine.moments(), (T)K);
        all.count = WARP * K;
        return all;
    } else {
        return group_reduce<WARP>(mine.sums);
    }
}

/* Publishes the aggregates of the tile and of its tail: by the last warp that calls it. */
template <typename T, Aggregate AGG, unsigned K>
__device__ void publish_tile(const TileCut &cut, const TileReciprocals<T> &per, const Board<T> &board, unsigned tile, const T *own,
                             const ThreadSums<T, AGG, K> &mine, TileShared<T, AGG> &shared, unsigned *summed) {
    using P = Accumulator<T, AGG>;
    const unsigned warp = threadIdx.x / WARP, warps = blockDim.x / WARP - 1;
    const unsigned first = warp * WARP * K, tail = cut.width - cut.tail;
    const unsigned end = first + WARP * K < cut.width ? first + WARP * K : cut.width;
    const P all = warp_aggregate(mine, own, first, end);
    P last = all;
    if (cut.tail > 0 && tail > first) last = tail < end ? warp_collect<T, AGG>(own + tail, end - tail) : P();
    if (threadIdx.x % WARP > 0) return;
    shared.tile[warp] = all;
    shared.tail[warp] = last;
    __threadfence_block();
    if (atomicAdd(summed, 1u) + 1 < warps) return;
    __threadfence_block();
    Word<T> *const slot = board.slot_of(tile);
    publish(slot, merge_parts(shared.tile, warps, per.width));
    if (cut.tail > 0) publish(slot + Published<P>::WORDS, merge_parts(shared.tail, warps, per.tail));
}

/* The outputs of a thread: `count` <= K of them. */
template <typename T, Aggregate AGG, unsigned K> struct ThreadOutputs {
    using A = UnitAggregate<T, AGG>;
    static constexpr bool SPREAD = aggregate_is_spread(AGG);
    unsigned count;
    T shift;
    T suffix[K]; /* the aggregate of left[r..], but of var and std the squares: their sums replace the elements */
    A base;      /* of all that is neither the thread's own nor its part of the left */

    /* left: what the thread's windows begin in. */
    __device__ void prepare(const ThreadSums<T, AGG, K> &mine, T *left, TileShared<T, AGG> &shared) {
        const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
        A all, own = mine.sums;
        downwards<K>(count, [&](unsigned r) {
            all.push(left[r] - shift);
            if constexpr (SPREAD) {
                left[r] = all.sum;
                suffix[r] = all.squares;
            } else {
                suffix[r] = value_of(all);
            }
        });
        if constexpr (SPREAD) own.shift((T)count, mine.point - shift);
        A before = group_scan_exclusive<WARP, FROM_BELOW>(own);
        base = group_scan_exclusive<WARP, FROM_ABOVE>(all);
        all.merge(base);
        base.merge(before);
        before.merge(own);
        if (lane == 0) shared.left[warp] = all;
        if (lane == WARP - 1) shared.own[warp] = before;
    }
    /* In place of the thread's elements. */
    __device__ void write(const TileReciprocals<T> &per, T *own, const T *left, unsigned warps, const TileShared<T, AGG> &shared) {
        const unsigned warp = threadIdx.x / WARP;
        base.merge(shared.middle);
        for (unsigned v = 0; v < warp; v++) base.merge(shared.own[v]);
        for (unsigned v = warp + 1; v < warps; v++) base.merge(shared.left[v]);
        upwards<K>(count, [&](unsigned r) {
            base.push(own[r] - shift);
            A output = base;
            if constexpr (SPREAD)
                output.merge({left[r], suffix[r]});
            else
                output.merge({suffix[r]});
            (AGG == AGG_STD ? suffix : own)[r] = finish<AGG>(output, per.window, per.degree);
        });
        if constexpr (AGG == AGG_STD) {
#pragma unroll
            for (unsigned r = 0; r < K; r++)
                if (r >= count) suffix[r] = 1; /* of no output */
            square_roots(suffix, suffix);
            upwards<K>(count, [&](unsigned r) { own[r] = suffix[r]; });
        }
    }
};

static __device__ BulkSpan span_of(long long low, unsigned length, size_t n) {
    const long long begin = low > 0 ? low : 0, end = low + length < (long long)n ? low + length : (long long)n;
    return {low, begin, end > begin ? end : begin};
}

template <typename T, Aggregate AGG, unsigned K, unsigned THREADS, unsigned BLOCKS>
static __global__ void __launch_bounds__(THREADS + WARP, resident(THREADS + WARP, BLOCKS))
    tiles_kernel(RollingView<T> view, TileCut cut, TileReciprocals<T> per, Board<T> board, TileOrder order) {
    constexpr unsigned LINE = LINE_BYTES / sizeof(T);
    const unsigned warp = threadIdx.x / WARP, warps = blockDim.x / WARP - 1, at = threadIdx.x * K;
    const unsigned strip = blockIdx.x % order.strips, step = blockIdx.x / order.strips;
    const unsigned tile = strip * order.length + step - order.lead; /* before the first: wraps */
    if (tile >= order.tiles) return;
    const bool publishes_only = strip > 0 && step < order.lead;
    const size_t begin = (size_t)tile * cut.width, before = view.window - 1;
    const bool live = !publishes_only && begin + cut.width > before; /* is there a complete window? */
    DYN_SHARED(T, own);
    T *const lines = own + cut.width, *const left = lines + (unsigned)(order.reach - before);
    TileShared<T, AGG> &shared = *(TileShared<T, AGG> *)(lines + cut.width + LINE);
    __shared__ BulkBarrier own_there, left_there;
    __shared__ unsigned summed;
    const BulkSpan mine = span_of((long long)begin, cut.width, view.n);
    if (threadIdx.x == 0) summed = 0;
    bulk_load_begin(own, cut.width, view.x, mine, view.packed, &own_there);
    if (live)
        bulk_load_begin(lines, cut.width + LINE, view.x,
                        span_of((long long)begin - (long long)order.reach, cut.width + LINE, view.n), view.packed, &left_there);
    if (threadIdx.x == 0 && order.ahead > 0 && view.packed && begin + (order.ahead + 1ull) * cut.width <= view.n)
        bulk_prefetch(view.x + begin + (size_t)order.ahead * cut.width, cut.width * (unsigned)sizeof(T));
    bulk_load_sync();

    ThreadOutputs<T, AGG, K> outputs;
    outputs.shift = 0;
    if (warp == warps) {
        if (cut.whole >= GROUPS_FROM && tile % GROUP == GROUP - 1) publish_group<T, AGG>(view, cut, board, tile);
        if (live) {
            const T shift = shift_of<T, AGG>(view, cut, board, tile);
            const UnitAggregate<T, AGG> middle = gather_middle<T, AGG>(view, cut, board, tile, shift);
            if (threadIdx.x % WARP == 0) shared.middle = middle;
        }
    } else {
        outputs.count = at >= cut.width ? 0 : cut.width - at < K ? cut.width - at : K;
        bulk_load_arrived(&own_there);
        const ThreadSums<T, AGG, K> sums(own + at, outputs.count);
        publish_tile<T, AGG, K>(cut, per, board, tile, own, sums, shared, &summed);
        if (live) {
            outputs.shift = shift_of<T, AGG>(view, cut, board, tile);
            bulk_load_arrived(&left_there);
            outputs.prepare(sums, left + at, shared);
        }
    }
    __syncthreads();
    if (!live) {
        if (publishes_only) return;
        for (size_t i = begin + threadIdx.x; i < begin + cut.width && i < view.n; i += blockDim.x) view.y[i] = view.incomplete;
        return;
    }
    if (warp == warps) return;
    outputs.write(per, own + at, left + at, warps, shared);
    if (begin < before) /* the first outputs have no complete window */
        for (unsigned r = 0; r < outputs.count && begin + at + r < before; r++) own[at + r] = view.incomplete;
    __syncwarp();
    bulk_store_warp(view.y, own, warp * WARP * K, WARP * K, mine, view.packed);
}

/* ---- Host. K outputs for each of `threads` threads, beside the warp that gathers; `blocks` to a multiprocessor, which is what the
 * compiler may use registers for; blocks between a block and the one whose elements it asks the L2 cache for; strips. Odd K: lanes
 * K elements apart read from different banks. */
struct Shape {
    unsigned k, threads, blocks, ahead, strips;
};
/* Measured on compute capability 9.0; the others take the same, since nothing was measured there. */
template <bool F64, bool SPREAD> constexpr Shape SHAPE = {27, 96, 5, 165, 1};
template <> constexpr Shape SHAPE<true, true> = {31, 128, 3, 99, 32};
template <> constexpr Shape SHAPE<false, true> = {31, 256, 3, 99, 32};
template <> constexpr Shape SHAPE<false, false> = {31, 128, 7, 231, 1};

static bool is_spread(const VariantArgs *args) {
    return aggregate_is_spread((Aggregate)rolling_aggregate(args));
}

/* A strip is at least 16 times what it publishes first, since that is read twice. What is read again of all strips, and what is
 * written meanwhile, must stay in the L2 cache. No groups in strips: that of the tiles before a strip would appear late. Short
 * middles of one strip do not prefetch: it costs more than it saves. */
static TileOrder order_of(const Shape &shape, const TileCut &cut, unsigned tiles, size_t reach, size_t element) {
    const size_t lead = cut.whole + 1, fit = STRIPS_BYTES / (lead * cut.width * element * 2), apart = tiles / (16 * lead);
    const size_t most = fit < apart ? fit : apart, strips = shape.strips < most ? shape.strips : most;
    if (strips < 2 || cut.whole >= GROUPS_FROM) return {tiles, 1, tiles, 0, cut.whole >= AHEAD_FROM ? shape.ahead : 0, reach};
    return {tiles, (unsigned)strips, (unsigned)divide_up(tiles, strips), (unsigned)lead, shape.ahead / (unsigned)strips, reach};
}

/* The case as it is cut: the table's shape, or the tunables'. Var and std need a whole tile in the middle to take the shift from.
 */
struct TilePlan {
    Shape shape;
    TileCut cut;
    TileOrder order;
    unsigned slot, rows; /* words */
};
static TilePlan plan_of(const VariantArgs *args) {
    const bool spread = is_spread(args), f64 = args->problem->dtype == DTYPE_F64;
    const size_t line = LINE_BYTES / dtype_size(args->problem->dtype), before = rolling_window(args) - 1;
    TilePlan plan;
    if (f64)
        plan.shape = spread ? SHAPE<true, true> : SHAPE<true, false>;
    else
        plan.shape = spread ? SHAPE<false, true> : SHAPE<false, false>;
    const unsigned threads = (unsigned)params_int(args->tunables, "threads"),
                   strips = (unsigned)params_int(args->tunables, "strips");
    const long long ahead = params_int(args->tunables, "ahead");
    if (threads > 0 && threads < plan.shape.threads) plan.shape.threads = threads;
    if (strips > 0) plan.shape.strips = strips;
    const size_t most = (size_t)plan.shape.threads * plan.shape.k, fits = spread ? before / 2 : before;
    /* Whole warps, if there is one: the aggregate of a part of a warp's elements takes var and std longer. */
    const size_t warp = (size_t)WARP * plan.shape.k, unit = spread && fits >= warp ? warp : line;
    plan.cut.width = (unsigned)((fits < most ? fits : most) / unit * unit);
    plan.cut.whole = (unsigned)(before / plan.cut.width) - 1;
    plan.cut.tail = (unsigned)(before % plan.cut.width);
    const unsigned tiles = (unsigned)divide_up(rolling_length(args), plan.cut.width);
    plan.order = order_of(plan.shape, plan.cut, tiles, divide_up(before, line) * line, dtype_size(args->problem->dtype));
    if (ahead >= 0) plan.order.ahead = (unsigned)ahead;
    plan.slot = spread ? 4 : 2;
    plan.rows = (unsigned)divide_up(tiles, APART);
    return plan;
}

static size_t scratch_bytes(const VariantArgs *args) {
    if (rolling_window(args) > rolling_length(args)) return 0;
    const TilePlan plan = plan_of(args);
    const size_t groups = plan.order.tiles / GROUP * (is_spread(args) ? 2u : 1u);
    return ((size_t)plan.rows * APART * plan.slot + groups) * dtype_size(args->problem->dtype);
}

static size_t shared_bytes(TileCut cut, size_t element, size_t shared) {
    return 2 * cut.width * element + LINE_BYTES + shared;
}

static Status run(const VariantArgs *args) {
    return rolling_run(args, [args]<typename T, Aggregate AGG>(const RollingView<T> &view) {
        constexpr Shape SHAPED = SHAPE<sizeof(T) == 8, aggregate_is_spread(AGG)>;
        const TilePlan plan = plan_of(args);
        Word<T> *const words = (Word<T> *)args->scratch;
        const Board<T> board = {words, words + (size_t)plan.rows * APART * plan.slot, plan.slot, plan.rows};
        const TileReciprocals<T> per = {1 / (T)view.window, 1 / ((T)view.window - 1), 1 / (T)plan.cut.width,
                                        plan.cut.tail > 0 ? 1 / (T)plan.cut.tail : 0};
        const TileOrder order = plan.order;
        const size_t blocks = (size_t)order.strips * (order.length + order.lead);
        const auto kernel = tiles_kernel<T, AGG, SHAPED.k, SHAPED.threads, SHAPED.blocks>;
        const size_t shared = shared_bytes(plan.cut, sizeof(T), sizeof(TileShared<T, AGG>));
        TRY(bulk_allow_shared(kernel, shared));
        TRY_CUDA(cudaMemsetAsync(args->scratch, 0xff, args->scratch_bytes, (cudaStream_t)args->stream));
        return launch(kernel, {dim3((unsigned)blocks), dim3(plan.shape.threads + WARP), shared, args->stream}, view, plan.cut, per,
                      board, order);
    });
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const size_t element = dtype_size(args->problem->dtype), line = LINE_BYTES / element, w = rolling_window(args);
    const unsigned threads = (unsigned)params_int(args->tunables, "threads");
    if (threads % WARP != 0) return variant_refuse(reason, "threads=%u is no multiple of %d", threads, WARP);
    if (!rolling_supports(args, line, reason)) return false;
    if (w > rolling_length(args)) return true;
    if (w <= 2 * line) return variant_refuse(reason, "window=%zu is shorter than two lines of %zu elements and one more", w, line);
    const TilePlan plan = plan_of(args);
    const size_t bytes = shared_bytes(plan.cut, element, sizeof(TileShared<double, AGG_VAR>));
    if (bytes <= device_block_shared_max()) return true;
    return variant_refuse(reason, "two tiles of %u elements need %zu bytes of shared memory, a block has %zu", plan.cut.width,
                          bytes, device_block_shared_max());
}

static const ParamSpec TUNABLES[] = {
    {"threads", "most threads of a block, a multiple of 32, beside the warp that gathers; 0: by device", PARAM_INT, "0", 0,
     THREADS_MAX, NULL},
    {"ahead", "tiles between a block's and the one whose elements it asks the L2 cache for; -1: by device and window", PARAM_INT,
     "-1", -1, 65536, NULL},
    {"strips", "most strips of the array whose tiles run in turn; 0: by device", PARAM_INT, "0", 0, 1024, NULL},
    {},
};

RUNGS_VARIANT(rolling, cuda_published_tiles) = {
    .backend = BACKEND_CUDA,
    .summary = "tiles read twice: a suffix from w - 1 elements before, published aggregates between, a prefix; any w",
    .origin = "van Herk 1992, Gil and Werman 1993; published aggregates: Merrill and Garland 2016",
    .tunables = TUNABLES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
