/* cluster_row.cuh - how the cluster_row variants of discounted_cumsum and of its gradient deal rows to clusters: a row to the
 * blocks of one cluster, each of which has an equal part of it in shared memory. */
#ifndef RUNGS_DISCOUNT_CLUSTER_ROW_CUH
#define RUNGS_DISCOUNT_CLUSTER_ROW_CUH

#include "common/cluster.cuh"
#include "common/discounted_cumsum/tile.cuh"

constexpr unsigned CLUSTER_ROW_THREADS_MAX = 1024;
/* Static shared memory of these kernels, at most; elements of a block down to which a row is cut; elements of a thread, where many
 * blocks keep an SM busy and where few do. */
constexpr size_t CLUSTER_ROW_STATIC_SHARED = 4096, CLUSTER_ROW_PART_MIN = 2048, CLUSTER_ROW_ITEMS = 99, CLUSTER_ROW_ITEMS_FEW = 49;
constexpr size_t CLUSTER_ROW_FEW = 8; /* blocks to an SM */

struct ClusterRowPlan {
    unsigned blocks, threads, items; /* blocks of a row; items: elements of a thread, odd; 0: the row does not fit */
    bool packed;
    size_t ahead; /* elements between a block's part and the one that it has the L2 fetch: whole vectors of 16 bytes; 0: none */
};

#define CLUSTER_ROW_TUNABLES                                                                                                       \
    {"blocks", "blocks of a cluster: 1, 2, 4, 8 or 16; 0: by shape", PARAM_INT, "0", 0, CLUSTER_BLOCKS_MAX, NULL},                 \
        {"threads", "threads of a block, a multiple of 32; 0: by shape", PARAM_INT, "0", 0, CLUSTER_ROW_THREADS_MAX, NULL}, {      \
        "ahead", "distance in KiB at which a block has the L2 fetch; 0: it does not", PARAM_INT, "4096", 0, 1 << 20, NULL          \
    }

/* arrays: how many arrays of the row a block keeps in shared memory. */
static inline ClusterRowPlan cluster_row_plan(const VariantArgs *args, size_t arrays) {
    const size_t size = discount_is_f64(args) ? sizeof(double) : sizeof(float), each = 16 / size, n = discount_n(args);
    const size_t batch = discount_batch(args), count = batch > 1 && n % each != 0 ? n + each - 1 : n;
    const size_t room = (device_block_shared_max() - CLUSTER_ROW_STATIC_SHARED) / (arrays * size);
    ClusterRowPlan plan = {(unsigned)params_int(args->tunables, "blocks"), (unsigned)params_int(args->tunables, "threads"), 0,
                           false, 0};
    const size_t ahead = (size_t)params_int(args->tunables, "ahead") * 1024 / (arrays * size);
    if (n > 0) plan.ahead = divide_up(ahead, n) * n / each * each; /* the same part of a later row */
    if (plan.blocks == 0) {
        const size_t most = cluster_blocks_max(), sms = device_sm_count();
        plan.blocks = 1;
        /* Several blocks to an SM, so that one loads while another stores; and all SMs at work. */
        while (plan.blocks < most && (divide_up(count, plan.blocks) > room / 4 ||
                                      (plan.blocks * batch < sms && divide_up(count, plan.blocks) > CLUSTER_ROW_PART_MIN)))
            plan.blocks *= 2;
    }
    const size_t share = divide_up(count, plan.blocks);
    if (plan.threads == 0) {
        const bool few = plan.blocks * batch <= CLUSTER_ROW_FEW * device_sm_count();
        const size_t wanted = divide_up(divide_up(share, few ? CLUSTER_ROW_ITEMS_FEW : CLUSTER_ROW_ITEMS), WARP) * WARP;
        plan.threads = wanted > CLUSTER_ROW_THREADS_MAX ? CLUSTER_ROW_THREADS_MAX : wanted < 128 ? 128 : (unsigned)wanted;
    }
    const size_t items = divide_up(share, plan.threads) | 1;
    if (items * plan.threads <= room) plan.items = (unsigned)items;
    return plan;
}

/* A later part, into the L2: the load of the block that has it then is short, and its cluster waits less for it. */
template <typename T>
__device__ void cluster_row_fetch(const T *from, const BulkSpan &span, size_t elements, const ClusterRowPlan &plan) {
    const size_t length = blockDim.x * plan.items, low = (size_t)span.low + plan.ahead;
    if (threadIdx.x == 0 && plan.ahead > 0 && plan.packed && low + length <= elements)
        bulk_prefetch(from + low, (unsigned)(length * sizeof(T)));
}

static inline bool cluster_row_supports(const VariantArgs *args, size_t arrays, char reason[REASON_MAX]) {
    if (!discount_is_uniform(args)) return variant_refuse(reason, "one factor to a row and no reset are supported");
    if (discount_terms(args) > 0) return variant_refuse(reason, "sums of k terms are not supported");
    const ClusterRowPlan plan = cluster_row_plan(args, arrays);
    if (plan.threads % WARP != 0) return variant_refuse(reason, "threads=%u is no multiple of 32", plan.threads);
    if ((plan.blocks & (plan.blocks - 1)) != 0) return variant_refuse(reason, "blocks=%u is no power of two", plan.blocks);
    if (plan.blocks > cluster_blocks_max())
        return variant_refuse(reason, "blocks=%u: a cluster has at most %u here", plan.blocks, cluster_blocks_max());
    if (plan.items == 0)
        return variant_refuse(reason, "n=%zu: a row does not fit the shared memory of %u blocks", discount_n(args), plan.blocks);
    return discount_fits_grid(args, discount_batch(args) * plan.blocks, reason);
}

#endif
