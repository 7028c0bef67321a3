/* Idea: one launch, one read and one write, as cuda_agent_scan, but no block works for others: each publishes the total of
 * its tile, reads the totals of the tiles before it, hundreds at once, and adds them up itself. From the last total that it
 * needs to its outputs is one hop through the L2, where an agent takes two, and a chain of blocks one for each block.
 * Look: 32 tiles are a group. A block reads the totals of its own group and of 15 before it (a warp those of 4), and beside
 *   each group the sum of all that precedes it, which the last block of the group before publishes. The nearest such sum ends
 *   the look; the farthest is waited for, so that a chain has a link for each 512 tiles.
 * Same bits: the totals of a group are always scanned together, by the same shuffles, and groups are added up from the first
 *   to the last. From whichever sum a block goes on, the additions are the same: results do not depend on timing.
 * Progress: tiles follow blockIdx, and CUDA promises no order in which blocks start. Numbers drawn from a counter would have
 *   one, but no load begins before its number is there. So a block publishes its total before it waits, and no wait is
 *   endless: who has polled long takes the missing totals from the elements, to the same bits, and publishes them.
 * Empty words: a kernel of its own empties them. This one begins early behind it, and loads and adds up meanwhile.
 * Traffic: n reads, n writes; for each tile 8 bytes written, and up to 4 KiB read from the L2.
 * Rounding: a thread adds up in the dtype (f16 and bf16: in floats), everything between threads is double.
 * Limits: one factor to a row, no reset, all terms; 2^31 - 1 tiles.
 * Origin: Merrill and Garland 2016 ("Single-pass parallel prefix scan with decoupled look-back"); the look of one hop is
 *   ours. */
#include "common/discounted_cumsum/tile.cuh"
#include "common/early_launch.cuh"
#include "common/published.cuh"

constexpr unsigned THREADS_MAX = 128, WARPS_MAX = THREADS_MAX / WARP;
constexpr unsigned GROUPS = 4, WINDOW_MAX = GROUPS * WARPS_MAX; /* groups that a warp and a block read at once */
constexpr unsigned POLLS_MAX = PUBLISHED_POLLS_MAX / 10;        /* each of some words */
constexpr size_t SMALL_BYTES = (size_t)8 << 20;                 /* of all rows, up to which tiles are small by default */

/* Elements of a thread: 124 or 252 bytes, an odd number of words. A pair is two small parts: the second is on its way while the
 * first is added up. */
template <typename T> constexpr unsigned SMALL = 124 / sizeof(T);
template <typename T> constexpr unsigned LARGE = 252 / sizeof(T);
enum Tile { TILE_AUTO, TILE_SMALL, TILE_LARGE, TILE_PAIR };

struct HopPlan {
    PublishedWord *totals;          /* [rows][tiles] */
    PublishedWord *befores;         /* [rows][groups]: the sum of all tiles before the group; of the first one unused */
    unsigned tiles, groups;         /* of a row */
    unsigned length, window, ahead; /* length: of a part of a tile; window: groups */
    bool packed;
};

/* What the threads of a block share. */
struct HopShared {
    BulkBarrier barriers[2];
    TilePowers powers;
    double tiles[WARP + 1]; /* factor^(elements of j tiles) */
    double warp_totals[2][WARP];
    double sums[WINDOW_MAX], befores[WINDOW_MAX]; /* of the groups that the block reads, from its own back */
    double sum, through;                          /* of the own group: before the block's tile, and all of it up to the tile */
    unsigned nearest[WARPS_MAX];                  /* of the groups of a warp, the nearest whose before is there */
};

/* Where a block is: its row, and its tile's group and place in it, in the order of the sums. */
struct HopPlace {
    unsigned row, tile, group, rank;
    __device__ explicit HopPlace(const HopPlan &plan)
        : row(blockIdx.x / plan.tiles), tile(blockIdx.x % plan.tiles), group(tile / WARP), rank(tile % WARP) {}
};

/* What precedes and what follows, which `power` is the factor over. */
static __device__ inline double join(double power, double before, double sum) {
    return fma(power, before, sum);
}

