/* Idea: the device-wide scan of discounted_cumsum's cuda_agent_scan with the states of ewm: one launch, one read and one write. A
 * block brings a tile to shared memory, publishes the state of its elements, gets the state of all before it from the agent block,
 * and writes. A mean over a tile without NaN needs no states of threads: its sums are a discounted sum with the factor q, the sums
 * of the weights are known from the position, and what comes in is two numbers, a sum and a weight. Other tiles, and variances,
 * push and merge states as cuda_block_scan does. A variance over finite elements has no division for each of them: a thread's state
 * comes from two passes, and its outputs, once the weights no longer grow, from shares that stay the same. The kinds of tiles mix.
 * Traffic: n reads, n writes; for each tile a state (16 to 80 bytes) written and read by the agent, and a line of 128 bytes. The words
 *   are emptied by a memset before the launch.
 * Rounding: chains of 27 or 55 elements, joined by trees over lanes and warps, and by the agent; doubles for both dtypes.
 * Limits: one series (segments=none).
 * Origin: scan with published aggregates, Merrill and Garland 2016; the affine operator by Blelloch 1990; weighted moments, West 1979. */
#include "_shared.cuh"
#include "common/agent.cuh"
#include "common/discounted_cumsum/tile.cuh"

constexpr unsigned THREADS_MAX = 256;

/* Elements of a thread; odd, so that lanes that read ITEMS elements apart use different banks. */
template <typename T> constexpr unsigned ITEMS = sizeof(T) == 8 ? 27 : 55;

struct EwmTiles {
    unsigned length, ahead;
    bool packed;
};

/* Sums of the weights q^k of so many elements. */
struct TileWeights {
    double lanes[WARP], warps[WARP]; /* of items l elements, of 32 items w elements */
};
static __device__ double weights_of(const EwmCase &rule, size_t count) {
    return -expm1((double)count * rule.log_q) / rule.alpha;
}

/* What comes into a tile without NaN: y = (sum of the tile + q^k sum) / (weights of the tile + q^k weight), k elements in.
 * adjust=false has alpha x in place of x, and no weights. */
struct CarryIn {
    double sum, weight;
    unsigned long long count; /* observations */
};

/* Each kind of state: can a tile with this sum go without states of threads; what comes in from `before`, where first: nothing is
 * before the tile; and the state of a full tile, to publish. x: the first element, total: the sum of the tile. */
static __device__ bool is_regular(const EwmPlain &, const EwmCase &rule, double) {
    return rule.q > 0;
}
static __device__ CarryIn carry_in(const EwmPlain &before, const EwmCase &rule, size_t low, bool first, double x) {
    if (first) return {rule.adjust ? 0 : x, 0, 0};
    return {before.map.b, rule.adjust ? weights_of(rule, low) : 0, low};
}
static __device__ EwmPlain tile_state(const EwmPlain &, const EwmCase &rule, double decay, unsigned, bool first, double x,
                                      double total) {
    if (rule.adjust) return {{first ? affine_cut<double>() : decay, total}};
    return {{first ? affine_cut<double>() : decay, rule.alpha * total + (first ? decay * x : 0)}};
}

static __device__ bool is_regular(const EwmDecayed<WeightedSum> &, const EwmCase &rule, double total) {
    return rule.q > 0 && rule.adjust && isfinite(total);
}
static __device__ CarryIn carry_in(const EwmDecayed<WeightedSum> &before, const EwmCase &, size_t, bool first, double) {
    if (first) return {0, 0, 0};
    return {before.bag.sum * before.gap, before.bag.weight * before.gap, before.count};
}
static __device__ EwmDecayed<WeightedSum> tile_state(const EwmDecayed<WeightedSum> &, const EwmCase &rule, double decay,
                                                     unsigned count, bool first, double, double total) {
    EwmDecayed<WeightedSum> state;
    state.bag = {total, weights_of(rule, count)};
    state.carried = first ? affine_cut<double>() : decay;
    state.count = count;
    return state;
}

