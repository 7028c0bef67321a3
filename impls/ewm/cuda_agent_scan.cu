/* Idea: the device-wide scan of discounted_cumsum's cuda_agent_scan with the states of ewm: one launch, one read and one write. A
 * block brings a tile to shared memory, publishes what its elements add up to, gets what precedes them from the agent block, and
 * writes. Numbers, not states, do so far as elements are finite: weights are known from the position, so a mean takes a discounted
 * sum with the factor q, and a variance a mean and the squares about it. Where weights no longer grow, an output divides by
 * nothing. Tiles with an infinity or few observations, and variances with adjust=false, push and merge states as cuda_block_scan
 * does; the kinds of tiles mix, and numbers do again once weights are not small after a gap. Progress: tiles follow blockIdx, and
 * CUDA promises no order in which blocks start. A block publishes its total before it waits, and no wait is endless: a block that
 * has polled long, the agent or a tile's, does the agent's work for what it misses, and takes from the elements the totals that are
 * not there. So every block ends, whichever others run beside it, and even alone.
 * Traffic: n reads, n writes; for each tile a total (24 to 96 bytes) written and read by the agent, and a line of 128 bytes. The
 *   words are emptied by a memset before the launch.
 * Rounding: chains of 27 to 63 elements, for means in the dtype (f16 and bf16: 126, in float); joined by trees over lanes and warps, and by the agent, in double.
 * Limits: one series (segments=none).
 * Origin: scan with published aggregates, Merrill and Garland 2016; the affine operator by Blelloch 1990; weighted moments, West 1979
 *   and Chan, Golub and LeVeque 1979. */
#include "_tile_moments.cuh"

/* Elements of a thread; odd (a mean's of two bytes: twice an odd number), so that lanes that read ITEMS elements apart use
 * different banks. Threads of a block, by default and at most; blocks of so many to an SM. */
template <typename T, typename State>
constexpr unsigned ITEMS = sizeof(T) == 8   ? (unsigned)Kind<State>::ITEMS_F64
                           : sizeof(T) == 4 ? (unsigned)Kind<State>::ITEMS_F32
                                            : (unsigned)Kind<State>::ITEMS_NARROW;
template <typename T, typename State>
constexpr unsigned THREADS = sizeof(T) == 8 ? (unsigned)Kind<State>::THREADS_F64 : (unsigned)Kind<State>::THREADS_F32;
template <typename T, typename State>
constexpr unsigned BLOCKS = sizeof(T) == 8 ? (unsigned)Kind<State>::BLOCKS_F64 : (unsigned)Kind<State>::BLOCKS_F32;

template <typename State> using Tiles = AgentTiles<typename Kind<State>::Numbers, typename Kind<State>::More, State>;

/* What the threads of a block share. */
template <typename State> struct EwmShared {
    BulkBarrier barrier;
    typename Kind<State>::Shared tile;
    typename Kind<State>::Carry carry;
    bool known;
    unsigned long long states[WARP * sizeof(State) / sizeof(unsigned long long)]; /* a state for each warp */
};

static __device__ inline size_t tile_of_block() {
    return blockIdx.x - 1; /* block 0 is the agent */
}

/* The state of a thread's elements, from element `first` of the series on. */
template <typename T, typename State> static __device__ State thread_state(const EwmCase &rule, const T *own, size_t first) {
    State state = State();
#pragma unroll 1
    for (unsigned k = 0; k < ITEMS<T, State>; k++)
        if (first + k < rule.n) state.push(rule, (double)wide(own[k]), first + k == 0);
    return state;
}

/* By one thread: the state of what precedes a tile, where numbers do not suffice. False if it has polled long. */
template <typename State>
static __device__ __noinline__ bool tile_state_before(const EwmCase &rule, const Tiles<State> &tiles, size_t index, size_t low,
                                                      State *state) {
    typename Tiles<State>::Before before;
    *state = State();
    if (index == 0) return true;
    if (!tiles.before(index, &before)) return false;
    *state = before.by_state ? before.state : state_of(State(), rule, finite_run(rule, low, true), before.more);
    return true;
}

/* By one thread, apart, where it is rare: what comes into a tile where numbers do not say it. False if it has polled long. x: the
 * tile's first element. */