/* The sum of the tiles of lanes 0 .. lane. */
static __device__ inline double group_scan(double total, const double *tiles) {
#pragma unroll
    for (unsigned s = 0; s < TILE_WARP_STEPS; s++) {
        const double other = shuffle_value<true>(total, 1u << s);
        if (threadIdx.x % WARP >= 1u << s) total = join(tiles[1u << s], other, total);
    }
    return total;
}
/* By a warp that has the totals of the own group up to the block's tile; 0 behind. */
static __device__ inline void share_own_group(double total, unsigned rank, HopShared *shared) {
    const unsigned lane = threadIdx.x % WARP;
    const double through = group_scan(total, shared->tiles), before = shuffle_value<true>(through, 1);
    if (lane != rank) return;
    shared->sum = lane == 0 ? 0 : before;
    shared->through = through;
}

/* By a warp, for the block: reads the totals of its groups, and what precedes them, until the nearest before that is there has all
 * totals behind it, or, where none is, all totals are there. `own`: of the block's tile. False if it has polled long. */
static __device__ inline bool look(const HopPlan &plan, const HopPlace &at, double own, HopShared *shared) {
    const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    const unsigned reach = at.group < plan.window ? at.group + 1 : plan.window;
    const PublishedWord *const totals = plan.totals + (size_t)at.row * plan.tiles + at.group * WARP + lane;
    const PublishedWord *const befores = plan.befores + (size_t)at.row * plan.groups + at.group;
    const unsigned mine = lane * warps + warp; /* the group, counted back, whose before this lane reads */
    const bool reads = lane < GROUPS && mine < reach;
    bool ready[GROUPS], found = reads && mine == at.group; /* nothing precedes the first */
    double total[GROUPS], before = 0;
#pragma unroll
    for (unsigned g = 0; g < GROUPS; g++) {
        const unsigned back = g * warps + warp;
        ready[g] = back >= reach || (back == 0 && lane >= at.rank);
        total[g] = back == 0 && lane == at.rank ? own : 0;
    }
    unsigned nearest = GROUPS;
    for (unsigned polls = 0;; polls++) { /* all loads of a turn are on their way together */
        if (polls == POLLS_MAX) return false;
        if (reads && !found) found = published_number(befores - mine, &before);
#pragma unroll
        for (unsigned g = 0; g < GROUPS; g++)
            if (!ready[g]) ready[g] = published_number(totals - (g * warps + warp) * WARP, &total[g]);
        const unsigned there = __ballot_sync((unsigned)ALL_LANES, found);
        if (there) nearest = (unsigned)__ffs((int)there) - 1;
        bool done = true;
#pragma unroll
        for (unsigned g = 0; g < GROUPS; g++) done = done && (ready[g] || g > nearest);
        if (__all_sync((unsigned)ALL_LANES, done)) break;
    }
    if (found) shared->befores[mine] = before;
    if (lane == 0) shared->nearest[warp] = nearest < GROUPS ? nearest * warps + warp : WINDOW_MAX;
#pragma unroll
    for (unsigned g = 0; g < GROUPS; g++) {
        const unsigned back = g * warps + warp;
        if (back >= reach) break;
        if (back == 0) {
            share_own_group(total[g], at.rank, shared);
            continue;
        }
        const double sum = group_scan(total[g], shared->tiles);
        if (lane == WARP - 1) shared->sums[back] = sum;
    }
    return true;
}

/* By all threads: the nearest group whose before is there, counted back, or LATE. */
constexpr unsigned LATE = ~0u;
static __device__ inline unsigned look_back(const HopPlan &plan, const HopPlace &at, double own, HopShared *shared) {
    const bool polled_long = !look(plan, at, own, shared);
    if (__syncthreads_or(polled_long)) return LATE;
    unsigned nearest = WINDOW_MAX;
    for (unsigned w = 0; w < blockDim.x / WARP; w++)
        if (shared->nearest[w] < nearest) nearest = shared->nearest[w];
    if (nearest < WINDOW_MAX) return nearest;
    const unsigned farthest = plan.window - 1;
    bool found = threadIdx.x > 0;
    for (unsigned polls = 0; !found && polls < POLLS_MAX; polls++)
        found = published_number(plan.befores + (size_t)at.row * plan.groups + at.group - farthest, &shared->befores[farthest]);
    return __syncthreads_or(!found) ? LATE : farthest;
}

/* By a warp that does not wait, to the same bits: what precedes the own group, and its sums. Totals that are missing it takes from
 * the elements; what it finds it publishes. */
