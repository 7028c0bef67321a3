/* Idea: a whole row in the shared memory of a cluster. A cluster of 1 to 16 blocks has a row, each block a part of it, which one
 * bulk copy brings in. A block adds its part up, writes the total into the shared memory of the blocks behind it, waits once, and
 * writes. No block waits for one that may not have started, nothing is published in global memory, so there is nothing to empty
 * before a launch, and no L2 traffic but the row itself. Short rows have a block each, and no exchange.
 * Traffic: n reads, n writes.
 * Rounding: a thread adds up in the dtype, everything between threads is double.
 * Limits: a row must fit into the shared memory of its cluster: 227 KiB times 16 on an H200, f32 rows of 900000. Compute capability
 *   9.0 where a row needs more than one block. One factor to a row, no reset, all terms.
 * Origin: linear recurrences as scans, Blelloch 1990; clusters, NVIDIA 2022. */
#include "common/discounted_cumsum/cluster_row.cuh"

constexpr unsigned UNROLL = 8;

template <typename T, bool RIGHT>
static __global__ void __launch_bounds__(CLUSTER_ROW_THREADS_MAX) cluster_kernel(DiscountView<T> view, ClusterRowPlan plan) {
    __shared__ BulkBarrier barrier;
    __shared__ TilePowers powers;
    __shared__ double warp_totals[WARP], shares[CLUSTER_BLOCKS_MAX];
    DYN_SHARED(T, tile);
    if (plan.blocks > 1) cluster_arrive();
    const unsigned rank = blockIdx.x % plan.blocks, length = blockDim.x * plan.items;
    const size_t row = blockIdx.x / plan.blocks;
    const BulkSpan span = tile_span<T, RIGHT>(row, view.n, rank, plan.blocks, length);
    bulk_load_begin(tile, length, view.x, span, plan.packed, &barrier);
    cluster_row_fetch(view.x, span, view.batch * view.n, plan);
    const T factor = affine_factor(view.factor(row, 0));
    tile_powers((double)factor, plan.items, &powers);
    bulk_load_wait(&barrier);
    T *const first = tile_first<T, RIGHT>(tile, plan.items);
    const TileBefore before = tile_scan((double)tile_thread_sum<T, RIGHT, UNROLL>(first, plan.items, factor), powers, warp_totals);
    double carry = 0;
    if (plan.blocks > 1) {
        cluster_wait(); /* all blocks have started */
        if (threadIdx.x > rank && threadIdx.x < plan.blocks) cluster_store(&shares[rank], threadIdx.x, before.total);
        cluster_arrive();
        cluster_wait();
        for (unsigned k = 0; k < rank; k++) carry = powers.warps[blockDim.x / WARP] * carry + shares[k];
    }
    tile_thread_write<T, RIGHT, UNROLL>(first, plan.items, factor, (T)before.with(carry));
    bulk_store_warp(view.y, tile, tile_warp_begin<RIGHT>(plan.items), WARP * plan.items, span, plan.packed);
}

static Status run(const VariantArgs *args) {
    return discount_run(args, [args]<typename T, bool RIGHT>() {
        const DiscountView<T> view = discount_view<T>(args);
        ClusterRowPlan plan = cluster_row_plan(args, 1);
        plan.packed = ((uintptr_t)view.x | (uintptr_t)view.y) % 16 == 0;
        const LaunchShape shape = {dim3((unsigned)(view.batch * plan.blocks)), dim3(plan.threads),
                                   (size_t)plan.items * plan.threads * sizeof(T), args->stream};
        return launch_clusters(cluster_kernel<T, RIGHT>, shape, plan.blocks, view, plan);
    });
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return cluster_row_supports(args, 1, reason);
}

static const ParamSpec TUNABLES[] = {CLUSTER_ROW_TUNABLES, {}};

RUNGS_VARIANT(discounted_cumsum, cuda_cluster_row) = {
    .backend = BACKEND_CUDA,
    .summary = "a row in the shared memory of a cluster of up to 16 blocks, which exchange their totals there",
    .origin = "Blelloch 1990; NVIDIA 2022",
    .tunables = TUNABLES,
    .supports = supports,
    .run = run,
};