template <typename T, typename State>
static __device__ __noinline__ bool carry_otherwise(const EwmView<T> &view, const EwmTiles &plan, const Tiles<State> &tiles,
                                                    double x, EwmShared<State> *shared) {
    typename Tiles<State>::Before before;
    const size_t index = tile_of_block(), low = index * plan.length;
    const FiniteRun run = tile_run(plan, index == 0, x);
    if (!tiles.before(index, &before)) return false;
    shared->carry = before.by_state ? tile_carry(view.rule, run, low, before.state)
                                    : tile_carry(view.rule, run, low, before.more, shared->tile);
    return true;
}

/* A tile of which Numbers or More say all publishes them, and learns what comes into it. False if it has polled long. x: the
 * tile's first element. */
template <typename T, typename State, typename Form>
static __device__ __forceinline__ bool tile_exchange(const EwmView<T> &view, const EwmTiles &plan, const Tiles<State> &tiles,
                                                     const Form &total, double x, EwmShared<State> *shared) {
    const EwmCase &rule = view.rule;
    const size_t index = tile_of_block(), low = index * plan.length;
    const bool first = threadIdx.x == 0;
    if (first) tiles.publish_total(index, total);
    if (threadIdx.x == WARP || (first && blockDim.x == WARP))
        tiles.publish_state(index, state_of(State(), rule, tile_run(plan, index == 0, x), total));
    if (first) {
        typename Kind<State>::Numbers before = {};
        bool other = false, known = index == 0 || tiles.before(index, &before, &other);
        shared->carry = tile_carry(rule, tile_run(plan, index == 0, x), low, before, shared->tile);
        if (known && other) known = carry_otherwise<T, State>(view, plan, tiles, x, shared);
        shared->known = known;
    }
    __syncthreads();
    return shared->known;
}

/* A tile in which elements are missing, by the weights of those that are there. False if numbers cannot say all about it: nothing
 * is published then, nor *known set. *known: as of tile_exchange(). */
template <typename T, typename State>
static __device__ __noinline__ bool gapped_tile(const EwmView<T> &view, const EwmTiles &plan, const Tiles<State> &tiles, T *own,
                                                EwmShared<State> *shared, bool *known) {
    typedef typename Kind<State>::Gapped Gapped;
    static_assert(sizeof(Gapped) <= sizeof(State));
    Gapped all;
    const Gapped mine = gapped_run<T, ITEMS<T, State>>(view.rule, shared->tile, own);
    const Gapped inner = block_scan_exclusive<true>(mine, (Gapped *)shared->states, &all);
    const bool ordinary = is_ordinary(plan, all);
    __syncthreads(); /* all have read it */
    if (!ordinary) return false;
    *known = tile_exchange<T, State>(view, plan, tiles, gapped_numbers(plan, all), 0, shared);
    if (*known) write_gapped<T, ITEMS<T, State>>(view.rule, shared->tile, own, inner, shared->carry);
    return true;
}

/* A tile by the states of its threads, as in cuda_block_scan. False if it has polled long: nothing is written then. Apart, where it
 * is rare: its registers would cost the others theirs. */
template <typename T, typename State>
static __device__ __noinline__ bool irregular_tile(const EwmView<T> &view, const EwmTiles &plan, const Tiles<State> &tiles, T *own,
                                                   EwmShared<State> *shared) {
    const EwmCase &rule = view.rule;
    const size_t index = tile_of_block(), low = index * plan.length, first = low + threadIdx.x * ITEMS<T, State>;
    State *const states = (State *)shared->states;
    if (threadIdx.x == 0) tiles.publish_by_state(index); /* before the work: the agent then asks for states */
    State all;
    const State inner = block_scan_exclusive<true>(thread_state<T, State>(rule, own, first), states, &all);
    if (threadIdx.x == 0) tiles.publish_state(index, all);
    __syncthreads();
    if (threadIdx.x == 0) shared->known = tile_state_before<State>(rule, tiles, index, low, states);
    __syncthreads();
    if (!shared->known) return false;
    State state = states[0];
    state.merge(inner);
#pragma unroll 1
    for (unsigned k = 0; k < ITEMS<T, State> && first + k < rule.n; k++) {
        state.push(rule, (double)wide(own[k]), first + k == 0);
        own[k] = (T)state.output(rule, first + k);
    }
    return true;
}

