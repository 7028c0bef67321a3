/* Idea: rows of any length, x and dy read once, dx written once. dx comes from one end of a row and the sums y from the other,
 * so no order of tiles gives both in one pass; but dgamma does not need y. A tile is a block, with x and dy in shared memory.
 * dx is the scan of discounted_cumsum/cuda_agent_scan (agent_row.cuh) over dy, against the sums. With dx at hand the products
 * of a tile are linear in Y, the one number that the sums carry into it: they add up to own + Y share. own is the sum of dx[i]
 * times the sum of the tile's elements before i, share that of dx[i] g^j, j elements of the tile before i. A tile leaves both,
 * and its total of x. A second launch scans the totals of a row, which gives Y of each tile, and adds up own + Y share.
 *   No thread walks along x to find own. It walks along dy, once, and x[i] meets w[i], the sum of the dx behind it, discounted
 *   to its neighbour: sum dx[i] y[i-1] = sum x[i] w[i]. The last w is the thread's share.
 *   The products are linear in Y only if all is finite and no sum on the way leaves the range of the dtype. If that may not be
 *   so, own is a NaN or Y is large; the second launch then walks along x and dx of the tile in memory, with what is carried.
 *   Only the data decide that.
 * Progress: as agent_row.cuh says, blocks may run in any order, and no wait is endless.
 * Traffic: 2 reads and 1 write of n; for each tile a line of 128 bytes, and 24 bytes for the second launch, which reads a
 *   total once more for each 512 tiles behind it. The words of the scan are emptied by a memset before the launch.
 * Rounding: a thread adds up dx and the totals of x in the dtype (f16 and bf16: in floats, and w has dx before it is rounded; the walk
 *   in memory has it rounded); all between threads is double, and so are w, products and their sums. Nothing depends on timing.
 * Limits: one factor to a row, no reset, all terms; 2^31 - 1 tiles.
 * Origin: scan with published aggregates, Merrill and Garland 2016; adjoint of a linear recurrence. */
#include "common/discounted_cumsum/agent_row.cuh"
#include "common/early_launch.cuh"
#include "discounted_cumsum_grad/_tile.cuh"

/* Elements of a thread, of x and of dy, odd (of two bytes: twice an odd number); threads of a block, by default and at most. x and
 * dy of a tile are then 54 KiB, of which four fit an SM of compute capability 9.0. */
template <typename T> constexpr unsigned ITEMS = sizeof(T) == 2 ? 54 : 27;
template <typename T> constexpr unsigned THREADS = sizeof(T) == 8 ? 128 : 256;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr unsigned BLOCKS = 2;
#else
constexpr unsigned BLOCKS = 4;
#endif
constexpr unsigned SUM_THREADS = 512; /* of a block of the second launch, which has a tile for each */

struct GradientAgentPlan {
    AgentRowPlan scan;
    double *totals, *owns, *shares; /* [rows][tiles]: what tiles leave, in the order of the sums */
    double *sums;                   /* [rows][groups]: sums of products; null: to dgamma */
    unsigned groups;                /* of a row's tiles, each of which has a block of the second launch */
};

/* Two sums for block_reduce(). */
struct TileProducts {
    double own, share;
    __device__ void merge(const TileProducts &other) {
        own += other.own;
        share += other.share;
    }
};
template <bool UP> __device__ TileProducts shuffle(const TileProducts &a, unsigned distance) {
    return {shuffle_value<UP>(a.own, distance), shuffle_value<UP>(a.share, distance)};
}

/* Of three numbers that are at most this, no sum leaves the range. */
template <typename T> constexpr double SMALL = (double)AffineRange<SumOf<T>>::LARGEST / 4;

/* By how much |factor|^exponent of this may enlarge a carry on its way. */
static __device__ inline double largest_power(double power) {
    return fabs(power) > 1 ? fabs(power) : 1;
}

/* What the threads of a tile's block share. */
struct GradientTileShared {
    BulkBarrier barriers[2];
    TilePowers powers;
    double dy_totals[WARP], x_totals[WARP], carry;
    bool has_carry;
    TileProducts products[WARP];
};