template <typename T, bool RIGHT, unsigned ITEMS, unsigned PARTS>
static __device__ void look_again(const DiscountView<T> &view, const HopPlan &plan, const HopPlace &at, double own,
                                  HopShared *shared) {
    const unsigned lane = threadIdx.x % WARP;
    const double part = shared->powers.warps[blockDim.x / WARP];
    PublishedWord *const totals = plan.totals + (size_t)at.row * plan.tiles;
    PublishedWord *const befores = plan.befores + (size_t)at.row * plan.groups;
    double before = 0;
    for (unsigned group = 0; group <= at.group; group++) {
        const unsigned first = group * WARP, count = group < at.group ? (unsigned)WARP : at.rank;
        double total = 0;
        const bool ready = lane >= count || published_number(totals + first + lane, &total);
        for (unsigned missing = ~__ballot_sync((unsigned)ALL_LANES, ready); missing; missing &= missing - 1) {
            const unsigned one = (unsigned)__ffs((int)missing) - 1;
            double again = 0;
            for (unsigned p = 0; p < PARTS; p++) {
                const unsigned tile = (first + one) * PARTS + p;
                const double sum = tile_total_again<T, RIGHT, ITEMS>(view, at.row, tile, plan.tiles * PARTS, plan.length);
                again = p == 0 ? sum : join(part, again, sum);
            }
            if (lane != one) continue;
            total = again;
            publish_number(totals + first + one, again);
        }
        if (group == at.group) {
            share_own_group(lane < count ? total : lane == count ? own : 0, at.rank, shared);
            break;
        }
        const double sum = group_scan(total, shared->tiles);
        before = join(shared->tiles[WARP], before, __shfl_sync((unsigned)ALL_LANES, sum, WARP - 1));
        if (lane == 0) publish_number(befores + group + 1, before);
    }
    if (lane == 0) shared->befores[0] = before;
}

/* While the tile is on its way: powers of the factor. reach: elements of a tile. */
static __device__ inline void prepare(double factor, unsigned items, unsigned reach, HopShared *shared) {
    const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, last = blockDim.x / WARP - 1;
    tile_powers(factor, items, &shared->powers);
    if (warp == last) shared->tiles[lane] = tile_power(factor, reach * lane);
    if (threadIdx.x == 0) shared->tiles[WARP] = tile_power(factor, reach * WARP);
}

/* Where a part of a block's tile lies. */
template <typename T, bool RIGHT, unsigned PARTS>
static __device__ BulkSpan part_span(const DiscountView<T> &view, const HopPlan &plan, const HopPlace &at, unsigned part) {
    return tile_span<T, RIGHT>(at.row, view.n, (size_t)at.tile * PARTS + part, (size_t)plan.tiles * PARTS, plan.length);
}

/* By all threads: what precedes the thread's elements of each part within that part. Returns the total of the tile. UNROLL: as
 * tile.cuh has it. */
template <typename T, bool RIGHT, unsigned ITEMS, unsigned PARTS, unsigned UNROLL>
static __device__ double add_up(T *tile, const HopPlan &plan, SumOf<T> factor, HopShared *shared, TileBefore (&before)[PARTS]) {
    double total = 0;
#pragma unroll
    for (unsigned p = 0; p < PARTS; p++) {
        bulk_load_arrived(&shared->barriers[p]);
        T *const first = tile_first<T, RIGHT>(tile + p * plan.length, ITEMS);
        const SumOf<T> own = tile_thread_sum<T, RIGHT, UNROLL>(first, ITEMS, factor);
        before[p] = tile_scan((double)own, shared->powers, shared->warp_totals[p]);
        total = p == 0 ? before[p].total : join(shared->powers.warps[blockDim.x / WARP], total, before[p].total);
    }
    return total;
}

/* By all threads, behind the look: the sum of all tiles before the block's, and from it the outputs. */
template <typename T, bool RIGHT, unsigned ITEMS, unsigned PARTS, unsigned UNROLL>
static __device__ void write(const DiscountView<T> &view, T *tile, const HopPlan &plan, unsigned nearest,
                             const TileBefore (&before)[PARTS], SumOf<T> factor, const HopShared *shared) {
    const HopPlace at(plan);
    double sum = shared->befores[nearest]; /* what precedes that group; then the next, up to the own */
    for (unsigned back = nearest; back > 0; back--) sum = join(shared->tiles[WARP], sum, shared->sums[back]);
    if (threadIdx.x == 0 && at.rank == WARP - 1 && at.group + 1 < plan.groups)
        publish_number(plan.befores + (size_t)at.row * plan.groups + at.group + 1, join(shared->tiles[WARP], sum, shared->through));
    double carry = join(shared->tiles[at.rank], sum, shared->sum);
#pragma unroll
    for (unsigned p = 0; p < PARTS; p++) {
        T *const part = tile + p * plan.length;
        tile_thread_write<T, RIGHT, UNROLL>(tile_first<T, RIGHT>(part, ITEMS), ITEMS, factor, (SumOf<T>)before[p].with(carry));
        bulk_store_warp(view.y, part, tile_warp_begin<RIGHT>(ITEMS), WARP * ITEMS, part_span<T, RIGHT, PARTS>(view, plan, at, p),
                        plan.packed);
        carry = join(shared->powers.warps[blockDim.x / WARP], carry, before[p].total);
    }
}

