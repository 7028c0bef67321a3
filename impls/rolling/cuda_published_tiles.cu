/* Idea: van Herk / Gil-Werman with rows of nearly a window. The array is cut into rows of `pitch` elements, w - 1 rounded down to
 * whole lines, and each row into tiles. The window of output r of a tile, row k and column J, is
 *     left[r..]      a suffix of tile (k - 1, J), moved by pitch - (w - 1),
 *     the middle     the tiles between the two, which all outputs of the tile share,
 *     own[0..r]      a prefix of the tile.
 * A block takes the same column of ROWS adjacent rows and loads one row more: each tile is the left of the next, so (ROWS + 1) /
 * ROWS n elements pass between L2 and the multiprocessors instead of 2 n. It publishes the aggregate of each of its tiles in global
 * memory and reads those of the middle: nothing waits for a chain, since a tile's aggregate depends on its elements only. From 128
 * tiles a row on, the aggregates of 32 tiles are published as well. Var and std sum x - c and its square, c the mean of the middle.
 * Waiting: a word is EMPTY until it is published. A block that has polled long computes the aggregate from the elements, so the
 * result needs no order of blocks and no number of resident ones.
 * Traffic: n reads from memory, n / ROWS more mostly from L2; n writes.
 * Rounding: sums are trees of depth about K + log2(threads) + w / tile / threads.
 * Limits: w from two lines of 128 bytes and one element on.
 * Origin: van Herk 1992, Gil and Werman 1993; publishing aggregates: Merrill and Garland 2016. */
#include "_board.cuh"
#include "common/grid.cuh"

enum { THREADS_MAX = 256, BLOCKS_MIN = 4, ROWS_MAX = 3 };

/* The aggregate of the elements of a warp, `count` of which are the lane's and `of_warp` the warp's, in each lane; per_warp is 1 /
 * of_warp, or 0. */
template <typename T, Aggregate AGG, unsigned K>
__device__ Accumulator<T, AGG> warp_aggregate(const T *mine, unsigned count, T of_warp, T per_warp) {
    UnitAggregate<T, AGG> all;
    T mean = 0;
    if constexpr (aggregate_is_spread(AGG)) {
        T sum = 0;
#pragma unroll
        for (unsigned r = 0; r < K; r++)
            if (r < count) sum += mine[r];
        mean = group_sum<WARP>(sum) * per_warp;
    }
#pragma unroll
    for (unsigned r = 0; r < K; r++)
        if (r < count) all.push(mine[r] - mean);
    all = group_reduce<WARP>(all);
    if constexpr (aggregate_is_spread(AGG)) {
        const T error = all.sum * per_warp;
        return {of_warp, mean + error, all.squares - all.sum * error};
    } else {
        return all;
    }
}

/* What the warps of a block tell each other. */
template <typename T, Aggregate AGG, unsigned ROWS> struct RowsShared {
    static constexpr unsigned WARPS = THREADS_MAX / (unsigned)WARP;
    Accumulator<T, AGG> tile[ROWS][WARPS], middle[ROWS][WARPS];
    UnitAggregate<T, AGG> own[ROWS][WARPS], left[ROWS][WARPS + 1];
};

/* The aggregate of a block from those of its warps. */
template <typename T, typename A> __device__ A merge_warps(const A *parts, unsigned warps, T) {
    A all;
    for (unsigned v = 0; v < warps; v++) all.merge(parts[v]);
    return all;
}
template <typename T> __device__ Moments<T> merge_warps(const Moments<T> *parts, unsigned warps, T per_tile) {
    Moments<T> all;
    for (unsigned v = 0; v < warps; v++) all.mean += parts[v].count * parts[v].mean;
    all.mean *= per_tile;
    for (unsigned v = 0; v < warps; v++) {
        const T by = parts[v].mean - all.mean;
        all.m2 += parts[v].m2 + (parts[v].count > 0 ? parts[v].count * by * by : 0);
    }
    return all;
}

template <typename T> __device__ T first_of(const Sum<T> &a) {
    return a.sum;
}
template <typename T, bool IS_MIN> __device__ T first_of(const Extreme<T, IS_MIN> &a) {
    return a.value;
}
template <typename T> __device__ T first_of(const Spread<T> &a) {
    return a.sum;
}

