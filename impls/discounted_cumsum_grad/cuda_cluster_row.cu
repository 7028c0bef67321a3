/* Idea: a whole row, x and dy, in the shared memory of a cluster of 1 to 16 blocks: both scans from one read. A block adds up its
 * parts of x, in the direction of the sums, and of dy, against it; the totals go to the blocks behind it either way; one wait; then
 * dx takes the place of dy, and a walk along x meets, for each element, what was carried into it and its dx. No sum y is ever
 * stored. The cluster's first block adds up the gradient of the row's factor; if all rows share it, a second launch adds up the
 * rows.
 * Traffic: 2 reads and 1 write of n.
 * Rounding: a thread adds up in the dtype, everything between threads is double, and so are products and their sums.
 * Limits: x and dy of a row must fit into the shared memory of its cluster: 227 KiB times 16 on an H200, f32 rows of 450000. Compute
 *   capability 9.0 where a row needs more than one block. One factor to a row, no reset, all terms.
 * Origin: Blelloch 1990; adjoint of a linear recurrence; clusters, NVIDIA 2022. */
#include "common/discounted_cumsum/cluster_row.cuh"
#include "discounted_cumsum_grad/_tile.cuh"

constexpr unsigned UNROLL = 8;

/* Where the gradient of a row's factor goes: to dgamma, or (one factor for many rows) into partials. */
template <typename T> struct RowGradient {
    T *dgamma;
    double *partials; /* null: to dgamma */
};

/* view: from x into nothing; dy into dx. RIGHT: the direction of the sums. */
template <typename T, bool RIGHT>
static __global__ void __launch_bounds__(CLUSTER_ROW_THREADS_MAX)
    cluster_kernel(DiscountView<T> view, const T *dy, T *dx, RowGradient<T> out, ClusterRowPlan plan) {
    __shared__ BulkBarrier barriers[2];
    __shared__ TilePowers powers;
    __shared__ double totals[2][WARP], shares[2][CLUSTER_BLOCKS_MAX], gradients[CLUSTER_BLOCKS_MAX];
    __shared__ GradientSum sums[WARP];
    DYN_SHARED(T, tiles);
    if (plan.blocks > 1) cluster_arrive();
    const unsigned rank = blockIdx.x % plan.blocks, length = blockDim.x * plan.items;
    const size_t row = blockIdx.x / plan.blocks;
    T *const x_tile = tiles, *const dy_tile = tiles + length;
    const BulkSpan span = tile_span<T, RIGHT>(row, view.n, rank, plan.blocks, length);
    bulk_load_begin(x_tile, length, view.x, span, plan.packed, &barriers[0]);
    bulk_load_begin(dy_tile, length, dy, span, plan.packed, &barriers[1]);
    cluster_row_fetch(view.x, span, view.batch * view.n, plan);
    cluster_row_fetch(dy, span, view.batch * view.n, plan);
    const T factor = affine_factor(view.factor(row, 0));
    tile_powers((double)factor, plan.items, &powers);
    bulk_load_wait(&barriers[0]);
    T *const x_first = tile_first<T, RIGHT>(x_tile, plan.items), *const dy_first = tile_first<T, !RIGHT>(dy_tile, plan.items);
    const TileBefore sum = tile_scan((double)tile_thread_sum<T, RIGHT, UNROLL>(x_first, plan.items, factor), powers, totals[0]);
    bulk_load_wait(&barriers[1]);
    const TileBefore adjoint =
        tile_scan((double)tile_thread_sum<T, !RIGHT, UNROLL>(dy_first, plan.items, factor), powers, totals[1]);
    double sum_carry = 0, adjoint_carry = 0;
    if (plan.blocks > 1) {
        const double decay = powers.warps[blockDim.x / WARP];
        cluster_wait(); /* all blocks have started */
        if (threadIdx.x > rank && threadIdx.x < plan.blocks) cluster_store(&shares[0][rank], threadIdx.x, sum.total);
        if (threadIdx.x < rank) cluster_store(&shares[1][rank], threadIdx.x, adjoint.total);
        cluster_arrive();
        cluster_wait();
        for (unsigned k = 0; k < rank; k++) sum_carry = decay * sum_carry + shares[0][k];
        for (unsigned k = plan.blocks - 1; k > rank; k--) adjoint_carry = decay * adjoint_carry + shares[1][k];
    }
    tile_thread_write<T, !RIGHT, UNROLL>(dy_first, plan.items, factor, (T)adjoint.with(adjoint_carry));
    bulk_store_warp(dx, dy_tile, tile_warp_begin<!RIGHT>(plan.items), WARP * plan.items, span, plan.packed);
    __syncthreads(); /* dx of all threads */
    const T *const dx_first = dy_tile + (x_first - x_tile);
    double gradient = gradient_tile_walk<T, RIGHT, UNROLL>(gradient_tile_part<T, RIGHT>(row, view.n, span, x_first - x_tile),
                                                           x_first, dx_first, plan.items, factor, (T)sum.with(sum_carry));
    gradient = gradient_block_sum(gradient, sums);
    if (plan.blocks > 1) {
        if (threadIdx.x == 0) cluster_store(&gradients[rank], 0, gradient);
        cluster_arrive();
        cluster_wait();
        if (rank == 0)
            for (unsigned k = 1; k < plan.blocks; k++) gradient = k == 1 ? gradients[0] + gradients[1] : gradient + gradients[k];
    }
    if (rank > 0 || threadIdx.x > 0) return;
    if (out.partials)
        out.partials[row] = gradient;
    else
        out.dgamma[row] = (T)gradient;
}