/* A tile that lies in shared memory: its outputs in place. False if it has polled long: nothing is written then. */
template <typename T, typename State>
static __device__ __forceinline__ bool tile_outputs(const EwmView<T> &view, const EwmTiles &plan, const Tiles<State> &tiles,
                                                    T *tile, EwmShared<State> *shared) {
    const EwmCase &rule = view.rule;
    const size_t index = tile_of_block();
    T *const own = tile + threadIdx.x * ITEMS<T, State>;
    const typename Kind<State>::Total total = thread_total<T, ITEMS<T, State>>(rule, shared->tile, own);
    const typename Kind<State>::Inside inside = tile_totals<ITEMS<T, State>>(rule, &shared->tile, total);
    if (!is_ordinary(rule, inside.total)) {
        if constexpr (Kind<State>::GAPS) {
            bool known;
            if (rule.nan_decays && rule.adjust && gapped_tile<T, State>(view, plan, tiles, own, shared, &known)) return known;
        }
        return irregular_tile<T, State>(view, plan, tiles, own, shared);
    }
    const double x = (double)wide(tile[0]);
    const typename Kind<State>::Numbers numbers = tile_numbers(rule, tile_run(plan, index == 0, x), inside.total);
    if (!tile_exchange<T, State>(view, plan, tiles, numbers, x, shared)) return false;
    tile_write<T, ITEMS<T, State>>(rule, shared->tile, own, inside, shared->carry);
    return true;
}

/* By a warp: the total of a tile whose thread t has totals of(t), over lanes, then over warps, as the tile's own block. */
template <typename Total, typename Of, typename Lanes, typename Warps>
static __device__ Total total_again(unsigned warps, const Of &of, const Lanes &lanes_total, const Warps &warps_total) {
    const unsigned lane = threadIdx.x % WARP;
    Total own = Total(); /* lane w gets that of warp w */
    for (unsigned warp = 0; warp < warps; warp++) {
        const Total all = agent_broadcast(lanes_total(of(warp * WARP + lane)), WARP - 1);
        if (lane == warp) own = all;
    }
    return agent_broadcast(warps_total(own), warps - 1);
}
/* By a warp: publishes the total of a full tile from its elements, by the operations of the tile's own block. */
template <typename T, typename State>
static __device__ __noinline__ void publish_again(const EwmView<T> &view, const EwmTiles &plan, const Tiles<State> &tiles,
                                                  size_t index, const EwmShared<State> &shared) {
    typedef typename Kind<State>::Total Total;
    const EwmCase &rule = view.rule;
    const unsigned warps = blockDim.x / WARP;
    const bool first = threadIdx.x % WARP == 0;
    const size_t low = index * plan.length;
    const T *const x = view.x + low;
    const FiniteRun run = tile_run(plan, index == 0, (double)wide(*x));
    const auto publish_both = [&](const auto &total) {
        if (first) tiles.publish_total(index, total);
        if (first) tiles.publish_state(index, state_of(State(), rule, run, total));
    };
    const Total total = total_again<Total>(
        warps, [&](unsigned t) { return thread_total<T, ITEMS<T, State>>(rule, shared.tile, x + t * ITEMS<T, State>); },
        [&](const Total &own) { return lanes_total<ITEMS<T, State>>(rule, shared.tile, own); },
        [&](const Total &own) { return warps_total<ITEMS<T, State>>(rule, shared.tile, own); });
    if (is_ordinary(rule, total)) return publish_both(tile_numbers(rule, run, total));
    const auto scan = [](const auto &own) { return warp_scan<true>(own); };
    if constexpr (Kind<State>::GAPS) {
        const typename Kind<State>::Gapped all = total_again<typename Kind<State>::Gapped>(
            warps, [&](unsigned t) { return gapped_run<T, ITEMS<T, State>>(rule, shared.tile, x + t * ITEMS<T, State>); }, scan,
            scan);
        if (rule.nan_decays && rule.adjust && is_ordinary(plan, all)) return publish_both(gapped_numbers(plan, all));
    }
    const State all = total_again<State>(
        warps, [&](unsigned t) { return thread_state<T, State>(rule, x + t * ITEMS<T, State>, low + t * ITEMS<T, State>); }, scan,
        scan);
    if (first) tiles.publish_by_state(index);
    if (first) tiles.publish_state(index, all);
}
/* By all threads of a block that has polled long: what precedes tiles 1 .. `tile`. */
template <typename T, typename State>
static __device__ __noinline__ void befores_again(const EwmView<T> &view, const EwmTiles &plan, const Tiles<State> &tiles,
                                                  size_t tile, EwmShared<State> *shared) {
    tile_prepare<ITEMS<T, State>>(view.rule, plan, tile * plan.length, &shared->tile);
    agent_prepare(view.rule, plan, &shared->tile);
    __syncthreads();
    if (threadIdx.x < WARP)
        agent_again(tiles, typename Kind<State>::Rule(view.rule, plan, shared->tile), tile,
                    [&](size_t missing) { publish_again<T, State>(view, plan, tiles, missing, *shared); });
    __syncthreads();
}

