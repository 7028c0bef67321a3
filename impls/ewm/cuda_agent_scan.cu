/* Idea: the device-wide scan of discounted_cumsum's cuda_agent_scan with the states of ewm: one launch, one read and one write. A
 * block brings a tile to shared memory, publishes the state of its elements, gets the state of all before it from the agent block,
 * and writes. A mean over a tile without NaN needs no states of threads: its sums are a discounted sum with the factor q, the sums
 * of the weights are known from the position, and what comes in is two numbers, a sum and a weight. With nan=decay and adjust=true
 * it publishes its sum alone. Other tiles, and variances, push and merge states as cuda_block_scan does. A variance over finite
 * elements has no division for each of them: a thread's state comes from two passes, and its outputs, once the weights no longer
 * grow, from shares that stay the same. The kinds of tiles mix.
 * Progress: tiles follow blockIdx, and CUDA promises no order in which blocks start. A block publishes its state before it waits,
 *   and no wait is endless: a block that has polled long, the agent or a tile's, does the agent's work for what it misses, and
 *   takes from the elements the states that are not there. So every block ends, whichever others run beside it, and even alone.
 * Traffic: n reads, n writes; for each tile a number or a state (8 to 88 bytes) written and read by the agent, and a line of 128
 *   bytes. The words are emptied by a memset before the launch.
 * Rounding: chains of 27 or 55 elements, joined by trees over lanes and warps, and by the agent; doubles for both dtypes.
 * Limits: one series (segments=none).
 * Origin: scan with published aggregates, Merrill and Garland 2016; the affine operator by Blelloch 1990; weighted moments, West 1979. */
#include "_tile_means.cuh"
#include "common/agent.cuh"

constexpr unsigned THREADS_MAX = 256;

/* Elements of a thread; odd, so that lanes that read ITEMS elements apart use different banks. */
template <typename T> constexpr unsigned ITEMS = sizeof(T) == 8 ? 27 : 55;

/* Such variances take two passes over a thread's elements, all inlined: of THREADS_MAX threads 3 blocks to an SM leave them 80
 * registers each. 4 leave 64. */
template <typename State> constexpr bool TWO_PASSES = false;
template <> constexpr bool TWO_PASSES<EwmDecayed<WeightedMoments>> = true;
template <typename State> constexpr unsigned BLOCKS = TWO_PASSES<State> ? 3 : 4;

template <> constexpr bool AGENT_BY_SUMS<EwmDecayed<WeightedSum>> = true;

/* What the agent makes of sums of tiles. */
template <typename State> struct AgentRule {
    const EwmCase &rule;
    unsigned length;
    FullTile run; /* the tiles of lanes 0 .. lane as one */
    double steps[AGENT_STEPS];

    __device__ AgentRule(const EwmCase &given, unsigned tile_length)
        : rule(given), length(tile_length), run(full_tile(given, tile_length * (threadIdx.x % WARP + 1))) {
#pragma unroll
        for (unsigned s = 0; s < AGENT_STEPS; s++) steps[s] = tile_power(given.q, length << s);
    }
    __device__ State of_tile(double sum) const {
        return tile_state(State(), rule, full_tile(rule, length), false, 0, sum);
    }
    __device__ State of_run(double sum) const {
        return tile_state(State(), rule, run, false, 0, sum);
    }
};

struct EwmTiles {
    unsigned length, ahead;
    bool packed;
};

/* Sums of the weights q^k of so many elements. */
struct TileWeights {
    double lanes[WARP], warps[WARP]; /* of items l elements, of 32 items w elements */
    double tile;
};

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

/* The state of a thread's elements, from element `first` of the series on. */
template <typename T, typename State>
__device__ State thread_state(const EwmCase &rule, const ThreadWeights &weights, const T *own, size_t first) {
    State state = State();
    if (push_finite(rule, weights, own, ITEMS<T>, first == 0, &state)) return state;
#pragma unroll 1
    for (unsigned k = 0; k < ITEMS<T>; k++)
        if (first + k < rule.n) state.push(rule, (double)own[k], first + k == 0);
    return state;
}