/* Outputs `at`, at + 1, ... of a tile by one thread: `count` <= K of them. */
template <typename T, Aggregate AGG, unsigned K> struct TileOutputs {
    using A = UnitAggregate<T, AGG>;
    static constexpr bool SPREAD = aggregate_is_spread(AGG);
    unsigned at, count;
    T shift;
    A base; /* all but own elements and suffix */

    /* own and left point to the tile and to what is left of it. */
    __device__ void prepare(const T *own, const T *left, unsigned width, unsigned lag, A *own_parts, A *left_parts) {
        const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
        A all_left, all_mine;
#pragma unroll
        for (unsigned r = K; r-- > 0;)
            if (r < count) all_left.push(left[at + r] - shift);
#pragma unroll
        for (unsigned r = 0; r < K; r++)
            if (r < count) all_mine.push(own[at + r] - shift);
        A behind = group_scan_exclusive<WARP, FROM_ABOVE>(all_left), before = group_scan_exclusive<WARP, FROM_BELOW>(all_mine);
        base.merge(behind);
        base.merge(before);
        all_left.merge(behind);
        before.merge(all_mine);
        if (lane == 0) left_parts[warp] = all_left;
        if (lane == WARP - 1) own_parts[warp] = before;
        if (warp == 0) { /* the `lag` elements of the left tile behind the suffix */
            A rest;
            if (lane < lag) rest.push(left[width + lane] - shift);
            rest = group_reduce<WARP>(rest);
            if (lane == 0) left_parts[blockDim.x / WARP] = rest;
        }
    }
    /* In place: first prefixes, then suffixes are added to them. */
    __device__ void write(const RollingView<T> &view, T *own, const T *left, const A *own_parts, const A *left_parts) {
        const unsigned warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
        for (unsigned v = 0; v < warp; v++) base.merge(own_parts[v]);
        for (unsigned v = warp + 1; v <= warps; v++) base.merge(left_parts[v]);
        T squares[SPREAD ? K : 1];
#pragma unroll
        for (unsigned r = 0; r < K; r++) {
            if (r >= count) break;
            base.push(own[at + r] - shift);
            own[at + r] = first_of(base);
            if constexpr (SPREAD) squares[r] = base.squares;
        }
        const T per_window = 1 / (T)view.window, per_degree = 1 / ((T)view.window - 1);
        A suffix;
#pragma unroll
        for (unsigned r = K; r-- > 0;)
            if (r < count) {
                suffix.push(left[at + r] - shift);
                A output{own[at + r]};
                if constexpr (SPREAD) output.squares = squares[r];
                output.merge(suffix);
                own[at + r] = finish<AGG>(output, per_window, per_degree);
            }
        __syncwarp();
    }
};

/* The column of tiles of a block: tile j = 0 .. rows lies at staged + j stride, with a line of elements before it; the first is the
 * left of the second. */
struct Column {
    unsigned column, width, stride, rows;
    size_t first_row, offset; /* row of tile 1; of the column in a row */
    __device__ size_t begin(const RowCut &cut, unsigned j) const { return (first_row + j) * cut.pitch + offset; }
    __device__ size_t tile(const RowCut &cut, unsigned j) const { return (first_row + j) * cut.tiles + column; }
};

/* Publishes the aggregates of the block's tiles. */
template <typename T, Aggregate AGG, unsigned K, unsigned ROWS>
__device__ void publish_tiles(const RollingView<T> &view, const RowCut &cut, const Board<T> &board, const Column &mine,
                              const T *own, RowsShared<T, AGG, ROWS> &shared) {
    using A = Accumulator<T, AGG>;
    constexpr unsigned WORDS = Published<A>::WORDS;
    const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    const unsigned at = threadIdx.x * K, begin = warp * WARP * K;
    const unsigned count = at < mine.width ? mine.width - at < K ? mine.width - at : K : 0;
    const unsigned of_warp = begin < mine.width ? mine.width - begin < WARP * K ? mine.width - begin : WARP * K : 0;
    const T per_warp = of_warp > 0 ? 1 / (T)of_warp : 0, per_tile = 1 / (T)mine.width;
    async_copy_wait_but_one();
    __syncthreads();
    for (unsigned j = 0; j < mine.rows; j++) {
        const A part = warp_aggregate<T, AGG, K>(own + j * mine.stride + at, count, (T)of_warp, per_warp);
        if (lane == 0) shared.tile[j][warp] = part;
    }
    __syncthreads();
    if (threadIdx.x < mine.rows)
        publish_aggregate(board.tiles + mine.tile(cut, threadIdx.x) * WORDS,
                          merge_warps<T>(shared.tile[threadIdx.x], warps, per_tile));
    if (cut.tiles < GROUPS_FROM) return;
    for (unsigned j = warp; j < mine.rows; j += warps) { /* the last tile of a group publishes it */
        const size_t tile = mine.tile(cut, j);
        if (tile % GROUP != GROUP - 1) continue;
        const unsigned from = mine.column + cut.tiles - lane;
        const A all = warp_merge(read_board<T, A>(view, cut, board, tile - lane, from < cut.tiles ? from : from - cut.tiles, 1));
        if (lane == 0) publish_aggregate(board.groups + tile / GROUP * WORDS, all);
    }
}

