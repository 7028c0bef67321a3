/* Idea: a discount for each element, as in models with gates. A row is cut into tiles, a block each. Blocks take tiles from groups
 * of rows, part by part: the first tile of each row of the group, then the second of each. So a tile's predecessor in its row began
 * as many blocks earlier as a group has rows and has ended by now: its last sum is one word to read, and nobody waits. A lane holds
 * 16 bytes of x and of gamma for each of VECTORS runs of its warp. It composes the maps of its elements, the warp scans by
 * shuffles, warps exchange their maps once, and each lane walks its elements from the sum that enters them. A row of one tile reads
 * no word; rows of one warp share a block, and short ones a warp, as segments.
 * Progress: a block takes its tile from a counter when it starts, so the tiles before it belong to blocks that have started.
 * Traffic: x and gamma (and reset) once in, y once out; 8 bytes for each tile, emptied by a memset before the launch.
 * Rounding: all in the dtype (f16 and bf16: in float); depth about VECTORS + log2(n), and one for each tile of a row. The same
 *   bits each time.
 * Limits: no sums of k terms; f16 and bf16: no discount for all; 2^31 - 1 tiles. Few long rows wait for each tile: there
 *   cuda_block_scan is faster. After a sum beyond the range, later sums may be finite.
 * Origin: Blelloch 1990, Prefix sums and their applications (recurrences as scans). */
#include "common/discounted_cumsum/gates.cuh"
#include "common/published.cuh"

/* Blocks to an SM: what a lane has in registers should leave room for as many. */
template <typename T> constexpr unsigned blocks_to_sm(unsigned vectors) {
    return vectors == 4 ? 3 : vectors == 1 && sizeof(T) <= 4 ? 5 : 4;
}

/* What the warps of a tile exchange. */
template <typename T> struct GateTileShared {
    typedef SumOf<T> Sum;
    Sum a[GATE_THREADS_MAX / WARP], b[GATE_THREADS_MAX / WARP]; /* the map of each warp */
    Sum enters;                                                 /* the sum that enters the tile */
};

struct GatePlan {
    GateShape shape;
    unsigned group; /* rows whose tiles are taken part by part */
    bool packed;
    PublishedWord *ends; /* [batch][parts]: the last sum of each tile */
    unsigned *started;   /* blocks, less one; at first all bits are one */
};

/* Of the calling warp. */
static __device__ GatePlace place_of(const GatePlan &plan, size_t batch) {
    const unsigned warp = threadIdx.x / WARP;
    if (plan.shape.parts == 1) {
        const bool alone = plan.shape.rows > 1; /* with a tile of its own */
        return {((size_t)blockIdx.x * plan.shape.rows + (alone ? warp : 0)) * plan.shape.joined, 0, alone ? 0 : warp};
    }
    __shared__ unsigned number;
    if (threadIdx.x == 0) number = atomicAdd(plan.started, 1u) + 1;
    __syncthreads();
    const unsigned group = number / (plan.group * plan.shape.parts), first = group * plan.group;
    const unsigned left = (unsigned)batch - first, rows = left < plan.group ? left : plan.group; /* of this group */
    const unsigned within = number - first * plan.shape.parts, part = within / rows;
    return {first + (within - part * rows), part, warp};
}

/* What a lane has in registers. */
template <typename T, unsigned VECTORS> struct Gates { GateVector<T> x[VECTORS], factor[VECTORS]; /* factor of a reset: a cut */ };

/* Of a vector: one for its row, and cuts where a segment begins, or a row but its warp's first. again: for Affine, where only a cut
 * is -0. */
template <typename T, bool RIGHT, unsigned VECTORS>
static __device__ void make_factors(const DiscountView<T> &view, const GatePlan &plan, size_t row,
                                    const GatePart<T, RIGHT, VECTORS> &part, unsigned v, bool again,
                                    typename GatePart<T, RIGHT, VECTORS>::Resets resets, GateVector<T> *factors) {
    constexpr unsigned LENGTH = VectorOf<T>::LENGTH;
    typedef GatePart<T, RIGHT, VECTORS> Part;
    const bool joined = plan.shape.joined > 1, begins = joined && part.begins_row(v, view.n);
    if (view.gamma_per != DISCOUNT_GAMMA_ELEMENT) {
        if (joined) row += part.joined_row(v, view.n);
        const T common = row < view.batch ? (T)view.factor(row, 0) : (T)1;
#pragma unroll
        for (unsigned k = 0; k < LENGTH; k++) factors->put(k, common);
    }
    if (again || view.reset) {
#pragma unroll
        for (unsigned k = 0; k < LENGTH; k++)
            Part::put(factors, k,
                      (T)(Part::is_reset(resets, k) ? affine_cut<SumOf<T>>() : affine_factor(Part::element(*factors, k))));
    }
    if (begins) Part::put(factors, 0, (T)affine_cut<SumOf<T>>());
}