/* The first observation after a gap weighs more: the sum that comes in makes up for it. */
static __device__ bool is_regular(const EwmRestarted<WeightedSum> &, const EwmCase &rule, double total) {
    return rule.q > 0 && isfinite(total);
}
static __device__ CarryIn carry_in(const EwmRestarted<WeightedSum> &before, const EwmCase &rule, size_t, bool first, double x) {
    if (first || before.count == 0) return {x, 0, 0};
    WeightedSum all = before.rest;
    if (before.share > EWM_NEGLIGIBLE || (before.share > 0 && !isfinite(before.first))) all.add(before.first, before.share);
    const double y = all.finish(false);
    if (before.gap == 1) return {y, 0, before.count};
    const double decay = affine_product(before.gap, rule.q), own = rule.alpha / (decay + rule.alpha);
    const double carried = decay / (decay + rule.alpha) * y + (own - rule.alpha) * x;
    return {carried / rule.q, 0, before.count};
}
static __device__ EwmRestarted<WeightedSum> tile_state(const EwmRestarted<WeightedSum> &, const EwmCase &rule, double decay,
                                                       unsigned count, bool first, double x, double total) {
    EwmRestarted<WeightedSum> state;
    state.first = x;
    state.share = affine_power(rule.q, count - 1);
    state.rest = {rule.alpha * (total - state.share * x), -expm1((count - 1) * rule.log_q)};
    state.lead = first ? affine_cut<double>() : rule.q;
    state.alpha = rule.alpha;
    state.count = count;
    (void)decay;
    return state;
}

/* Variances: always by states of threads. */
template <typename State> __device__ bool is_regular(const State &, const EwmCase &, double) {
    return false;
}
template <typename State> __device__ CarryIn carry_in(const State &, const EwmCase &, size_t, bool, double) {
    return {};
}
template <typename State> __device__ State tile_state(const State &state, const EwmCase &, double, unsigned, bool, double, double) {
    return state;
}

/* In place, for a thread's elements: outputs of a mean from what precedes them. */
template <typename T>
__device__ void write_means(const EwmCase &rule, T *own, unsigned items, double sum, double weight, unsigned long long count) {
    const bool counted = count + 1 >= rule.min_periods;
    if (rule.adjust && counted && fabs(weight * rule.alpha - 1) < 0x1p-50) { /* the weights no longer grow: no division */
#pragma unroll
        for (unsigned k = 0; k < items; k++) {
            sum = rule.q * sum + (double)own[k];
            own[k] = (T)(sum * rule.alpha);
        }
        return;
    }
    if (!rule.adjust && counted) {
#pragma unroll
        for (unsigned k = 0; k < items; k++) {
            sum = rule.q * sum + rule.alpha * (double)own[k];
            own[k] = (T)sum;
        }
        return;
    }
#pragma unroll 3
    for (unsigned k = 0; k < items; k++) {
        sum = rule.q * sum + (rule.adjust ? 1 : rule.alpha) * (double)own[k];
        weight = rule.q * weight + 1;
        own[k] = (T)(count + k + 1 < rule.min_periods ? rule.incomplete : rule.adjust ? sum / weight : sum);
    }
}

/* The weights of a thread's elements, and q to the number of them; all 0 if an element is missing or not finite. */
struct ThreadWeights {
    double sum, decay;
};

/* The state of such elements of a variance by two passes, without a division for each. first: nothing is before them. Else: no. */
template <typename T, typename State>
__device__ bool push_finite(const EwmCase &, const ThreadWeights &, const T *, unsigned, bool, State *) {
    return false;
}
template <typename T>
__device__ bool push_finite(const EwmCase &rule, const ThreadWeights &weights, const T *own, unsigned items, bool first,
                            EwmDecayed<WeightedMoments> *state) {
    if (!rule.adjust || rule.alpha > 0.5 || weights.sum == 0) return false;
    const double share = 1 / weights.sum;
    double sum = 0, rest = 0, squares = 0;
#pragma unroll 9
    for (unsigned k = 0; k < items; k++) sum = rule.q * sum + (double)own[k];
    const double mean = sum * share;
#pragma unroll 9
    for (unsigned k = 0; k < items; k++) {
        const double delta = (double)own[k] - mean;
        rest = rule.q * rest + delta;
        squares = rule.q * squares + delta * delta;
    }
    const double pairs = weights.sum * (weights.sum - 1) / (1 + rule.q); /* sum of q^j q^k over j < k */
    const double excess = rest * (rest * share);                         /* of squares about a mean that rounding has moved */
    if (isfinite(squares)) squares = excess < squares ? squares - excess : 0;
    state->bag = {weights.sum, pairs, mean + rest * share, squares};
    state->carried = first ? affine_cut<double>() : weights.decay;
    state->count = items;
    return true;
}