/* By all threads of a block that has polled long: its outputs. A function of its own, called last: what the kernel keeps in
 * registers need not survive it. */
template <typename T, bool RIGHT, unsigned ITEMS, unsigned PARTS>
static __device__ __noinline__ void hop_again(const DiscountView<T> &view, const HopPlan &plan, T *tile, HopShared *shared) {
    const HopPlace at(plan);
    const SumOf<T> factor = affine_factor(view.factor(at.row, 0));
    TileBefore before[PARTS];
    const double total = add_up<T, RIGHT, ITEMS, PARTS, 1>(tile, plan, factor, shared, before);
    if (threadIdx.x < WARP) look_again<T, RIGHT, ITEMS, PARTS>(view, plan, at, total, shared);
    __syncthreads();
    write<T, RIGHT, ITEMS, PARTS, 1>(view, tile, plan, 0, before, factor, shared);
}

template <typename T, bool RIGHT, unsigned ITEMS, unsigned PARTS, unsigned BLOCKS>
static __global__ void __launch_bounds__(THREADS_MAX, BLOCKS)
    hop_kernel(const __grid_constant__ DiscountView<T> view, const __grid_constant__ HopPlan plan) {
    __shared__ HopShared shared;
    DYN_SHARED(T, tile); /* part after part */
    const HopPlace at(plan);
#pragma unroll
    for (unsigned p = 0; p < PARTS; p++) {
        const BulkSpan span = part_span<T, RIGHT, PARTS>(view, plan, at, p);
        bulk_load_begin(tile + p * plan.length, plan.length, view.x, span, plan.packed, &shared.barriers[p]);
        if (threadIdx.x > 0 || plan.ahead == 0 || !plan.packed || at.tile + plan.ahead + 1 >= plan.tiles) continue;
        const long long by = (long long)plan.ahead * PARTS * plan.length;
        bulk_prefetch(view.x + (RIGHT ? span.low - by : span.low + by), plan.length * (unsigned)sizeof(T));
    }
    const SumOf<T> factor = affine_factor(view.factor(at.row, 0));
    prepare((double)factor, ITEMS, PARTS * plan.length, &shared);
    bulk_load_sync();
    TileBefore before[PARTS];
    const double total = add_up<T, RIGHT, ITEMS, PARTS, ITEMS>(tile, plan, factor, &shared, before);
    early_wait(); /* the words are empty */
    if (threadIdx.x == 0) publish_number(plan.totals + (size_t)at.row * plan.tiles + at.tile, total);
    const unsigned nearest = look_back(plan, at, total, &shared);
    if (nearest == LATE) return hop_again<T, RIGHT, ITEMS, PARTS>(view, plan, tile, &shared);
    write<T, RIGHT, ITEMS, PARTS, ITEMS>(view, tile, plan, nearest, before, factor, &shared);
}

constexpr unsigned EMPTY_THREADS = 256;
static __global__ void __launch_bounds__(EMPTY_THREADS) empty_kernel(PublishedWord *words, size_t count) {
    early_allow();
    const size_t i = (size_t)blockIdx.x * EMPTY_THREADS + threadIdx.x;
    if (i < count) words[i] = ~(PublishedWord)0;
}

static const char *const TILES[] = {"auto", "small", "large", "pair", NULL};
static const ParamSpec TUNABLES[] = {
    {"tile", "bytes of a thread: small: 124, large: 252, pair: twice 124, both on their way; auto: small up to 8 MiB of x",
     PARAM_CHOICE, "auto", 0, 0, TILES},
    {"threads", "threads of a block, a multiple of 32", PARAM_INT, "128", 32, THREADS_MAX, NULL},
    {"window", "groups of 32 totals that a block reads at once; 0: 4 for each warp", PARAM_INT, "0", 0, WINDOW_MAX, NULL},
    {"ahead", "distance in tiles at which a block has the L2 fetch; 0: it does not", PARAM_INT, "96", 0, 4096, NULL},
    {},
};