/* What the threads of a tile's block share. */
template <typename State> struct EwmTileShared {
    BulkBarrier barrier;
    TilePowers powers;
    TileWeights weights;
    double warp_totals[WARP];
    CarryIn carry;
    bool known;
    unsigned long long states[WARP * sizeof(State) / sizeof(unsigned long long)]; /* a state for each warp */
};

static __device__ inline size_t tile_of_block() {
    return blockIdx.x - 1; /* block 0 is the agent */
}

/* A tile by the states of its threads, as in cuda_block_scan. False if it has polled long: nothing is written then. */
template <typename T, typename State>
static __device__ __forceinline__ bool irregular_tile(const EwmView<T> &view, const AgentTiles<State> &tiles,
                                                      const ThreadWeights &weights, T *own, EwmTileShared<State> *shared) {
    const size_t index = tile_of_block(), first = (index * blockDim.x + threadIdx.x) * ITEMS<T>;
    State *const states = (State *)shared->states;
    State all;
    const State inner = block_scan_exclusive<true>(thread_state<T, State>(view.rule, weights, own, first), states, &all);
    if (threadIdx.x == 0) tiles.publish_total(index, all);
    __syncthreads();
    if (threadIdx.x == 0) {
        State before = State();
        shared->known = index == 0 || tiles.before(index, &before);
        states[0] = before;
    }
    __syncthreads();
    if (!shared->known) return false;
    State state = states[0];
    state.merge(inner);
    if (weights.sum > 0 && write_settled(view.rule, own, ITEMS<T>, state)) return true;
#pragma unroll 1
    for (unsigned k = 0; k < ITEMS<T> && first + k < view.rule.n; k++) {
        state.push(view.rule, (double)own[k], first + k == 0);
        own[k] = (T)state.output(view.rule, first + k);
    }
    return true;
}
/* Apart, where it is rare: its registers would cost the others theirs. */
template <typename T, typename State>
static __device__ __noinline__ bool irregular_tile_apart(const EwmView<T> &view, const AgentTiles<State> &tiles,
                                                         const ThreadWeights &weights, T *own, EwmTileShared<State> *shared) {
    return irregular_tile(view, tiles, weights, own, shared);
}

/* One number, where it says all. The first tile is a cut. */
template <typename State>
static __device__ __forceinline__ void publish_regular(const AgentTiles<State> &tiles, const EwmCase &rule, const FullTile &full,
                                                       size_t index, double x, double total) {
    if (AGENT_BY_SUMS<State> && index > 0 && isfinite(total))
        tiles.publish_sum(index, total);
    else
        tiles.publish_total(index, tile_state(State(), rule, full, index == 0, x, total));
}

/* A tile that lies in shared memory: its outputs in place. False if it has polled long: nothing is written then. */
template <typename T, typename State>
static __device__ __forceinline__ bool tile_outputs(const EwmView<T> &view, const EwmTiles &plan, const AgentTiles<State> &tiles,
                                                    T *tile, EwmTileShared<State> *shared) {
    const EwmCase &rule = view.rule;
    const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const size_t index = tile_of_block(), low = index * plan.length;
    T *const own = tile + threadIdx.x * ITEMS<T>;
    double sum = (double)own[0];
#pragma unroll
    for (unsigned k = 1; k < ITEMS<T>; k++) sum = rule.q * sum + (double)own[k];
    const TileBefore before = tile_scan(sum, shared->powers, shared->warp_totals);
    if (!is_regular(State(), rule, before.total)) {
        const bool finite = isfinite(before.total) && low + plan.length <= rule.n;
        const ThreadWeights weights = {finite ? shared->weights.lanes[1] : 0, finite ? shared->powers.lanes[1] : 0};
        return TWO_PASSES<State> ? irregular_tile(view, tiles, weights, own, shared)
                                 : irregular_tile_apart(view, tiles, weights, own, shared);
    }
    if (threadIdx.x == 0) {
        const double x = (double)tile[0];
        const FullTile full = {shared->powers.warps[blockDim.x / WARP], shared->weights.tile, plan.length};
        publish_regular(tiles, rule, full, index, x, before.total);
        State state = State();
        shared->known = index == 0 || tiles.before(index, &state);
        shared->carry = carry_in(state, rule, low, index == 0, x);
    }
    __syncthreads();
    if (!shared->known) return false;
    const CarryIn carry = shared->carry;
    const double inner = shared->weights.lanes[lane] + shared->powers.lanes[lane] * shared->weights.warps[warp];
    const double scale = rule.adjust ? 1 : rule.alpha;
    write_means(rule, own, ITEMS<T>, scale * before.sum + before.weight * carry.sum, inner + before.weight * carry.weight,
                carry.count + threadIdx.x * ITEMS<T>);
    return true;
}