/* Outputs where the weights no longer grow: an element then has the share alpha, and no division is needed. Else: no. */
template <typename T, typename State> __device__ bool write_settled(const EwmCase &, T *, unsigned, const State &) {
    return false;
}
template <typename T>
__device__ bool write_settled(const EwmCase &rule, T *own, unsigned items, const EwmDecayed<WeightedMoments> &before) {
    const double scale = before.bag.weight / (2 * before.bag.pairs);
    if (fabs(before.bag.weight * rule.alpha - 1) > 0x1p-50 || before.gap != 1 || rule.alpha > 0.5) return false;
    if (before.count + 1 < rule.min_periods) return false;
    double mean = before.bag.mean, squares = before.bag.squares;
#pragma unroll 9
    for (unsigned k = 0; k < items; k++) {
        const double delta = (double)own[k] - mean;
        mean = rule.alpha * delta + mean;
        squares = rule.q * (delta * delta + squares);
        own[k] = (T)(rule.agg == EWM_STD ? sqrt(squares * scale) : squares * scale);
    }
    return true;
}

/* A tile by the states of its threads, as in cuda_block_scan. */
template <typename T, typename State>
__device__ __noinline__ void irregular_tile(const EwmView<T> &view, const AgentTiles<State> &tiles, size_t index,
                                            const ThreadWeights &weights, T *own, unsigned items, State *shared) {
    const size_t first = (index * blockDim.x + threadIdx.x) * items;
    State state, all;
    if (!push_finite(view.rule, weights, own, items, first == 0, &state)) {
#pragma unroll 1
        for (unsigned k = 0; k < items; k++)
            if (first + k < view.rule.n) state.push(view.rule, (double)own[k], first + k == 0);
    }
    const State inner = block_scan_exclusive<true>(state, shared, &all);
    if (threadIdx.x == 0) tiles.publish_total(index, all);
    __syncthreads();
    if (threadIdx.x == 0) shared[0] = index == 0 ? State() : tiles.before(index);
    __syncthreads();
    state = shared[0];
    state.merge(inner);
    if (weights.sum > 0 && write_settled(view.rule, own, items, state)) return;
#pragma unroll 1
    for (unsigned k = 0; k < items && first + k < view.rule.n; k++) {
        state.push(view.rule, (double)own[k], first + k == 0);
        own[k] = (T)state.output(view.rule, first + k);
    }
}

template <typename T, typename State>
static __global__ void __launch_bounds__(THREADS_MAX, 4)
    agent_kernel(EwmView<T> view, EwmTiles plan, unsigned *started, AgentTiles<State> tiles) {
    __shared__ unsigned number;
    __shared__ BulkBarrier barrier;
    __shared__ TilePowers powers;
    __shared__ TileWeights weights;
    __shared__ double warp_totals[WARP];
    __shared__ CarryIn carry;
    __shared__ unsigned long long states[WARP * sizeof(State) / sizeof(unsigned long long)]; /* a state for each warp */
    __shared__ AgentChain<State> chain;
    DYN_SHARED(T, tile);
    const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const EwmCase &rule = view.rule;
    if (threadIdx.x == 0) {
        number = atomicAdd(started, 1u) + 1; /* emptied, it is -1 */
        chain.group = 0;
    }
    __syncthreads();
    if (number == 0) {
        agent_run(tiles, &chain);
        return;
    }
    const size_t index = number - 1, low = index * plan.length;
    const BulkSpan span = {(long long)low, (long long)low, (long long)(low + plan.length < rule.n ? low + plan.length : rule.n)};
    bulk_load_begin(tile, plan.length, view.x, span, plan.packed, &barrier);
    if (threadIdx.x == 0 && plan.ahead > 0 && plan.packed && index + plan.ahead + 1 < tiles.count)
        bulk_prefetch(view.x + low + (size_t)plan.ahead * plan.length, plan.length * (unsigned)sizeof(T));
    tile_powers(rule.q, ITEMS<T>, &powers);
    if (warp == 0) weights.lanes[lane] = weights_of(rule, ITEMS<T> * lane);
    if (warp == (blockDim.x > WARP ? 1 : 0)) weights.warps[lane] = weights_of(rule, ITEMS<T> * WARP * lane);
    bulk_load_wait(&barrier);
    T *const own = tile + threadIdx.x * ITEMS<T>;
    double sum = (double)own[0];
#pragma unroll
    for (unsigned k = 1; k < ITEMS<T>; k++) sum = rule.q * sum + (double)own[k];
    const TileBefore before = tile_scan(sum, powers, warp_totals);
    if (is_regular(State(), rule, before.total)) {
        if (threadIdx.x == 0) {
            const double x = (double)tile[0];
            tiles.publish_total(
                index, tile_state(State(), rule, powers.warps[blockDim.x / WARP], plan.length, index == 0, x, before.total));
            carry = carry_in(index == 0 ? State() : tiles.before(index), rule, low, index == 0, x);
        }
        __syncthreads();
        const double inner = weights.lanes[lane] + powers.lanes[lane] * weights.warps[warp];
        const double scale = rule.adjust ? 1 : rule.alpha;
        write_means(rule, own, ITEMS<T>, scale * before.sum + before.weight * carry.sum, inner + before.weight * carry.weight,
                    carry.count + threadIdx.x * ITEMS<T>);
    } else {
        const bool finite = isfinite(before.total) && low + plan.length <= rule.n;
        const ThreadWeights own_weights = {finite ? weights.lanes[1] : 0, finite ? powers.lanes[1] : 0};
        irregular_tile(view, tiles, index, own_weights, own, ITEMS<T>, (State *)states);
    }
    bulk_store_warp(view.y, tile, warp * WARP * ITEMS<T>, WARP * ITEMS<T>, span, plan.packed);
}

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block, a multiple of 32", PARAM_INT, "192", 32, THREADS_MAX, NULL},
    {"ahead", "distance in tiles at which a block has the L2 fetch; 0: it does not", PARAM_INT, "96", 0, 4096, NULL},
    {},
};