/* A block's tiles of x and dy. A thread has the same elements of both. RIGHT: the direction of the sums; dx goes against it. */
template <typename T, bool RIGHT> struct GradientTile {
    unsigned row, index; /* index: in the order of dx */
    T *dy, *x;           /* in shared memory */
    BulkSpan span;

    __device__ GradientTile(size_t n, const AgentRowPlan &plan, T *tiles)
        : row(agent_block_row(plan)), index(agent_block_place(plan) - 1), dy(tiles), x(tiles + plan.length),
          span(tile_span<T, !RIGHT>(row, n, index, plan.tiles, plan.length)) {}
    __device__ void load(const DiscountView<T> &back, const T *x_from, const AgentRowPlan &plan, BulkBarrier *barriers) const {
        bulk_load_begin(dy, plan.length, back.x, span, plan.packed, &barriers[0]);
        bulk_load_begin(x, plan.length, x_from, span, plan.packed, &barriers[1]);
    }
    /* What precedes the thread's elements of dy, and of x. */
    template <unsigned UNROLL> __device__ TileBefore scan_dy(SumOf<T> factor, GradientTileShared *shared) const {
        const T *const first = tile_first<T, !RIGHT>(dy, ITEMS<T>);
        const SumOf<T> sum = tile_thread_sum<T, !RIGHT, UNROLL>(first, ITEMS<T>, factor);
        return tile_scan((double)sum, shared->powers, shared->dy_totals);
    }
    template <unsigned UNROLL> __device__ TileBefore scan_x(SumOf<T> factor, GradientTileShared *shared) const {
        constexpr int LAST = (int)ITEMS<T> - 1;
        const T *const first = tile_first<T, !RIGHT>(x, ITEMS<T>) + (RIGHT ? LAST : -LAST);
        const SumOf<T> sum = tile_thread_sum<T, RIGHT, UNROLL>(first, ITEMS<T>, factor);
        return tile_scan<false>((double)sum, shared->powers, shared->x_totals);
    }
};

/* dx in place of the thread's dy, and its products without and with what the sums carry into the tile. carried: into dx. */
template <typename T, bool RIGHT, unsigned UNROLL>
static __device__ TileProducts tile_walk(T *dy, const T *x, SumOf<T> factor, SumOf<T> carried, const TileBefore &before,
                                         double power) {
    double sum = 0, behind = 0;
    SumOf<T> largest = 0;
#pragma unroll UNROLL
    for (unsigned k = 0; k < ITEMS<T>; k++) {
        const int at = RIGHT ? (int)k : -(int)k;
        const SumOf<T> element = wide(x[at]);
        carried = factor * carried + wide(dy[at]);
        dy[at] = (T)carried;
        sum += (double)element * behind;
        behind = (double)factor * behind + (double)carried;
        largest = fmax(largest, fabs(element));
    }
    TileProducts products;
    products.own = sum + behind * before.sum;
    products.share = behind * before.weight;
    const double reach = largest_power(power), most = (double)largest * ITEMS<T> * reach;
    if (!(most <= SMALL<T> && fabs(before.sum) * reach <= SMALL<T>)) products.own = NAN;
    return products;
}

/* With what precedes the tile of dy in shared->carry: dx, and what the second launch needs. */
template <typename T, bool RIGHT, unsigned UNROLL>
static __device__ void tile_finish(const DiscountView<T> &back, const GradientAgentPlan &plan, const GradientTile<T, RIGHT> &tile,
                                   const TileBefore &dy_before, const TileBefore &x_before, GradientTileShared *shared) {
    const SumOf<T> factor = agent_block_factor(back, plan.scan);
    T *const dy = tile_first<T, !RIGHT>(tile.dy, ITEMS<T>);
    const TileProducts own = tile_walk<T, RIGHT, UNROLL>(
        dy, tile.x + (dy - tile.dy), factor, (SumOf<T>)dy_before.with(shared->carry), x_before, shared->powers.lanes[1]);
    bulk_store_warp(back.y, tile.dy, tile_warp_begin<!RIGHT>(ITEMS<T>), WARP * ITEMS<T>, tile.span, plan.scan.packed);
    const TileProducts all = block_reduce(own, shared->products);
    if (threadIdx.x > 0) return;
    const size_t at = (size_t)tile.row * plan.scan.tiles + (plan.scan.tiles - 1 - tile.index);
    plan.totals[at] = x_before.total;
    plan.owns[at] = all.own;
    plan.shares[at] = all.share;
}

