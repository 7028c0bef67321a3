/* Idea: one launch, one read and one write, however long the row. A row is cut into tiles, a block each. A block brings its tile to
 * shared memory by one bulk copy, adds it up, publishes the total, waits for the sum of all tiles before it, and writes. Nobody
 * looks back: the row's first block is an agent, whose warps read the totals, 32 at a time, scan them, and publish what precedes
 * each tile. So a tile polls one word, and each polled word has a line of 128 bytes of its own. Blocks take their numbers from a
 * counter, so a block only waits for blocks that have started or will. Each block also has the L2 fetch a tile that lies some way
 * ahead: its load then is short, and so is the time that others wait for it.
 * Traffic: n reads, n writes; for each tile 8 bytes written and read by the agent, and a line of 128 bytes. The words are emptied by
 *   a memset before the launch.
 * Rounding: a thread adds up in the dtype, everything between threads is double; which tiles the agent scans together is fixed, so
 *   the result does not depend on timing.
 * Limits: one factor to a row, no reset, all terms; 2^31 - 1 tiles.
 * Origin: scan with published aggregates, Merrill and Garland 2016 ("Single-pass parallel prefix scan with decoupled look-back"). */
#include "common/discounted_cumsum/tile.cuh"
#include "common/published.cuh"

constexpr unsigned THREADS_MAX = 256;

/* Elements of a thread; odd. */
template <typename T> constexpr unsigned ITEMS = sizeof(T) == 8 ? 27 : 55;

struct AgentPlan {
    size_t tiles; /* of a row */
    unsigned length, ahead;
    bool packed;
};

/* What the warps of the agent hand to each other: the sum of all groups of tiles before `group`. */
struct Chain {
    volatile double sum;
    volatile unsigned long long group;
};

static __device__ void publish_sum(PublishedWord *word, double sum) {
    publish(word, (PublishedWord)__double_as_longlong(sum));
}
static __device__ bool published_sum(const PublishedWord *word, double *sum) {
    PublishedWord bits;
    const bool ready = published(word, &bits);
    *sum = __longlong_as_double((long long)bits);
    return ready;
}

/* Warp w has groups w, w + warps, ... of 32 tiles. It reads their totals as they appear, and publishes as far as they reach. */
static __device__ void agent(double factor, const AgentPlan &plan, const PublishedWord *totals, PublishedLine *befores,
                             Chain *chain) {
    const unsigned lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    double steps[TILE_WARP_STEPS];
#pragma unroll
    for (unsigned s = 0; s < TILE_WARP_STEPS; s++) steps[s] = tile_power(factor, plan.length << s);
    const double weight = tile_power(factor, plan.length * (lane + 1)); /* of what precedes the group, behind this lane's tile */
    for (size_t group = threadIdx.x / WARP; group * WARP < plan.tiles; group += warps) {
        const size_t tile = group * WARP + lane;
        const unsigned count = plan.tiles - group * WARP < WARP ? (unsigned)(plan.tiles - group * WARP) : (unsigned)WARP;
        bool ready = tile >= plan.tiles, known = group == 0;
        double total = 0, before = 0, sum = 0;
        for (unsigned seen = 0, done = 0; done < count;) {
            if (!ready) ready = published_sum(totals + tile, &total);
            const unsigned missing = ~__ballot_sync((unsigned)ALL_LANES, ready),
                           now = missing ? (unsigned)__ffs((int)missing) - 1 : WARP;
            if (now > seen) {
                seen = now < count ? now : count;
                sum = lane < seen ? total : 0;
#pragma unroll
                for (unsigned s = 0; s < TILE_WARP_STEPS; s++) {
                    const double other = shuffle_value<true>(sum, 1u << s);
                    if (lane >= 1u << s) sum = steps[s] * other + sum;
                }
            }
            if (!known) known = __all_sync((unsigned)ALL_LANES, chain->group == group);
            if (!known || seen == done) continue;
            if (group > 0 && done == 0) {
                __threadfence_block();
                before = chain->sum;
            }
            __syncwarp(); /* all lanes have read, before one writes */
            const double all = weight * before + sum;
            if (seen == count && lane == count - 1) {
                chain->sum = all;
                __threadfence_block(); /* the sum before the number of the group */
                chain->group = group + 1;
            }
            if (lane >= done && lane < seen && tile + 1 < plan.tiles) publish_sum(befores[tile + 1].words, all);
            done = seen;
        }
    }
}