template <typename T, typename State>
static __device__ __forceinline__ void tile_store(const EwmView<T> &view, const EwmTiles &plan, const BulkSpan &span, T *tile) {
    constexpr unsigned OF_WARP = WARP * ITEMS<T, State>;
    bulk_store_warp(view.y, tile, threadIdx.x / WARP * OF_WARP, OF_WARP, span, plan.packed);
}
static __device__ inline BulkSpan tile_span_of(const EwmTiles &plan, size_t n) {
    const size_t low = tile_of_block() * plan.length;
    return {(long long)low, (long long)low, (long long)(low + plan.length < n ? low + plan.length : n)};
}
template <typename T, typename State>
static __device__ __noinline__ void tile_again(const EwmView<T> &view, const EwmTiles &plan, const Tiles<State> &tiles, T *tile,
                                               EwmShared<State> *shared) {
    befores_again(view, plan, tiles, tile_of_block(), shared);
    (void)tile_outputs(view, plan, tiles, tile, shared); /* finds at once what it waits for */
    tile_store<T, State>(view, plan, tile_span_of(plan, view.rule.n), tile);
}

template <typename T, typename State>
static __global__ void __launch_bounds__(THREADS<T, State>, BLOCKS<T, State>)
    agent_kernel(const __grid_constant__ EwmView<T> view, const __grid_constant__ EwmTiles plan,
                 const __grid_constant__ Tiles<State> tiles) {
    __shared__ EwmShared<State> shared;
    __shared__ AgentChain<Tiles<State>> chain;
    DYN_SHARED(T, tile);
    const EwmCase &rule = view.rule;
    if (blockIdx.x == 0) {
        if (threadIdx.x == 0) chain.begin();
        agent_prepare(rule, plan, &shared.tile);
        __syncthreads();
        if (__syncthreads_or(!agent_run(tiles, typename Kind<State>::Rule(rule, plan, shared.tile), &chain)))
            befores_again<T, State>(view, plan, tiles, tiles.count - 1, &shared);
        return;
    }
    const BulkSpan span = tile_span_of(plan, rule.n);
    bulk_load_begin(tile, plan.length, view.x, span, plan.packed, &shared.barrier);
    if (threadIdx.x == 0 && plan.ahead > 0 && plan.packed && tile_of_block() + plan.ahead + 1 < tiles.count)
        bulk_prefetch(view.x + span.low + (size_t)plan.ahead * plan.length, plan.length * (unsigned)sizeof(T));
    tile_prepare<ITEMS<T, State>>(rule, plan, (size_t)span.low, &shared.tile);
    bulk_load_wait(&shared.barrier);
    if (!tile_outputs(view, plan, tiles, tile, &shared)) return tile_again(view, plan, tiles, tile, &shared);
    tile_store<T, State>(view, plan, span, tile);
}

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block, a multiple of 32; 0: 128 for a mean, 192 for a variance", PARAM_INT, "0", 0, 192, NULL},
    {"ahead", "distance in tiles at which a block has the L2 fetch; 0: it does not", PARAM_INT, "96", 0, 4096, NULL},
    {},
};