/* By all threads of a tile's block that has polled long. */
template <typename T, bool RIGHT>
static __device__ __noinline__ void tile_again(const DiscountView<T> &back, const GradientAgentPlan &plan, T *tiles,
                                               GradientTileShared *shared) {
    const GradientTile<T, RIGHT> tile(back.n, plan.scan, tiles);
    if (threadIdx.x < WARP) {
        const double carry = agent_row_again<T, !RIGHT, ITEMS<T>>(back, plan.scan, tile.index);
        if (threadIdx.x == 0) shared->carry = carry;
    }
    __syncthreads();
    const SumOf<T> factor = agent_block_factor(back, plan.scan);
    const TileBefore dy_before = tile.template scan_dy<1>(factor, shared), x_before = tile.template scan_x<1>(factor, shared);
    tile_finish<T, RIGHT, 1>(back, plan, tile, dy_before, x_before, shared);
}

/* back: from dy into dx. */
template <typename T, bool RIGHT>
static __global__ void __launch_bounds__(THREADS<T>, BLOCKS)
    tiles_kernel(const __grid_constant__ DiscountView<T> back, const T *x, const __grid_constant__ GradientAgentPlan plan) {
    __shared__ GradientTileShared shared;
    __shared__ AgentChain chain;
    DYN_SHARED(T, tiles);
    early_allow();
    if (agent_block_place(plan.scan) == 0) return agent_row_block<T, !RIGHT, ITEMS<T>>(back, plan.scan, &chain);
    const GradientTile<T, RIGHT> tile(back.n, plan.scan, tiles);
    tile.load(back, x, plan.scan, shared.barriers);
    const SumOf<T> factor = agent_block_factor(back, plan.scan); /* while the tiles are on their way */
    tile_powers((double)factor, ITEMS<T>, &shared.powers);
    bulk_load_wait(&shared.barriers[0]);
    const TileBefore dy_before = tile.template scan_dy<ITEMS<T>>(factor, &shared);
    const size_t at = (size_t)tile.row * plan.scan.tiles + tile.index;
    if (threadIdx.x == 0) publish_number(plan.scan.totals + at, dy_before.total);
    bulk_load_wait(&shared.barriers[1]);
    const TileBefore x_before = tile.template scan_x<ITEMS<T>>(factor, &shared); /* while the agent works */
    if (threadIdx.x == 0) {
        double carry = 0;
        bool known = tile.index == 0;
        for (unsigned polls = 0; !known && polls < PUBLISHED_POLLS_MAX; polls++)
            known = published_number(plan.scan.befores[at].words, &carry);
        shared.carry = carry;
        shared.has_carry = known;
    }
    __syncthreads();
    if (!shared.has_carry) return tile_again<T, RIGHT>(back, plan, tiles, &shared);
    tile_finish<T, RIGHT, ITEMS<T>>(back, plan, tile, dy_before, x_before, &shared);
}

/* ---- The second launch: a block for each group of a row's tiles, a thread for each tile of it. */

struct GroupShared {
    TilePowers powers; /* of tiles */
    double totals[2][WARP], carries[SUM_THREADS];
    bool walks[SUM_THREADS];
    GradientWalkShared walk;
};

