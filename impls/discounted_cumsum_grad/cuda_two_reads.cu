/* Idea: rows of any length, cut into tiles, a block each, x and dy of a tile in shared memory. dx comes from one end of a row and
 * the sums y from the other, so no order of tiles gives both in one pass. A first launch adds up each tile, both ways; a second
 * turns the totals of a row into what enters each tile; a third reads the tiles again, beginning with those that were read last and
 * are still in the L2 cache, writes dx, and meets, for each element, what was carried into it and its dx; a fourth adds up the
 * tiles' products, always in the same order. No sum y is ever stored. Launches begin early (early_launch.cuh): a tile is on its way
 * before what enters it is known.
 * Traffic: 4 reads and 1 write of n, 2 of the reads from the L2 cache as long as a row's inputs fit into it; 40 bytes a tile.
 * Rounding: a thread adds up in the dtype, everything between threads is double, and so are products and their sums.
 * Limits: one factor to a row, no reset, all terms; 2^31 - 1 tiles.
 * Origin: reduce, then scan: Blelloch 1990; adjoint of a linear recurrence. */
#include "common/early_launch.cuh"
#include "discounted_cumsum_grad/_tile.cuh"

constexpr unsigned UNROLL = 8, THREADS_MAX = 512, CARRY_THREADS = 512;

/* Both ways: the sums of x, and dx, the sums of dy against them. */
enum { SUMS, ADJOINT, WAYS };

struct TilesPlan {
    size_t tiles; /* of a row */
    unsigned threads, items;
    bool packed;
    double *maps[WAYS]; /* [rows][tiles]: totals, then what enters; each in its own order */
    double *products;   /* [rows][tiles] */
    __host__ __device__ unsigned length() const { return threads * items; }
};

/* A block's tiles of x and dy, on their way. */
template <typename T, bool RIGHT> struct TileLoads {
    size_t row, index; /* index: in the order of the sums */
    T *x, *dy;
    BulkSpan span;

    __device__ TileLoads(const DiscountView<T> &view, const T *dy_from, const TilesPlan &plan, size_t block, T *tiles,
                         BulkBarrier *barriers)
        : row(block / plan.tiles), index(block % plan.tiles), x(tiles), dy(tiles + plan.length()),
          span(tile_span<T, RIGHT>(row, view.n, index, plan.tiles, plan.length())) {
        bulk_load_begin(x, plan.length(), view.x, span, plan.packed, &barriers[0]);
        bulk_load_begin(dy, plan.length(), dy_from, span, plan.packed, &barriers[1]);
    }
    /* Where the tile's number is in maps[way]. */
    __device__ size_t place(int way, const TilesPlan &plan) const {
        return row * plan.tiles + (way == SUMS ? index : plan.tiles - 1 - index);
    }
};

template <typename T, bool RIGHT>
static __global__ void __launch_bounds__(THREADS_MAX) totals_kernel(DiscountView<T> view, const T *dy, TilesPlan plan) {
    __shared__ BulkBarrier barriers[2];
    __shared__ TilePowers powers;
    __shared__ double totals[WAYS][WARP];
    DYN_SHARED(T, tiles);
    early_allow();
    const TileLoads<T, RIGHT> tile(view, dy, plan, blockIdx.x, tiles, barriers);
    const T factor = affine_factor(view.factor(tile.row, 0));
    tile_powers((double)factor, plan.items, &powers);
    bulk_load_wait(&barriers[0]);
    const T sum = tile_thread_sum<T, RIGHT, UNROLL>(tile_first<T, RIGHT>(tile.x, plan.items), plan.items, factor);
    const double sums = tile_scan((double)sum, powers, totals[SUMS]).total;
    bulk_load_wait(&barriers[1]);
    const T back = tile_thread_sum<T, !RIGHT, UNROLL>(tile_first<T, !RIGHT>(tile.dy, plan.items), plan.items, factor);
    const double adjoint = tile_scan((double)back, powers, totals[ADJOINT]).total;
    if (threadIdx.x > 0) return;
    plan.maps[SUMS][tile.place(SUMS, plan)] = sums;
    plan.maps[ADJOINT][tile.place(ADJOINT, plan)] = adjoint;
}