/* One block adds up the rows, always in the same order. */
template <typename T>
static __global__ void __launch_bounds__(GRADIENT_SUM_THREADS) rows_kernel(const double *rows, size_t count, T *dgamma) {
    __shared__ GradientSum totals[WARP];
    double sum = 0;
    for (size_t i = threadIdx.x; i < count; i += blockDim.x) sum += rows[i];
    sum = gradient_block_sum(sum, totals);
    if (threadIdx.x == 0) *dgamma = (T)sum;
}

static bool adds_rows(const VariantArgs *args) {
    return discount_gamma_per(args) == DISCOUNT_GAMMA_ALL && discount_batch(args) > 1;
}

static size_t scratch_bytes(const VariantArgs *args) {
    return adds_rows(args) ? discount_batch(args) * sizeof(double) : 0;
}

static Status run(const VariantArgs *args) {
    return gradient_run(args, [args]<typename T, bool RIGHT>() {
        const DiscountView<T> view = discount_view<T>(args);
        const T *dy = (const T *)args->in[IN_DY].data;
        T *dx = (T *)args->out[OUT_DX].data;
        const RowGradient<T> out = {(T *)args->out[OUT_DGAMMA].data, adds_rows(args) ? (double *)args->scratch : nullptr};
        ClusterRowPlan plan = cluster_row_plan(args, 2);
        plan.packed = ((uintptr_t)view.x | (uintptr_t)dy | (uintptr_t)dx) % 16 == 0;
        const LaunchShape shape = {dim3((unsigned)(view.batch * plan.blocks)), dim3(plan.threads),
                                   2 * (size_t)plan.items * plan.threads * sizeof(T), args->stream};
        TRY(launch_clusters(cluster_kernel<T, RIGHT>, shape, plan.blocks, view, dy, dx, out, plan));
        if (!adds_rows(args)) return STATUS_OK;
        return launch(rows_kernel<T>, gradient_sum_launch(1, view.batch, args->stream), (const double *)out.partials, view.batch,
                      out.dgamma);
    });
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return cluster_row_supports(args, 2, reason);
}

static const ParamSpec TUNABLES[] = {CLUSTER_ROW_TUNABLES, {}};

RUNGS_VARIANT(discounted_cumsum_grad, cuda_cluster_row) = {
    .backend = BACKEND_CUDA,
    .summary = "x and dy of a row in the shared memory of a cluster: both scans and the products from one read",
    .origin = "Blelloch 1990; NVIDIA 2022",
    .tunables = TUNABLES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