/* The calling thread's part of what the block's tiles whose `walks` is set add up to; a NaN ends it. */
template <typename T, bool RIGHT>
static __device__ __noinline__ double walk_tiles(const DiscountView<T> &back, const T *x, const GradientAgentPlan &plan,
                                                 GroupShared *shared) {
    const unsigned row = blockIdx.x / plan.groups, first = blockIdx.x % plan.groups * blockDim.x;
    tile_powers((double)affine_factor(back.factor(row, 0)), 1, &shared->walk.powers);
    __syncthreads();
    double sum = 0;
    for (unsigned k = 0; k < blockDim.x; k++) {
        if (!shared->walks[k]) continue;
        const BulkSpan span = tile_span<T, RIGHT>(row, back.n, first + k, plan.scan.tiles, plan.scan.length);
        sum += gradient_tile_again<T, RIGHT>(back, x, row, span, plan.scan.length, shared->carries[k], &shared->walk);
        if (__syncthreads_or(isnan(sum))) return NAN;
    }
    return sum;
}

template <typename T, bool RIGHT>
static __global__ void __launch_bounds__(SUM_THREADS) groups_kernel(const __grid_constant__ DiscountView<T> back, const T *x,
                                                                    const __grid_constant__ GradientAgentPlan plan, void *dgamma) {
    __shared__ GroupShared shared;
    __shared__ GradientSum sums[WARP];
    const size_t row = blockIdx.x / plan.groups, begin = row * plan.scan.tiles;
    const unsigned group = blockIdx.x % plan.groups, tile = group * blockDim.x + threadIdx.x;
    early_allow();
    tile_powers((double)affine_factor(back.factor(row, 0)), plan.scan.length, &shared.powers);
    __syncthreads();
    early_wait();
    const double *const totals = plan.totals + begin;
    const double decay = shared.powers.warps[blockDim.x / WARP];
    double before = 0; /* of the thread's tiles in the groups before */
#pragma unroll 8
    for (unsigned g = 0; g < group; g++) before = decay * before + totals[g * blockDim.x + threadIdx.x];
    before = tile_scan(before, shared.powers, shared.totals[0]).total;
    double sum = 0;
    const bool inside = tile < plan.scan.tiles;
    const double carry = tile_scan(inside ? totals[tile] : 0, shared.powers, shared.totals[1]).with(before);
    if (inside) sum = plan.owns[begin + tile] + carry * plan.shares[begin + tile];
    const bool walks = !(fabs(carry) * largest_power(shared.powers.lanes[1]) <= SMALL<T> && isfinite(sum)) && inside;
    shared.carries[threadIdx.x] = carry;
    shared.walks[threadIdx.x] = walks;
    if (walks) sum = 0;
    if (__syncthreads_or(walks)) sum += walk_tiles<T, RIGHT>(back, x, plan, &shared);
    sum = gradient_block_sum(sum, sums);
    if (threadIdx.x > 0) return;
    if (plan.sums)
        plan.sums[blockIdx.x] = sum;
    else
        gradient_store<T>(back, dgamma, row, sum);
}

/* Block b adds up terms[b count .. (b + 1) count), always in the same order. */
template <typename T>
static __global__ void __launch_bounds__(GRADIENT_SUM_THREADS)
    sum_kernel(DiscountView<T> back, const double *terms, size_t count, void *dgamma) {
    __shared__ GradientSum totals[WARP];
    early_wait();
    terms += blockIdx.x * count;
    double sum = 0;
    for (size_t i = threadIdx.x; i < count; i += blockDim.x) sum += terms[i];
    sum = gradient_block_sum(sum, totals);
    if (threadIdx.x == 0) gradient_store<T>(back, dgamma, blockIdx.x, sum);
}

/* ---- Host. */
static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block, a multiple of 32; 0: 128 for float64, else 256", PARAM_INT, "0", 0, THREADS<float>, NULL},
    {},
};

static unsigned threads_of(const VariantArgs *args) {
    const unsigned threads = (unsigned)params_int(args->tunables, "threads");
    if (threads > 0) return threads;
    return discount_is_f64(args) ? THREADS<double> : THREADS<float>;
}
static size_t tiles_of(const VariantArgs *args) {
    const size_t batch = discount_batch(args), n = discount_n(args), threads = threads_of(args);
    const size_t size = dtype_size(args->problem->dtype), items = size == 2 ? ITEMS<__half> : ITEMS<float>;
    return tile_count(batch, n, threads * items, size);
}
static size_t groups_of(const VariantArgs *args) {
    return divide_up(tiles_of(args), SUM_THREADS);
}

