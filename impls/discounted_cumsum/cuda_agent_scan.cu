/* Idea: one launch, one read and one write, however long the row. A row is cut into tiles, a block each. A block brings its tile to
 * shared memory by one bulk copy, adds it up, publishes the total, waits for the sum of all tiles before it, and writes. Nobody
 * looks back: the row's first block is an agent, whose warps read the totals, 32 at a time, scan them, and publish what precedes
 * each tile. So a tile polls one word, and each polled word has a line of 128 bytes of its own. Each block also has the L2 fetch a
 * tile that lies some way ahead: its load then is short, and so is the time that others wait for it.
 * Progress: tiles follow blockIdx, and CUDA promises no order in which blocks start. A block publishes its total before it waits,
 *   and no wait is endless: an agent that has polled long adds up a missing tile from its elements, and a tile's block that has
 *   polled long does the agent's work for the tiles before its own. So every block ends, whichever others run beside it, and even
 *   alone.
 * Traffic: n reads, n writes; for each tile 8 bytes written and read by the agent, and a line of 128 bytes. The words are emptied by
 *   a memset before the launch.
 * Rounding: a thread adds up in the dtype (f16 and bf16: in floats), everything between threads is double. Which tiles are scanned together is fixed, and a
 *   tile that another block adds up gives the same bits, so the result does not depend on timing.
 * Limits: one factor to a row, no reset, all terms; 2^31 - 1 tiles.
 * Origin: scan with published aggregates, Merrill and Garland 2016 ("Single-pass parallel prefix scan with decoupled look-back"). */
#include "common/discounted_cumsum/agent_row.cuh"

/* Elements of a thread, odd (of two bytes: twice an odd number); threads of a block, by default and at most; blocks to an SM. The
 * fastest on compute capability 9.0, the last one up to SHORT elements. */
struct AgentShape {
    unsigned items, threads, blocks;
};
constexpr unsigned THREADS_MAX = 192;
constexpr AgentShape SHAPE_F64 = {31, 128, 6}, SHAPE_F32 = {63, 128, 6}, SHAPE_F32_SHORT = {55, THREADS_MAX, 5};
constexpr AgentShape SHAPE_NARROW = {126, 128, 6}; /* f16, bf16 */
constexpr size_t SHORT = (size_t)1 << 24;

/* What the threads of a tile's block share. */
struct AgentTileShared {
    BulkBarrier barrier;
    TilePowers powers;
    double warp_totals[WARP], carry;
    bool has_carry;
};

/* By all threads of a tile's block that has polled long: its outputs. */
template <typename T, bool RIGHT, unsigned ITEMS>
static __device__ __noinline__ void tile_again(const DiscountView<T> &view, const AgentRowPlan &plan, T *tile,
                                               AgentTileShared *shared) {
    const unsigned row = agent_block_row(plan), index = agent_block_place(plan) - 1;
    if (threadIdx.x < WARP) {
        const double carry = agent_row_again<T, RIGHT, ITEMS>(view, plan, index);
        if (threadIdx.x == 0) shared->carry = carry;
    }
    __syncthreads();
    const SumOf<T> factor = agent_block_factor(view, plan);
    T *const first = tile_first<T, RIGHT>(tile, ITEMS);
    const TileBefore before =
        tile_scan((double)tile_thread_sum<T, RIGHT, 1>(first, ITEMS, factor), shared->powers, shared->warp_totals);
    tile_thread_write<T, RIGHT, 1>(first, ITEMS, factor, (SumOf<T>)before.with(shared->carry));
    const BulkSpan span = tile_span<T, RIGHT>(row, view.n, index, plan.tiles, plan.length);
    bulk_store_warp(view.y, tile, tile_warp_begin<RIGHT>(ITEMS), WARP * ITEMS, span, plan.packed);
}

template <typename T, bool RIGHT, unsigned ITEMS, unsigned THREADS, unsigned BLOCKS>
static __global__ void __launch_bounds__(THREADS, BLOCKS)
    agent_kernel(const __grid_constant__ DiscountView<T> view, const __grid_constant__ AgentRowPlan plan) {
    __shared__ AgentTileShared shared;
    __shared__ AgentChain chain;
    DYN_SHARED(T, tile);
    if (agent_block_place(plan) == 0) return agent_row_block<T, RIGHT, ITEMS>(view, plan, &chain);
    const unsigned row = agent_block_row(plan), index = agent_block_place(plan) - 1;
    const BulkSpan span = tile_span<T, RIGHT>(row, view.n, index, plan.tiles, plan.length);
    bulk_load_begin(tile, plan.length, view.x, span, plan.packed, &shared.barrier);
    if (threadIdx.x == 0 && plan.ahead > 0 && plan.packed && index + plan.ahead + 1 < plan.tiles) {
        const long long by = (long long)plan.ahead * plan.length;
        bulk_prefetch(view.x + (RIGHT ? span.low - by : span.low + by), plan.length * (unsigned)sizeof(T));
    }
    const SumOf<T> factor = agent_block_factor(view, plan); /* while the tile is on its way */
    tile_powers((double)factor, ITEMS, &shared.powers);
    bulk_load_wait(&shared.barrier);
    T *const first = tile_first<T, RIGHT>(tile, ITEMS);
    const TileBefore before =
        tile_scan((double)tile_thread_sum<T, RIGHT, ITEMS>(first, ITEMS, factor), shared.powers, shared.warp_totals);
    if (threadIdx.x == 0) {
        const size_t at = (size_t)row * plan.tiles + index;
        publish_number(plan.totals + at, before.total);
        double sum = 0;
        bool known = index == 0;
        for (unsigned polls = 0; !known && polls < PUBLISHED_POLLS_MAX; polls++)
            known = published_number(plan.befores[at].words, &sum);
        shared.carry = sum;
        shared.has_carry = known;
    }
    __syncthreads();
    if (!shared.has_carry) return tile_again<T, RIGHT, ITEMS>(view, plan, tile, &shared);
    tile_thread_write<T, RIGHT, ITEMS>(first, ITEMS, factor, (SumOf<T>)before.with(shared.carry));
    bulk_store_warp(view.y, tile, tile_warp_begin<RIGHT>(ITEMS), WARP * ITEMS, span, plan.packed);
}

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block, a multiple of 32; more than 128 in float32 only; 0: 192 for it up to 2^24 elements, else 128",
     PARAM_INT, "0", 0, THREADS_MAX, NULL},
    {"ahead", "distance in tiles at which a block has the L2 fetch; 0: it does not", PARAM_INT, "96", 0, 4096, NULL},
    {},
};