/* What is outside of the row, x = 0, comes before all sums or behind them. */
template <bool WHOLE, typename T, bool RIGHT, unsigned VECTORS>
static __device__ void load_gates(const DiscountView<T> &view, const GatePlan &plan, size_t row,
                                  const GatePart<T, RIGHT, VECTORS> &part, bool again, Gates<T, VECTORS> *gates) {
    const bool each = view.gamma_per == DISCOUNT_GAMMA_ELEMENT;
    typename GatePart<T, RIGHT, VECTORS>::Resets resets[VECTORS];
#pragma unroll
    for (unsigned v = 0; v < VECTORS; v++) {
        gates->x[v] = part.template load<WHOLE>(view.x, v, plan.packed, (T)0);
        if (each) gates->factor[v] = part.template load<WHOLE>(view.gamma, v, plan.packed, (T)1);
        resets[v] = part.template load_resets<WHOLE>(view.reset, v);
    }
    if (each && !again && !view.reset && plan.shape.joined == 1) return;
#pragma unroll
    for (unsigned v = 0; v < VECTORS; v++) make_factors(view, plan, row, part, v, again, resets[v], &gates->factor[v]);
}

/* The last sum of the tile before, if there is one. By one thread. */
template <typename Sum> static __device__ Sum sum_before(const GatePlan &plan, const GatePlace &place) {
    PublishedWord bits = 0;
    if (place.part > 0)
        while (!published(plan.ends + place.row * plan.shape.parts + place.part - 1, &bits)) continue;
    return (Sum)__longlong_as_double((long long)bits);
}

/* The sums of a warp's part, and the tile's last one for the next tile. False if one that this lane wrote is not finite. */
template <typename Map, typename T, bool RIGHT, unsigned VECTORS>
static __device__ bool write_sums(const DiscountView<T> &view, const GatePlan &plan, const GatePlace &place,
                                  const GatePart<T, RIGHT, VECTORS> &part, Gates<T, VECTORS> &gates, GateTileShared<T> *shared,
                                  bool again) {
    constexpr unsigned LENGTH = VectorOf<T>::LENGTH;
    typedef GatePart<T, RIGHT, VECTORS> Part;
    typedef SumOf<T> Sum;
    Map before[VECTORS], chain; /* what precedes the lane's vector in its warp; all of the warp */
#pragma unroll
    for (unsigned v = 0; v < VECTORS; v++) {
        Map own = {Part::element(gates.factor[v], 0), Part::element(gates.x[v], 0)}, total;
#pragma unroll
        for (unsigned k = 1; k < LENGTH; k++) own.merge({Part::element(gates.factor[v], k), Part::element(gates.x[v], k)});
        gates.x[v].stay_packed(), gates.factor[v].stay_packed();
        const Map lanes = warp_scan_maps(own, &total);
        before[v] = chain;
        before[v].merge(lanes);
        chain.merge(total);
    }
    Sum sum = 0; /* what enters the warp */
    if (plan.shape.warps > 1 || plan.shape.parts > 1) {
        if (threadIdx.x % WARP == 0) shared->a[place.warp] = chain.a, shared->b[place.warp] = chain.b;
        if (threadIdx.x == 0) shared->enters = sum_before<Sum>(plan, place);
        __syncthreads();
        sum = shared->enters;
        if (threadIdx.x == 0 && place.part + 1 < plan.shape.parts) {
            Sum end = sum;
            for (unsigned w = 0; w < plan.shape.warps; w++) end = Map{shared->a[w], shared->b[w]}.of(end);
            if (again || isfinite(end))
                publish(plan.ends + place.row * plan.shape.parts + place.part, (PublishedWord)__double_as_longlong((double)end));
        }
        for (unsigned w = 0; w < place.warp; w++) sum = Map{shared->a[w], shared->b[w]}.of(sum);
    }
    bool finite = true;
#pragma unroll
    for (unsigned v = 0; v < VECTORS; v++) {
        Sum running = before[v].of(sum);
        T out[LENGTH];
#pragma unroll
        for (unsigned k = 0; k < LENGTH; k++) {
            running = Map{Part::element(gates.factor[v], k), Part::element(gates.x[v], k)}.of(running);
            out[k] = (T)running;
        }
        finite = finite && isfinite(running); /* in Plain maps what is not finite stays so */
        part.store(view.y, v, plan.packed, out);
    }
    return finite;
}