static Tile tile_of(const VariantArgs *args) {
    const Tile tile = (Tile)params_choice(args->tunables, "tile");
    if (tile != TILE_AUTO) return tile;
    const size_t bytes = discount_batch(args) * discount_n(args) * dtype_size(args->problem->dtype);
    return bytes <= SMALL_BYTES ? TILE_SMALL : TILE_LARGE;
}
static unsigned window_of(const VariantArgs *args) {
    const unsigned window = (unsigned)params_int(args->tunables, "window");
    return window > 0 ? window : GROUPS * tunable_threads(args) / WARP;
}
/* Of a row. */
static size_t tiles_of(const VariantArgs *args) {
    const size_t size = dtype_size(args->problem->dtype), threads = tunable_threads(args);
    const Tile tile = tile_of(args);
    const size_t part = threads * ((tile == TILE_LARGE ? 252 : 124) / size);
    return tile_count(discount_batch(args), discount_n(args), tile == TILE_PAIR ? 2 * part : part, size);
}
static size_t words_of(const VariantArgs *args) {
    const size_t tiles = tiles_of(args);
    return discount_batch(args) * (tiles + divide_up(tiles, WARP));
}

/* Scratch: what blocks exchange. */
static size_t scratch_bytes(const VariantArgs *args) {
    return words_of(args) * sizeof(PublishedWord);
}

template <typename T, bool RIGHT, unsigned ITEMS, unsigned PARTS, unsigned BLOCKS>
static Status run_tiles(const VariantArgs *args) {
    const DiscountView<T> view = discount_view<T>(args);
    const size_t tiles = tiles_of(args), words = words_of(args);
    HopPlan plan = {};
    plan.totals = (PublishedWord *)args->scratch;
    plan.befores = plan.totals + view.batch * tiles;
    plan.tiles = (unsigned)tiles;
    plan.groups = (unsigned)divide_up(tiles, WARP);
    plan.length = tunable_threads(args) * ITEMS;
    plan.window = window_of(args);
    plan.ahead = (unsigned)params_int(args->tunables, "ahead");
    plan.packed = ((uintptr_t)view.x | (uintptr_t)view.y) % 16 == 0;
    const LaunchShape shape = {dim3((unsigned)(view.batch * tiles)), dim3(tunable_threads(args)), PARTS * plan.length * sizeof(T),
                               args->stream};
    TRY(launch(empty_kernel, {dim3((unsigned)divide_up(words, EMPTY_THREADS)), dim3(EMPTY_THREADS), 0, args->stream}, plan.totals,
               words));
    return launch_early(hop_kernel<T, RIGHT, ITEMS, PARTS, BLOCKS>, shape, view, plan);
}

static Status run(const VariantArgs *args) {
    return discount_run_stored(args, [args]<typename T, bool RIGHT>() {
        switch (tile_of(args)) {
        case TILE_SMALL:
            return run_tiles<T, RIGHT, SMALL<T>, 1, 8>(args);
        case TILE_PAIR:
            return run_tiles<T, RIGHT, SMALL<T>, 2, 6>(args);
        default:
            return run_tiles<T, RIGHT, LARGE<T>, 1, 6>(args);
        }
    });
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (!discount_is_uniform(args)) return variant_refuse(reason, "one factor to a row and no reset are supported");
    if (discount_terms(args) > 0) return variant_refuse(reason, "sums of k terms are not supported");
    const unsigned threads = tunable_threads(args), most = GROUPS * threads / WARP;
    if (threads % WARP != 0) return variant_refuse(reason, "threads=%u is no multiple of 32", threads);
    if (window_of(args) > most)
        return variant_refuse(reason, "window=%u: %u threads read %u groups", window_of(args), threads, most);
    return discount_fits_grid(args, discount_batch(args) * tiles_of(args), reason);
}

RUNGS_VARIANT(discounted_cumsum, cuda_one_hop) = {
    .backend = BACKEND_CUDA,
    .summary = "one launch: each block reads the totals of the tiles before it, up to the nearest sum of all before a group",
    .origin = "Merrill and Garland 2016",
    .tunables = TUNABLES,
    .dtypes = STORAGE_TYPES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