/* The middles of the block's tiles, by its last `gatherers` warps, which have no elements: p, p + ROWS, ... gather row p's. */
static __device__ unsigned gatherers_of_row(unsigned gatherers, unsigned rows) {
    return gatherers < rows ? 1 : gatherers / rows;
}
template <typename T, Aggregate AGG, unsigned ROWS>
__device__ void gather_middles(const RollingView<T> &view, const RowCut &cut, const Board<T> &board, const Column &mine,
                               RowsShared<T, AGG, ROWS> &shared, unsigned gatherers) {
    using A = Accumulator<T, AGG>;
    const unsigned lane = threadIdx.x % WARP, others = blockDim.x / WARP - gatherers, share = gatherers_of_row(gatherers, ROWS);
    if (threadIdx.x / WARP < others) return;
    for (unsigned p = threadIdx.x / WARP - others; p < share * ROWS; p += gatherers) {
        const unsigned j = p % ROWS, slot = p / ROWS;
        if (j >= mine.rows || mine.first_row + j == 0) continue;
        const A part = warp_merge(gather<T, A>(view, cut, board, mine.tile(cut, j), mine.column, slot * WARP + lane, share * WARP));
        if (lane == 0) shared.middle[j][slot] = part;
    }
}

static __device__ Column column_of(const RowCut &cut, size_t n, unsigned block, unsigned rows_most, unsigned line) {
    Column mine;
    mine.column = block % cut.tiles;
    mine.width = cut.width_of(mine.column);
    mine.stride = cut.width + line;
    mine.first_row = (size_t)(block / cut.tiles) * rows_most;
    mine.offset = (size_t)mine.column * cut.width;
    mine.rows = 0;
    while (mine.rows < rows_most && mine.begin(cut, mine.rows) < n) mine.rows++;
    return mine;
}

/* Asks the L2 cache for the tiles of the block `ahead` blocks later: a short load, and short waits for its aggregates. */
template <typename T>
__device__ void prefetch_ahead(const RollingView<T> &view, const RowCut &cut, unsigned rows_most, unsigned ahead) {
    constexpr unsigned LINE = LINE_BYTES / sizeof(T);
    const Column later = column_of(cut, view.n, blockIdx.x + ahead, rows_most, LINE);
    for (unsigned j = 0; j < later.rows; j++)
        for (unsigned at = threadIdx.x * LINE; at < later.width && later.begin(cut, j) + at < view.n; at += blockDim.x * LINE)
            prefetch_l2(view.x + later.begin(cut, j) + at);
}

template <typename T, Aggregate AGG, unsigned K, unsigned ROWS>
static __global__ void __launch_bounds__(THREADS_MAX, BLOCKS_MIN)
    rows_kernel(RollingView<T> view, RowCut cut, Board<T> board, unsigned gatherers, unsigned ahead) {
    using A = Accumulator<T, AGG>;
    constexpr bool SPREAD = aggregate_is_spread(AGG);
    constexpr unsigned LINE = LINE_BYTES / sizeof(T);
    const unsigned warp = threadIdx.x / WARP, share = gatherers_of_row(gatherers, ROWS);
    const Column mine = column_of(cut, view.n, blockIdx.x, ROWS, LINE);
    if (mine.rows == 0) return;
    DYN_SHARED(T, staged);
    RowsShared<T, AGG, ROWS> &shared = *(RowsShared<T, AGG, ROWS> *)(staged + (ROWS + 1) * mine.stride);
    T *const own = staged + mine.stride + LINE;
    for (unsigned j = 0; j < mine.rows; j++) stage(view, mine.begin(cut, j), LINE, LINE + mine.width, own + j * mine.stride - LINE);
    async_copy_group();
    if (mine.first_row > 0) stage(view, mine.begin(cut, 0) - cut.pitch, LINE, LINE + mine.width, staged);
    async_copy_group();
    if (ahead > 0) prefetch_ahead(view, cut, ROWS, ahead);
    if (cut.tiles > 1) publish_tiles<T, AGG, K, ROWS>(view, cut, board, mine, own, shared);
    async_copy_wait();
    __syncthreads();
    if (cut.tiles > 1) gather_middles<T, AGG, ROWS>(view, cut, board, mine, shared, gatherers);
    if (SPREAD) __syncthreads();
    for (unsigned j = mine.rows; j-- > 0;) { /* from the last row on: a tile is read as left before it is overwritten */
        T *const tile = own + j * mine.stride;
        if (mine.first_row + j > 0) {
            TileOutputs<T, AGG, K> outputs;
            outputs.at = threadIdx.x * K;
            outputs.count = outputs.at < mine.width ? mine.width - outputs.at < K ? mine.width - outputs.at : K : 0;
            outputs.shift = 0;
            A middle;
            if constexpr (SPREAD) {
                middle = shared.middle[j][0];
                for (unsigned v = 1; v < share; v++) middle.merge(shared.middle[j][v]);
                outputs.shift = middle.mean;
                outputs.base.squares = middle.m2;
            }
            const T *const left = tile - mine.stride - cut.lag;
            outputs.prepare(tile, left, mine.width, cut.lag, shared.own[j], shared.left[j]);
            __syncthreads();
            if constexpr (!SPREAD)
                for (unsigned v = 0; v < share && cut.tiles > 1; v++) outputs.base.merge(shared.middle[j][v]);
            outputs.write(view, tile, left, shared.own[j], shared.left[j]);
        }
        const unsigned begin = warp * WARP * K, end = begin + WARP * K < mine.width ? begin + WARP * K : mine.width;
        write_warp(view, mine.begin(cut, j), begin, end, tile);
    }
}