/* In place: from the totals of a row's tiles to what enters each. A block for each row and way. */
template <typename T> static __global__ void __launch_bounds__(CARRY_THREADS) carries_kernel(DiscountView<T> view, TilesPlan plan) {
    __shared__ TilePowers powers;
    __shared__ double totals[2][WARP];
    const size_t row = blockIdx.x / WAYS;
    double *const maps = plan.maps[blockIdx.x % WAYS] + row * plan.tiles;
    early_allow();
    tile_powers((double)affine_factor(view.factor(row, 0)), plan.length(), &powers); /* a thread has one tile */
    __syncthreads();
    early_wait();
    double carry = 0;
    unsigned turn = 0;
    for (size_t done = 0; done < plan.tiles; done += blockDim.x, turn ^= 1) {
        const size_t tile = done + threadIdx.x;
        const TileBefore before = tile_scan(tile < plan.tiles ? maps[tile] : 0, powers, totals[turn]);
        if (tile < plan.tiles) maps[tile] = before.with(carry);
        carry = powers.warps[blockDim.x / WARP] * carry + before.total;
    }
}

template <typename T, bool RIGHT>
static __global__ void __launch_bounds__(THREADS_MAX) walk_kernel(DiscountView<T> view, const T *dy, T *dx, TilesPlan plan) {
    __shared__ BulkBarrier barriers[2];
    __shared__ TilePowers powers;
    __shared__ double totals[WAYS][WARP];
    __shared__ GradientSum sums[WARP];
    DYN_SHARED(T, tiles);
    early_allow();
    const TileLoads<T, RIGHT> tile(view, dy, plan, gridDim.x - 1 - blockIdx.x, tiles, barriers);
    const T factor = affine_factor(view.factor(tile.row, 0));
    tile_powers((double)factor, plan.items, &powers);
    bulk_load_wait(&barriers[0]);
    T *const x_first = tile_first<T, RIGHT>(tile.x, plan.items), *const dy_first = tile_first<T, !RIGHT>(tile.dy, plan.items);
    const TileBefore sum = tile_scan((double)tile_thread_sum<T, RIGHT, UNROLL>(x_first, plan.items, factor), powers, totals[SUMS]);
    bulk_load_wait(&barriers[1]);
    const TileBefore adjoint =
        tile_scan((double)tile_thread_sum<T, !RIGHT, UNROLL>(dy_first, plan.items, factor), powers, totals[ADJOINT]);
    early_wait();
    const double sum_carry = plan.maps[SUMS][tile.place(SUMS, plan)], adjoint_carry = plan.maps[ADJOINT][tile.place(ADJOINT, plan)];
    tile_thread_write<T, !RIGHT, UNROLL>(dy_first, plan.items, factor, (T)adjoint.with(adjoint_carry));
    bulk_store_warp(dx, tile.dy, tile_warp_begin<!RIGHT>(plan.items), WARP * plan.items, tile.span, plan.packed);
    __syncthreads(); /* dx of all threads */
    const T *const dx_first = tile.dy + (x_first - tile.x);
    const GradientTilePart part = gradient_tile_part<T, RIGHT>(tile.row, view.n, tile.span, x_first - tile.x);
    const double own = gradient_tile_walk<T, RIGHT, UNROLL>(part, x_first, dx_first, plan.items, factor, (T)sum.with(sum_carry));
    const double gradient = gradient_block_sum(own, sums);
    if (threadIdx.x == 0) plan.products[tile.row * plan.tiles + tile.index] = gradient;
}

/* Block b adds up terms[b count .. (b + 1) count), always in the same order. */
template <typename T>
static __global__ void __launch_bounds__(GRADIENT_SUM_THREADS) sum_kernel(const double *terms, size_t count, T *dgamma) {
    __shared__ GradientSum totals[WARP];
    early_wait();
    terms += blockIdx.x * count;
    double sum = 0;
    for (size_t i = threadIdx.x; i < count; i += blockDim.x) sum += terms[i];
    sum = gradient_block_sum(sum, totals);
    if (threadIdx.x == 0) dgamma[blockIdx.x] = (T)sum;
}