/* Scratch: what the tiles exchange, what they leave, the sums of groups. */
static size_t scratch_bytes(const VariantArgs *args) {
    const size_t rows = discount_batch(args), tiles = tiles_of(args);
    return agent_row_bytes(rows, tiles) + rows * (3 * tiles + groups_of(args)) * sizeof(double);
}
static GradientAgentPlan plan_of(const VariantArgs *args, unsigned length) {
    const size_t rows = discount_batch(args), tiles = tiles_of(args);
    GradientAgentPlan plan = {};
    plan.scan = agent_row_plan(args->scratch, rows, tiles, length);
    double *const numbers = (double *)((char *)args->scratch + agent_row_bytes(rows, tiles));
    plan.totals = numbers;
    plan.owns = numbers + rows * tiles;
    plan.shares = numbers + 2 * rows * tiles;
    plan.groups = (unsigned)groups_of(args);
    if (rows * plan.groups > gradient_outputs(args)) plan.sums = numbers + 3 * rows * tiles;
    return plan;
}

static Status run(const VariantArgs *args) {
    return gradient_run_stored(args, [args]<typename T, bool RIGHT>() {
        const DiscountView<T> back = gradient_adjoint_view<T>(args);
        const T *x = (const T *)args->in[IN_X].data;
        void *dgamma = args->out[OUT_DGAMMA].data;
        const unsigned threads = threads_of(args);
        GradientAgentPlan plan = plan_of(args, threads * ITEMS<T>);
        plan.scan.packed = ((uintptr_t)x | (uintptr_t)back.x | (uintptr_t)back.y) % 16 == 0;
        const size_t tiles = plan.scan.tiles, groups = back.batch * plan.groups, outputs = gradient_outputs(args);
        const LaunchShape blocks = {dim3((unsigned)(back.batch * (tiles + 1))), dim3(threads), 2 * plan.scan.length * sizeof(T),
                                    args->stream};
        const LaunchShape sums = {dim3((unsigned)groups), dim3(gradient_threads(tiles, SUM_THREADS)), 0, args->stream};
        TRY_CUDA(
            cudaMemsetAsync(args->scratch, PUBLISHED_EMPTY_BYTE, agent_row_bytes(back.batch, tiles), (cudaStream_t)args->stream));
        TRY(bulk_allow_shared(tiles_kernel<T, RIGHT>, blocks.shared_bytes));
        TRY(launch(tiles_kernel<T, RIGHT>, blocks, back, x, plan));
        TRY(launch_early(groups_kernel<T, RIGHT>, sums, back, x, plan, dgamma));
        if (!plan.sums) return STATUS_OK;
        return launch_early(sum_kernel<T>, gradient_sum_launch(outputs, groups / outputs, args->stream), back,
                            (const double *)plan.sums, groups / outputs, dgamma);
    });
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (!discount_is_uniform(args)) return variant_refuse(reason, "one factor to a row and no reset are supported");
    const unsigned threads = threads_of(args), most = discount_is_f64(args) ? THREADS<double> : THREADS<float>;
    if (threads % WARP != 0) return variant_refuse(reason, "threads=%u is no multiple of 32", threads);
    if (threads > most) return variant_refuse(reason, "threads=%u: at most %u for this dtype", threads, most);
    return gradient_supports(args, reason) && discount_fits_grid(args, discount_batch(args) * (tiles_of(args) + 1), reason);
}

RUNGS_VARIANT(discounted_cumsum_grad, cuda_agent_scan) = {
    .backend = BACKEND_CUDA,
    .summary = "rows of any length, read once: dx by an agent's scan, products of tiles linear in what enters them",
    .origin = "Merrill and Garland 2016; adjoint of a linear recurrence",
    .tunables = TUNABLES,
    .dtypes = STORAGE_TYPES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