/* By a warp: publishes the total of a full tile from its elements, by the operations of the tile's own block. */
template <typename T, typename State>
static __device__ __noinline__ void publish_again(const EwmView<T> &view, const EwmTiles &plan, const AgentTiles<State> &tiles,
                                                  size_t index) {
    const EwmCase &rule = view.rule;
    const unsigned lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    const size_t low = index * plan.length;
    double own = 0; /* lane w gets the sum of warp w */
    for (unsigned warp = 0; warp < warps; warp++) {
        const T *const x = view.x + low + (warp * WARP + lane) * ITEMS<T>;
        double sum = (double)x[0];
#pragma unroll 1
        for (unsigned k = 1; k < ITEMS<T>; k++) sum = rule.q * sum + (double)x[k];
        sum = __shfl_sync((unsigned)ALL_LANES, tile_lanes_sum(sum, rule.q, ITEMS<T>), WARP - 1);
        if (lane == warp) own = sum;
    }
    const double total = __shfl_sync((unsigned)ALL_LANES, tile_lanes_sum(own, rule.q, ITEMS<T> * WARP), warps - 1);
    if (is_regular(State(), rule, total)) {
        const FullTile full = full_tile(rule, plan.length);
        if (lane == 0) publish_regular(tiles, rule, full, index, (double)view.x[low], total);
        return;
    }
    const bool finite = isfinite(total);
    const ThreadWeights weights = {finite ? weights_of(rule, ITEMS<T>) : 0, finite ? tile_power(rule.q, ITEMS<T>) : 0};
    State of_warp = State();
    for (unsigned warp = 0; warp < warps; warp++) {
        const size_t first = low + (warp * WARP + lane) * ITEMS<T>;
        const State state = warp_scan<true>(thread_state<T, State>(rule, weights, view.x + first, first));
        const State all = agent_broadcast(state, WARP - 1);
        if (lane == warp) of_warp = all;
    }
    const State all = agent_broadcast(warp_scan<true>(of_warp), warps - 1);
    if (lane == 0) tiles.publish_total(index, all);
}
/* By all threads of a block that has polled long: what precedes tiles 1 .. `tile`. */
template <typename T, typename State>
static __device__ __noinline__ void befores_again(const EwmView<T> &view, const EwmTiles &plan, const AgentTiles<State> &tiles,
                                                  size_t tile) {
    if (threadIdx.x < WARP)
        agent_again(tiles, AgentRule<State>(view.rule, plan.length), tile,
                    [&](size_t missing) { publish_again<T, State>(view, plan, tiles, missing); });
    __syncthreads();
}