/* What a launch of this case is like. */
struct EwmLaunch {
    unsigned threads, threads_max, length;
    size_t tiles, bytes; /* of a tile's entries in the scratch */
    Status (*run)(const VariantArgs *args, const struct EwmLaunch &self);
};

/* adjust=true divides a weighted sum by the sum of the weights, so both are of one q: that which 1 - alpha is, rounded. */
static EwmCase consistent(EwmCase rule) {
    const double alpha = 1 - rule.q;
    if (!rule.adjust || rule.q < 0.5 || alpha == 0) return rule;
    rule.alpha = alpha;
    rule.log_q = log1p(-alpha);
    return rule;
}
static EwmTiles tiles_of(const EwmCase &rule, unsigned length, unsigned ahead, bool packed) {
    const double settled = ceil(52 * M_LN2 / -rule.log_q); /* q^52 half-lives */
    return {length,
            ahead,
            packed,
            affine_power(rule.q, length),
            weights_of(rule, length),
            settled < (double)rule.n ? (size_t)settled : rule.n};
}

template <typename T, typename State> static Status launch_scan(const VariantArgs *args, const EwmLaunch &self) {
    EwmView<T> view = ewm_view<T>(args);
    view.rule = consistent(view.rule);
    const bool packed = ((uintptr_t)view.x | (uintptr_t)view.y) % 16 == 0;
    const EwmTiles plan = tiles_of(view.rule, self.length, (unsigned)params_int(args->tunables, "ahead"), packed);
    PublishedLine *const lines = (PublishedLine *)args->scratch;
    const Tiles<State> tiles = {lines, (PublishedWord *)(lines + self.tiles), self.tiles};
    TRY_CUDA(cudaMemsetAsync(lines, PUBLISHED_EMPTY_BYTE, self.tiles * self.bytes, (cudaStream_t)args->stream));
    const LaunchShape shape = {dim3((unsigned)self.tiles + 1), dim3(self.threads), self.length * sizeof(T), args->stream};
    TRY(bulk_allow_shared(agent_kernel<T, State>, shape.shared_bytes));
    return launch(agent_kernel<T, State>, shape, view, plan, tiles);
}

template <typename T, typename State> static EwmLaunch launch_of(const VariantArgs *args) {
    const unsigned given = (unsigned)params_int(args->tunables, "threads"), threads = given > 0 ? given : THREADS<T, State>;
    const unsigned length = threads * ITEMS<T, State>;
    return {threads,
            THREADS<T, State>,
            length,
            divide_up(array_count(&args->in[0]), (size_t)length),
            Tiles<State>::BYTES,
            launch_scan<T, State>};
}
static EwmLaunch launch_for(const VariantArgs *args) {
    return ewm_with_storage(args, [args]<typename T, typename State>() { return launch_of<T, State>(args); });
}

/* Scratch: what the tiles exchange. */
static size_t scratch_bytes(const VariantArgs *args) {
    const EwmLaunch self = launch_for(args);
    return self.tiles * self.bytes;
}

static Status run(const VariantArgs *args) {
    if (array_count(&args->in[0]) == 0) return STATUS_OK;
    const EwmLaunch self = launch_for(args);
    return self.run(args, self);
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (params_choice(&args->problem->params, "segments") != 0)
        return variant_refuse(reason, "segments=mask: one series is supported; cuda_block_scan takes several");
    const EwmLaunch self = launch_for(args);
    if (self.threads % WARP != 0) return variant_refuse(reason, "threads=%u is no multiple of 32", self.threads);
    if (self.threads > self.threads_max)
        return variant_refuse(reason, "threads=%u: at most %u for this case", self.threads, self.threads_max);
    return ewm_fits_grid(args, self.length, reason);
}

RUNGS_VARIANT(ewm, cuda_agent_scan) = {
    .backend = BACKEND_CUDA,
    .summary = "one launch: tiles publish states, an agent block scans them and publishes what precedes each tile",
    .origin = "Merrill and Garland 2016; Blelloch 1990; West 1979",
    .tunables = TUNABLES,
    .dtypes = STORAGE_TYPES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