/* ---- Host. */
constexpr size_t SHARED_MAX = 46 * 1024; /* with the static part 48 KiB, which an early launch may have */

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block, a multiple of 32", PARAM_INT, "256", 32, THREADS_MAX, NULL},
    {"items", "elements of x, and of dy, of a thread: odd, so that lanes use different banks; 0: 15 for float32, 11 for float64",
     PARAM_INT, "0", 0, 63, NULL},
    {},
};

/* Without the arrays: what their number and size depend on. */
static TilesPlan plan_of(const VariantArgs *args) {
    TilesPlan plan = {};
    plan.threads = (unsigned)params_int(args->tunables, "threads");
    plan.items = (unsigned)params_int(args->tunables, "items");
    if (plan.items == 0) plan.items = discount_is_f64(args) ? 11 : 15;
    plan.tiles = tile_count(discount_batch(args), discount_n(args), plan.length(), dtype_size(args->problem->dtype));
    return plan;
}

static size_t shared_bytes(const VariantArgs *args, const TilesPlan &plan) {
    return 2 * plan.length() * (discount_is_f64(args) ? sizeof(double) : sizeof(float));
}

static size_t scratch_bytes(const VariantArgs *args) {
    return (WAYS + 1) * discount_batch(args) * plan_of(args).tiles * sizeof(double);
}

static Status run(const VariantArgs *args) {
    return gradient_run(args, [args]<typename T, bool RIGHT>() {
        const DiscountView<T> view = discount_view<T>(args);
        const T *dy = (const T *)args->in[IN_DY].data;
        T *dx = (T *)args->out[OUT_DX].data, *dgamma = (T *)args->out[OUT_DGAMMA].data;
        TilesPlan plan = plan_of(args);
        const size_t blocks = view.batch * plan.tiles, outputs = gradient_outputs(args);
        plan.packed = ((uintptr_t)view.x | (uintptr_t)dy | (uintptr_t)dx) % 16 == 0;
        for (int way = 0; way < WAYS; way++) plan.maps[way] = (double *)args->scratch + way * blocks;
        plan.products = (double *)args->scratch + WAYS * blocks;
        const LaunchShape tiles = {dim3((unsigned)blocks), dim3(plan.threads), shared_bytes(args, plan), args->stream};
        const LaunchShape rows = {dim3((unsigned)(WAYS * view.batch)), dim3(gradient_threads(plan.tiles, CARRY_THREADS)), 0,
                                  args->stream};
        TRY(launch(totals_kernel<T, RIGHT>, tiles, view, dy, plan));
        TRY(launch_early(carries_kernel<T>, rows, view, plan));
        TRY(launch_early(walk_kernel<T, RIGHT>, tiles, view, dy, dx, plan));
        return launch_early(sum_kernel<T>, gradient_sum_launch(outputs, blocks / outputs, args->stream),
                            (const double *)plan.products, blocks / outputs, dgamma);
    });
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const TilesPlan plan = plan_of(args);
    if (!discount_is_uniform(args)) return variant_refuse(reason, "one factor to a row and no reset are supported");
    if (plan.threads % WARP != 0) return variant_refuse(reason, "threads=%u is no multiple of 32", plan.threads);
    if (shared_bytes(args, plan) > SHARED_MAX)
        return variant_refuse(reason, "threads=%u items=%u: two tiles take %zu bytes of shared memory, %zu at most", plan.threads,
                              plan.items, shared_bytes(args, plan), SHARED_MAX);
    const size_t blocks = plan.tiles > WAYS ? plan.tiles : (size_t)WAYS;
    return gradient_supports(args, reason) && discount_fits_grid(args, discount_batch(args) * blocks, reason);
}

RUNGS_VARIANT(discounted_cumsum_grad, cuda_two_reads) = {
    .backend = BACKEND_CUDA,
    .summary = "rows of any length: totals of tiles both ways, then the tiles again for dx and the products",
    .origin = "Blelloch 1990; adjoint of a linear recurrence",
    .tunables = TUNABLES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