template <typename T>
static __device__ __forceinline__ void tile_store(const EwmView<T> &view, const EwmTiles &plan, const BulkSpan &span, T *tile) {
    bulk_store_warp(view.y, tile, threadIdx.x / WARP * WARP * ITEMS<T>, WARP * ITEMS<T>, span, plan.packed);
}
static __device__ inline BulkSpan tile_span_of(const EwmTiles &plan, size_t n) {
    const size_t low = tile_of_block() * plan.length;
    return {(long long)low, (long long)low, (long long)(low + plan.length < n ? low + plan.length : n)};
}
template <typename T, typename State>
static __device__ __noinline__ void tile_again(const EwmView<T> &view, const EwmTiles &plan, const AgentTiles<State> &tiles,
                                               T *tile, EwmTileShared<State> *shared) {
    befores_again(view, plan, tiles, tile_of_block());
    (void)tile_outputs(view, plan, tiles, tile, shared); /* finds at once what it waits for */
    tile_store(view, plan, tile_span_of(plan, view.rule.n), tile);
}

template <typename T, typename State>
static __global__ void __launch_bounds__(THREADS_MAX, BLOCKS<State>)
    agent_kernel(const __grid_constant__ EwmView<T> view, const __grid_constant__ EwmTiles plan,
                 const __grid_constant__ AgentTiles<State> tiles) {
    __shared__ EwmTileShared<State> shared;
    __shared__ AgentChain<State> chain;
    DYN_SHARED(T, tile);
    const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const EwmCase &rule = view.rule;
    if (blockIdx.x == 0) {
        if (threadIdx.x == 0) chain.group = 0;
        __syncthreads();
        if (__syncthreads_or(!agent_run(tiles, AgentRule<State>(rule, plan.length), &chain)))
            befores_again(view, plan, tiles, tiles.count - 1);
        return;
    }
    const BulkSpan span = tile_span_of(plan, rule.n);
    bulk_load_begin(tile, plan.length, view.x, span, plan.packed, &shared.barrier);
    if (threadIdx.x == 0 && plan.ahead > 0 && plan.packed && tile_of_block() + plan.ahead + 1 < tiles.count)
        bulk_prefetch(view.x + span.low + (size_t)plan.ahead * plan.length, plan.length * (unsigned)sizeof(T));
    tile_powers(rule.q, ITEMS<T>, &shared.powers);
    if (warp == 0) shared.weights.lanes[lane] = weights_of(rule, ITEMS<T> * lane);
    if (warp == (blockDim.x > WARP ? 1 : 0)) shared.weights.warps[lane] = weights_of(rule, ITEMS<T> * WARP * lane);
    if (threadIdx.x == blockDim.x - 1) shared.weights.tile = weights_of(rule, plan.length);
    bulk_load_wait(&shared.barrier);
    if (!tile_outputs(view, plan, tiles, tile, &shared)) return tile_again(view, plan, tiles, tile, &shared);
    tile_store(view, plan, span, tile);
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

/* Scratch: what the tiles exchange. */
static size_t scratch_bytes(const VariantArgs *args) {
    const EwmCase rule = ewm_case(args);
    return tiles_of(args) * (sizeof(PublishedLine) + ewm_state_bytes(&rule) + sizeof(PublishedWord));
}

template <typename T, typename State> static Status launch_scan(const VariantArgs *args) {
    const EwmView<T> view = ewm_view<T>(args);
    const EwmTiles plan = {length_of(args), (unsigned)params_int(args->tunables, "ahead"),
                           ((uintptr_t)view.x | (uintptr_t)view.y) % 16 == 0};
    PublishedLine *const lines = (PublishedLine *)args->scratch;
    const AgentTiles<State> tiles = {lines, (PublishedWord *)(lines + tiles_of(args)), tiles_of(args)};
    TRY_CUDA(cudaMemsetAsync(args->scratch, PUBLISHED_EMPTY_BYTE, scratch_bytes(args), (cudaStream_t)args->stream));
    const LaunchShape shape = {dim3((unsigned)tiles.count + 1), dim3(threads_of(args)), plan.length * sizeof(T), args->stream};
    TRY(bulk_allow_shared(agent_kernel<T, State>, shape.shared_bytes));
    return launch(agent_kernel<T, State>, shape, view, plan, tiles);
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