/* The tile again, with maps that carry an infinity or a NaN as the recurrence does. */
template <typename T, bool RIGHT, unsigned VECTORS>
static __device__ __noinline__ void write_again(const DiscountView<T> &view, const GatePlan &plan, GatePlace place,
                                                GateTileShared<T> *shared) {
    const GatePart<T, RIGHT, VECTORS> part(view, plan.shape, place, plan.packed);
    Gates<T, VECTORS> gates;
    load_gates<false>(view, plan, place.row, part, true, &gates);
    (void)write_sums<Affine<SumOf<T>>>(view, plan, place, part, gates, shared, true);
}

template <typename T, bool RIGHT, unsigned VECTORS>
static __global__ void __launch_bounds__(GATE_THREADS_MAX, blocks_to_sm<T>(VECTORS))
    gates_kernel(const __grid_constant__ DiscountView<T> view, const __grid_constant__ GatePlan plan) {
    __shared__ GateTileShared<T> shared;
    const GatePlace place = place_of(plan, view.batch);
    const GatePart<T, RIGHT, VECTORS> part(view, plan.shape, place, plan.packed);
    Gates<T, VECTORS> gates;
    if (part.whole)
        load_gates<true>(view, plan, place.row, part, false, &gates);
    else
        load_gates<false>(view, plan, place.row, part, false, &gates);
    const bool mine = write_sums<Plain<SumOf<T>>>(view, plan, place, part, gates, &shared, false);
    const bool finite = plan.shape.rows > 1 ? __all_sync((unsigned)ALL_LANES, mine) : __syncthreads_and(mine);
    if (!finite) write_again<T, RIGHT, VECTORS>(view, plan, place, &shared);
}

/* ---- Host. */
static GateShape shape_of(const VariantArgs *args) {
    return gate_shape(args, 2, 4);
}
/* A word for each tile, and the counter. */
static size_t scratch_bytes(const VariantArgs *args) {
    if (discount_is_empty(args)) return 0;
    const GateShape shape = shape_of(args);
    return shape.parts > 1 ? (discount_batch(args) * shape.parts + 1) * sizeof(PublishedWord) : 0;
}

template <typename T, bool RIGHT> static Status run_rows(const VariantArgs *args) {
    const DiscountView<T> view = discount_view<T>(args);
    const GateShape cut = shape_of(args);
    PublishedWord *const ends = (PublishedWord *)args->scratch;
    const size_t group = (size_t)params_int(args->tunables, "group");
    const GatePlan plan = {cut, (unsigned)(group < view.batch ? group : view.batch), discount_is_packed(args), ends,
                           (unsigned *)(ends + view.batch * cut.parts)};
    if (cut.parts > 1)
        TRY_CUDA(cudaMemsetAsync(args->scratch, PUBLISHED_EMPTY_BYTE, scratch_bytes(args), (cudaStream_t)args->stream));
    const LaunchShape shape = {dim3((unsigned)gate_blocks(args, cut)), dim3(cut.rows * cut.warps * WARP), 0, args->stream};
    if (cut.vectors == 1) return launch(gates_kernel<T, RIGHT, 1>, shape, view, plan);
    if (cut.vectors == 2) return launch(gates_kernel<T, RIGHT, 2>, shape, view, plan);
    return launch(gates_kernel<T, RIGHT, 4>, shape, view, plan);
}

static Status run(const VariantArgs *args) {
    return discount_run_stored(args, [args]<typename T, bool RIGHT>() { return run_rows<T, RIGHT>(args); });
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (!gate_shape_supports(args, reason)) return false;
    return discount_is_empty(args) || discount_fits_grid(args, gate_blocks(args, shape_of(args)), reason);
}

static const ParamSpec TUNABLES[] = {
    GATE_TUNABLES,
    {"group", "rows whose tiles are taken part by part", PARAM_INT, "256", 1, 65536, NULL},
    {},
};

RUNGS_VARIANT(discounted_cumsum, cuda_row_groups) = {
    .backend = BACKEND_CUDA,
    .summary = "a discount for each element: tiles in groups of rows, part by part, so that no block waits",
    .origin = "Blelloch 1990",
    .tunables = TUNABLES,
    .dtypes = STORAGE_TYPES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
