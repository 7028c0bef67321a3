/* cluster_row.cuh - how the cluster_row variants of discounted_cumsum and of its gradient deal rows to clusters: a row to the
 * blocks of one cluster, each of which has an equal part of it in shared memory. */
#pragma once

#include "common/cluster.cuh"
#include "common/discounted_cumsum/tile.cuh"

constexpr unsigned CLUSTER_ROW_THREADS_MAX = 1024;
/* Static shared memory of these kernels, at most; elements of a block down to which a row is cut. */
constexpr size_t CLUSTER_ROW_STATIC_SHARED = 4096, CLUSTER_ROW_PART_MIN = 2048;
/* Very many rows: blocks to an SM from which on parts are large; distance of the L2 fetch then. */
constexpr size_t CLUSTER_ROW_MANY = 32, CLUSTER_ROW_AHEAD_KIB = 8192;

struct ClusterRowPlan {
    unsigned blocks, threads, items; /* blocks of a row; items: elements of a thread, odd; 0: the row does not fit */
    bool packed;
    size_t ahead; /* elements between a block's part and the one that it has the L2 fetch: whole vectors of 16 bytes; 0: none */
};

#define CLUSTER_ROW_TUNABLES                                                                                                       \
    {"blocks", "blocks of a cluster: 1, 2, 4, 8 or 16; 0: by shape", PARAM_INT, "0", 0, CLUSTER_BLOCKS_MAX, NULL},                 \
        {"threads", "threads of a block, a multiple of 32; 0: by shape", PARAM_INT, "0", 0, CLUSTER_ROW_THREADS_MAX, NULL}, {      \
        "ahead", "distance in KiB at which a block has the L2 fetch; 0: it does not; -1: by shape", PARAM_INT, "-1", -1, 1 << 20,  \
            NULL                                                                                                                   \
    }

/* By shape. Fewer elements to a thread where few blocks keep an SM busy: two arrays of the row, few rows, or (large) two blocks to
 * an SM. share: elements of a block. */
static inline unsigned cluster_row_threads(size_t arrays, size_t blocks, size_t batch, size_t share, bool large) {
    const size_t few = blocks > 1 ? 64 : 8;
    size_t items = 99;
    if (arrays > 1 || blocks * batch <= few * device_sm_count()) items = 49;
    if (arrays == 1 && large) items = 113;
    const size_t wanted = divide_up(divide_up(share, items), WARP) * WARP;
    return wanted > CLUSTER_ROW_THREADS_MAX ? CLUSTER_ROW_THREADS_MAX : wanted < 128 ? 128 : (unsigned)wanted;
}

/* By shape. room: elements of a row that a block has shared memory for. */
static inline unsigned cluster_row_blocks(size_t batch, size_t count, size_t room, bool *large) {
    const size_t most = cluster_blocks_max(), sms = device_sm_count();
    size_t blocks = 1, part = count;
    for (; blocks < most; blocks *= 2, part = divide_up(count, blocks)) {
        const bool fits = part <= room / 4;                                              /* one block loads while another stores */
        const bool busy = blocks * batch >= sms || part <= CLUSTER_ROW_PART_MIN;         /* all SMs at work */
        const bool wide = blocks * batch >= 8 * sms || part <= 4 * CLUSTER_ROW_PART_MIN; /* of a row that is cut anyway */
        if (fits && busy && (blocks == 1 || wide)) break;
    }
    /* A row that is cut less waits less for the slowest load; what two blocks to an SM leave idle, fetching ahead makes up for. */
    *large = blocks > 1 && blocks / 2 * batch >= CLUSTER_ROW_MANY * sms && 2 * part > room / 3 && 2 * part <= room / 2;
    return (unsigned)(*large ? blocks / 2 : blocks);
}

/* arrays: how many arrays of the row a block keeps in shared memory. */
static inline ClusterRowPlan cluster_row_plan(const VariantArgs *args, size_t arrays) {
    const size_t size = discount_is_f64(args) ? sizeof(double) : sizeof(float), each = 16 / size, n = discount_n(args);
    const size_t batch = discount_batch(args), count = batch > 1 && n % each != 0 ? n + each - 1 : n;
    const size_t room = (device_block_shared_max() - CLUSTER_ROW_STATIC_SHARED) / (arrays * size);
    ClusterRowPlan plan = {(unsigned)params_int(args->tunables, "blocks"), (unsigned)params_int(args->tunables, "threads"), 0,
                           false, 0};
    long long ahead = params_int(args->tunables, "ahead");
    bool large = false;
    if (plan.blocks == 0) plan.blocks = cluster_row_blocks(batch, count, room, &large);
    if (ahead < 0) ahead = large ? (long long)CLUSTER_ROW_AHEAD_KIB : 0;
    const size_t share = divide_up(count, plan.blocks), distance = (size_t)ahead * 1024 / (arrays * size);
    if (n > 0) plan.ahead = divide_up(distance, n) * n / each * each; /* the same part of a later row */
    if (plan.threads == 0) plan.threads = cluster_row_threads(arrays, plan.blocks, batch, share, large);
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