/* ---- Host. Tiles of at most `outputs` elements; var and std need a middle to take the shift from, so two tiles a row. */
static RowCut cut_rows(size_t n, size_t window, size_t element, size_t outputs, bool spread) {
    const size_t line = LINE_BYTES / element, pitch = (window - 1) / line * line, most = divide_up(pitch, outputs / line * line);
    const size_t width = divide_up(divide_up(pitch, spread && most < 2 ? 2 : most), line) * line;
    return {pitch, divide_up(n, pitch), (unsigned)width, (unsigned)divide_up(pitch, width), (unsigned)(window - 1 - pitch)};
}

/* K outputs for each of `threads` threads; tiles of a block; warps that gather; blocks between a block and the one whose elements
 * it asks the L2 cache for. Odd K: lanes K elements apart read from different banks. */
struct Shape {
    unsigned k, threads, rows, gatherers, ahead;
};
/* Measured on compute capability 9.0; the others take the same, since nothing was measured there. */
template <bool F64, bool SPREAD> constexpr Shape SHAPE = {15, 192, 2, 2, 256};
template <> constexpr Shape SHAPE<true, true> = {9, 192, 2, 2, 256};
template <> constexpr Shape SHAPE<false, true> = {15, 192, 2, 2, 128};
template <> constexpr Shape SHAPE<false, false> = {23, 192, 2, 2, 256};

static bool is_spread(const VariantArgs *args) {
    return aggregate_is_spread((Aggregate)rolling_aggregate(args));
}

/* The case as it is cut: the table's shape, or the tunables'. */
struct TilePlan {
    Shape shape;
    RowCut cut;
    unsigned rows, gatherers;
};
static TilePlan plan_of(const VariantArgs *args) {
    TilePlan plan;
    if (args->problem->dtype == DTYPE_F64)
        plan.shape = is_spread(args) ? SHAPE<true, true> : SHAPE<true, false>;
    else
        plan.shape = is_spread(args) ? SHAPE<false, true> : SHAPE<false, false>;
    const unsigned threads = (unsigned)params_int(args->tunables, "threads"), rows = (unsigned)params_int(args->tunables, "rows");
    const long long ahead = params_int(args->tunables, "ahead");
    if (threads > 0) plan.shape.threads = threads;
    if (ahead >= 0) plan.shape.ahead = (unsigned)ahead;
    plan.cut = cut_rows(rolling_length(args), rolling_window(args), dtype_size(args->problem->dtype),
                        (size_t)plan.shape.threads * plan.shape.k, is_spread(args));
    /* With several rows a block waits for as many that follow it: they must be resident. */
    plan.rows = rows > 0 ? rows : plan.cut.tiles <= device_sm_count() ? plan.shape.rows : 1;
    plan.gatherers = plan.cut.tiles > 1 ? plan.shape.gatherers : 0;
    return plan;
}

/* Words of the board, each of the dtype's size. */
static size_t tile_words(const VariantArgs *args) {
    const RowCut cut = plan_of(args).cut;
    return cut.rows * cut.tiles * (is_spread(args) ? 2 : 1);
}
static size_t scratch_bytes(const VariantArgs *args) {
    if (rolling_window(args) > rolling_length(args)) return 0;
    return (tile_words(args) + tile_words(args) / GROUP + 2) * dtype_size(args->problem->dtype);
}