static bool is_narrow(const VariantArgs *args) {
    return dtype_size(args->problem->dtype) == 2;
}
static unsigned threads_of(const VariantArgs *args) {
    const unsigned threads = (unsigned)params_int(args->tunables, "threads");
    if (threads > 0) return threads;
    if (discount_is_f64(args)) return SHAPE_F64.threads;
    if (is_narrow(args)) return SHAPE_NARROW.threads;
    return discount_batch(args) * discount_n(args) <= SHORT ? SHAPE_F32_SHORT.threads : SHAPE_F32.threads;
}
/* In float32 the threads decide. */
static AgentShape shape_of(const VariantArgs *args) {
    if (discount_is_f64(args)) return SHAPE_F64;
    if (is_narrow(args)) return SHAPE_NARROW;
    return threads_of(args) > SHAPE_F32.threads ? SHAPE_F32_SHORT : SHAPE_F32;
}
static size_t tiles_of(const VariantArgs *args) {
    const size_t batch = discount_batch(args), n = discount_n(args), length = threads_of(args) * shape_of(args).items;
    return tile_count(batch, n, length, dtype_size(args->problem->dtype));
}

/* Scratch: what the tiles exchange. */
static size_t scratch_bytes(const VariantArgs *args) {
    return agent_row_bytes(discount_batch(args), tiles_of(args));
}

template <typename T, unsigned ITEMS, unsigned THREADS, unsigned BLOCKS> static Status run_shape(const VariantArgs *args) {
    const DiscountView<T> view = discount_view<T>(args);
    const unsigned threads = threads_of(args);
    const size_t tiles = tiles_of(args);
    AgentRowPlan plan = agent_row_plan(args->scratch, view.batch, tiles, threads * ITEMS);
    plan.ahead = (unsigned)params_int(args->tunables, "ahead");
    plan.packed = ((uintptr_t)view.x | (uintptr_t)view.y) % 16 == 0;
    TRY_CUDA(cudaMemsetAsync(args->scratch, PUBLISHED_EMPTY_BYTE, scratch_bytes(args), (cudaStream_t)args->stream));
    const LaunchShape shape = {dim3((unsigned)(view.batch * (tiles + 1))), dim3(threads), plan.length * sizeof(T), args->stream};
    void (*const kernel)(DiscountView<T>, AgentRowPlan) =
        discount_is_right(args) ? agent_kernel<T, true, ITEMS, THREADS, BLOCKS> : agent_kernel<T, false, ITEMS, THREADS, BLOCKS>;
    TRY(bulk_allow_shared(kernel, shape.shared_bytes));
    return launch(kernel, shape, view, plan);
}

static Status run(const VariantArgs *args) {
    if (discount_is_empty(args)) return STATUS_OK;
    if (discount_is_f64(args)) return run_shape<double, SHAPE_F64.items, SHAPE_F64.threads, SHAPE_F64.blocks>(args);
    if (args->problem->dtype == DTYPE_F16)
        return run_shape<__half, SHAPE_NARROW.items, SHAPE_NARROW.threads, SHAPE_NARROW.blocks>(args);
    if (args->problem->dtype == DTYPE_BF16)
        return run_shape<__nv_bfloat16, SHAPE_NARROW.items, SHAPE_NARROW.threads, SHAPE_NARROW.blocks>(args);
    if (shape_of(args).items == SHAPE_F32.items)
        return run_shape<float, SHAPE_F32.items, SHAPE_F32.threads, SHAPE_F32.blocks>(args);
    return run_shape<float, SHAPE_F32_SHORT.items, SHAPE_F32_SHORT.threads, SHAPE_F32_SHORT.blocks>(args);
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (!discount_is_uniform(args)) return variant_refuse(reason, "one factor to a row and no reset are supported");
    if (discount_terms(args) > 0) return variant_refuse(reason, "sums of k terms are not supported");
    const unsigned threads = threads_of(args), most = shape_of(args).threads;
    if (threads % WARP != 0) return variant_refuse(reason, "threads=%u is no multiple of 32", threads);
    if (threads > most) return variant_refuse(reason, "threads=%u: at most %u for this dtype", threads, most);
    return discount_fits_grid(args, discount_batch(args) * (tiles_of(args) + 1), reason);
}

RUNGS_VARIANT(discounted_cumsum, cuda_agent_scan) = {
    .backend = BACKEND_CUDA,
    .summary = "one launch: tiles publish totals, an agent block scans them and publishes what precedes each tile",
    .origin = "Merrill and Garland 2016",
    .tunables = TUNABLES,
    .dtypes = STORAGE_TYPES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