static unsigned threads_of(const VariantArgs *args) {
    return (unsigned)params_int(args->tunables, "threads");
}
static unsigned length_of(const VariantArgs *args) {
    return threads_of(args) * (args->problem->dtype == DTYPE_F64 ? ITEMS<double> : ITEMS<float>);
}
static size_t tiles_of(const VariantArgs *args) {
    return divide_up(array_count(&args->in[0]), (size_t)length_of(args));
}

/* Scratch: what the tiles exchange, the counter of blocks. */
static size_t scratch_bytes(const VariantArgs *args) {
    const EwmCase rule = ewm_case(args);
    return tiles_of(args) * (sizeof(PublishedLine) + ewm_state_bytes(&rule)) + sizeof(unsigned);
}

template <typename T, typename State> static Status launch_scan(const VariantArgs *args) {
    const EwmView<T> view = ewm_view<T>(args);
    const EwmTiles plan = {length_of(args), (unsigned)params_int(args->tunables, "ahead"),
                           ((uintptr_t)view.x | (uintptr_t)view.y) % 16 == 0};
    PublishedLine *const lines = (PublishedLine *)args->scratch;
    const AgentTiles<State> tiles = {lines, (PublishedWord *)(lines + tiles_of(args)), tiles_of(args)};
    unsigned *started = (unsigned *)(tiles.totals + tiles.count * tiles.WORDS);
    TRY_CUDA(cudaMemsetAsync(args->scratch, PUBLISHED_EMPTY_BYTE, scratch_bytes(args), (cudaStream_t)args->stream));
    const LaunchShape shape = {dim3((unsigned)tiles.count + 1), dim3(threads_of(args)), plan.length * sizeof(T), args->stream};
    TRY(bulk_allow_shared(agent_kernel<T, State>, shape.shared_bytes));
    return launch(agent_kernel<T, State>, shape, view, plan, started, tiles);
}

template <typename T> static Status run_as(const VariantArgs *args) {
    const EwmCase rule = ewm_case(args);
    switch (ewm_state_kind(&rule)) {
    case EWM_PLAIN:
        return launch_scan<T, EwmPlain>(args);
    case EWM_DECAYED_SUM:
        return launch_scan<T, EwmDecayed<WeightedSum>>(args);
    case EWM_DECAYED_MOMENTS:
        return launch_scan<T, EwmDecayed<WeightedMoments>>(args);
    case EWM_RESTARTED_SUM:
        return launch_scan<T, EwmRestarted<WeightedSum>>(args);
    default:
        return launch_scan<T, EwmRestarted<WeightedMoments>>(args);
    }
}

static Status run(const VariantArgs *args) {
    if (array_count(&args->in[0]) == 0) return STATUS_OK;
    return args->problem->dtype == DTYPE_F64 ? run_as<double>(args) : run_as<float>(args);
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (params_choice(&args->problem->params, "segments") != 0)
        return variant_refuse(reason, "segments=mask: one series is supported; cuda_block_scan takes several");
    if (threads_of(args) % WARP != 0) return variant_refuse(reason, "threads=%u is no multiple of 32", threads_of(args));
    return ewm_fits_grid(args, length_of(args), reason);
}

RUNGS_VARIANT(ewm, cuda_agent_scan) = {
    .backend = BACKEND_CUDA,
    .summary = "one launch: tiles publish states, an agent block scans them and publishes what precedes each tile",
    .origin = "Merrill and Garland 2016; Blelloch 1990; West 1979",
    .tunables = TUNABLES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