template <typename T, Aggregate AGG, unsigned ROWS> static size_t shared_bytes(RowCut cut) {
    return (ROWS + 1) * ((size_t)cut.width * sizeof(T) + LINE_BYTES) + sizeof(RowsShared<T, AGG, ROWS>);
}

template <typename T, Aggregate AGG, unsigned ROWS> static Status launch_rows(const VariantArgs *args, RollingView<T> view) {
    constexpr Shape SHAPED = SHAPE<sizeof(T) == 8, aggregate_is_spread(AGG)>;
    const TilePlan plan = plan_of(args);
    const Board<T> board = {(Word<T> *)args->scratch, (Word<T> *)args->scratch + tile_words(args)};
    const unsigned blocks = (unsigned)(divide_up(plan.cut.rows, ROWS) * plan.cut.tiles);
    TRY_CUDA(cudaMemsetAsync(args->scratch, 0xff, args->scratch_bytes, (cudaStream_t)args->stream));
    return launch(
        rows_kernel<T, AGG, SHAPED.k, ROWS>,
        {dim3(blocks), dim3(plan.shape.threads + plan.gatherers * WARP), shared_bytes<T, AGG, ROWS>(plan.cut), args->stream}, view,
        plan.cut, board, plan.gatherers, plan.shape.ahead);
}

template <typename T, Aggregate AGG> static Status launch_shape(const VariantArgs *args, RollingView<T> view) {
    const unsigned rows = plan_of(args).rows;
    if (rows == 1) return launch_rows<T, AGG, 1>(args, view);
    return rows == 2 ? launch_rows<T, AGG, 2>(args, view) : launch_rows<T, AGG, 3>(args, view);
}

template <typename T> static Status run_typed(const VariantArgs *args) {
    const RollingView<T> view = rolling_view<T>(args);
    if (view.window > view.n) return rolling_fill(args, view);
    switch (rolling_aggregate(args)) {
    case AGG_MEAN:
        return launch_shape<T, AGG_MEAN>(args, view);
    case AGG_SUM:
        return launch_shape<T, AGG_SUM>(args, view);
    case AGG_VAR:
        return launch_shape<T, AGG_VAR>(args, view);
    case AGG_STD:
        return launch_shape<T, AGG_STD>(args, view);
    case AGG_MIN:
        return launch_shape<T, AGG_MIN>(args, view);
    default:
        return launch_shape<T, AGG_MAX>(args, view);
    }
}

static Status run(const VariantArgs *args) {
    return args->problem->dtype == DTYPE_F64 ? run_typed<double>(args) : run_typed<float>(args);
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const size_t element = dtype_size(args->problem->dtype), line = LINE_BYTES / element, w = rolling_window(args);
    const unsigned threads = (unsigned)params_int(args->tunables, "threads");
    if (threads % WARP != 0) return variant_refuse(reason, "threads=%u is no multiple of %d", threads, WARP);
    if (!rolling_supports(args, line, reason)) return false;
    if (w > rolling_length(args)) return true;
    if (w <= 2 * line) return variant_refuse(reason, "window=%zu is shorter than two lines of %zu elements and one more", w, line);
    const TilePlan plan = plan_of(args);
    const size_t bytes = (plan.rows + 1) * (plan.cut.width * element + LINE_BYTES) + sizeof(RowsShared<double, AGG_VAR, ROWS_MAX>);
    if (bytes <= device_block_shared_max()) return true;
    return variant_refuse(reason, "%u tiles of %u elements need %zu bytes of shared memory, a block has %zu", plan.rows + 1,
                          plan.cut.width, bytes, device_block_shared_max());
}

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block, a multiple of 32, beside those that gather; 0: by device", PARAM_INT, "0", 0,
     THREADS_MAX - 2 * (int)WARP, NULL},
    {"rows", "tiles of a block, one below the other; 0: by window", PARAM_INT, "0", 0, ROWS_MAX, NULL},
    {"ahead", "blocks between a block and the one whose elements it asks the L2 cache for; -1: by device", PARAM_INT, "-1", -1,
     65536, NULL},
    {},
};

RUNGS_VARIANT(rolling, cuda_published_tiles) = {
    .backend = BACKEND_CUDA,
    .summary = "rows of nearly a window: a suffix of the tile above, published aggregates between, a prefix; any w",
    .origin = "van Herk 1992, Gil and Werman 1993; published aggregates: Merrill and Garland 2016",
    .tunables = TUNABLES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