template <typename T, bool RIGHT>
static __global__ void __launch_bounds__(THREADS_MAX, 4)
    agent_kernel(DiscountView<T> view, AgentPlan plan, unsigned *started, PublishedWord *totals, PublishedLine *befores) {
    __shared__ unsigned number;
    __shared__ BulkBarrier barrier;
    __shared__ TilePowers powers;
    __shared__ double warp_totals[WARP], carry;
    __shared__ Chain chain;
    DYN_SHARED(T, tile);
    if (threadIdx.x == 0) {
        number = atomicAdd(started, 1u) + 1; /* emptied, it is -1 */
        chain.group = 0;
    }
    __syncthreads();
    const size_t blocks = plan.tiles + 1, row = number / blocks, block = number % blocks;
    const T factor = affine_factor(view.factor(row, 0));
    totals += row * plan.tiles;
    befores += row * plan.tiles;
    if (block == 0) {
        agent((double)factor, plan, totals, befores, &chain);
        return;
    }
    const size_t index = block - 1;
    const BulkSpan span = tile_span<T, RIGHT>(row, view.n, index, plan.tiles, plan.length);
    bulk_load_begin(tile, plan.length, view.x, span, plan.packed, &barrier);
    if (threadIdx.x == 0 && plan.ahead > 0 && plan.packed && index + plan.ahead + 1 < plan.tiles) {
        const long long by = (long long)plan.ahead * plan.length;
        bulk_prefetch(view.x + (RIGHT ? span.low - by : span.low + by), plan.length * (unsigned)sizeof(T));
    }
    tile_powers((double)factor, ITEMS<T>, &powers);
    bulk_load_wait(&barrier);
    T *const first = tile_first<T, RIGHT>(tile, ITEMS<T>);
    const TileBefore before = tile_scan((double)tile_thread_sum<T, RIGHT, ITEMS<T>>(first, ITEMS<T>, factor), powers, warp_totals);
    if (threadIdx.x == 0) {
        publish_sum(totals + index, before.total);
        double sum = 0;
        while (index > 0 && !published_sum(befores[index].words, &sum)) {}
        carry = sum;
    }
    __syncthreads();
    tile_thread_write<T, RIGHT, ITEMS<T>>(first, ITEMS<T>, factor, (T)before.with(carry));
    bulk_store_warp(view.y, tile, tile_warp_begin<RIGHT>(ITEMS<T>), WARP * ITEMS<T>, span, plan.packed);
}

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block, a multiple of 32", PARAM_INT, "192", 32, THREADS_MAX, NULL},
    {"ahead", "distance in tiles at which a block has the L2 fetch; 0: it does not", PARAM_INT, "96", 0, 4096, NULL},
    {},
};

static unsigned threads_of(const VariantArgs *args) {
    return (unsigned)params_int(args->tunables, "threads");
}
static size_t tiles_of(const VariantArgs *args) {
    const size_t batch = discount_batch(args), n = discount_n(args), threads = threads_of(args);
    return discount_is_f64(args) ? tile_count<double>(batch, n, threads * ITEMS<double>)
                                 : tile_count<float>(batch, n, threads * ITEMS<float>);
}

/* Scratch: what the tiles exchange, the counter of blocks. */
static size_t scratch_bytes(const VariantArgs *args) {
    return discount_batch(args) * tiles_of(args) * (sizeof(PublishedLine) + sizeof(PublishedWord)) + sizeof(unsigned);
}

template <typename T> static Status run_typed(const VariantArgs *args) {
    const DiscountView<T> view = discount_view<T>(args);
    const unsigned threads = threads_of(args);
    const bool packed = ((uintptr_t)view.x | (uintptr_t)view.y) % 16 == 0;
    const AgentPlan plan = {tiles_of(args), threads * ITEMS<T>, (unsigned)params_int(args->tunables, "ahead"), packed};
    const size_t count = view.batch * plan.tiles;
    PublishedLine *befores = (PublishedLine *)args->scratch;
    PublishedWord *totals = (PublishedWord *)(befores + count);
    unsigned *started = (unsigned *)(totals + count);
    TRY_CUDA(cudaMemsetAsync(args->scratch, PUBLISHED_EMPTY_BYTE, scratch_bytes(args), (cudaStream_t)args->stream));
    const LaunchShape shape = {dim3((unsigned)(view.batch * (plan.tiles + 1))), dim3(threads), plan.length * sizeof(T),
                               args->stream};
    void (*const kernel)(DiscountView<T>, AgentPlan, unsigned *, PublishedWord *, PublishedLine *) =
        discount_is_right(args) ? agent_kernel<T, true> : agent_kernel<T, false>;
    TRY(bulk_allow_shared(kernel, shape.shared_bytes));
    return launch(kernel, shape, view, plan, started, totals, befores);
}

static Status run(const VariantArgs *args) {
    if (discount_is_empty(args)) return STATUS_OK;
    return discount_is_f64(args) ? run_typed<double>(args) : run_typed<float>(args);
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (!discount_is_uniform(args)) return variant_refuse(reason, "one factor to a row and no reset are supported");
    if (discount_terms(args) > 0) return variant_refuse(reason, "sums of k terms are not supported");
    if (threads_of(args) % WARP != 0) return variant_refuse(reason, "threads=%u is no multiple of 32", threads_of(args));
    return discount_fits_grid(args, discount_batch(args) * (tiles_of(args) + 1), reason);
}

RUNGS_VARIANT(discounted_cumsum, cuda_agent_scan) = {
    .backend = BACKEND_CUDA,
    .summary = "one launch: tiles publish totals, an agent block scans them and publishes what precedes each tile",
    .origin = "Merrill and Garland 2016",
    .tunables = TUNABLES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
