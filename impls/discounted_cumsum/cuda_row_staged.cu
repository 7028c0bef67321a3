/* Idea: cuda_row_groups for long rows in float64, of which a vector of 16 bytes holds two: there a scan by shuffles for each vector
 * costs more than the memory. Tiles go through shared memory, so that a lane works on neighbouring vectors and a warp scans its
 * lanes once. As there, blocks take tiles from groups of rows, part by part: a tile's predecessor in its row has ended by then, its
 * last sum is one word to read, and nobody waits. Progress: a block takes its tile from a counter when it starts, so the tiles
 * before it belong to blocks that have started.
 * Traffic: x and gamma (and reset) once in, y once out; 8 bytes for each tile, emptied by a memset before the launch.
 * Rounding: all in the dtype (f16 and bf16: in float); depth about the elements of a lane + log2(n), and one for each tile of a row.
 *   The same bits each time.
 * Limits: no sums of k terms; f16 and bf16: no discount for all; 2^31 - 1 tiles. Few long rows wait for each tile: there
 *   cuda_block_scan is faster. After a sum beyond the range, later sums may be finite.
 * Origin: Blelloch 1990, Prefix sums and their applications (recurrences as scans). */
#include "common/discounted_cumsum/gate_slots.cuh"
#include "common/published.cuh"

constexpr unsigned BLOCKS_TO_SM = 4; /* what a thread has in registers should leave room for as many */

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
    __shared__ unsigned number;
    if (threadIdx.x == 0) number = atomicAdd(plan.started, 1u) + 1;
    __syncthreads();
    const unsigned group = number / (plan.group * plan.shape.parts), first = group * plan.group;
    const unsigned left = (unsigned)batch - first, rows = left < plan.group ? left : plan.group; /* of this group */
    const unsigned within = number - first * plan.shape.parts, part = within / rows;
    return {first + (within - part * rows), part, threadIdx.x / WARP};
}

/* A warp's part of x, of which y takes the place, and of the factors. */
template <typename T, bool RIGHT, unsigned VECTORS> struct StagedGates {
    typedef GateSlots<T, RIGHT, VECTORS> Slots;
    Slots x, factor;

    __device__ explicit StagedGates(typename Slots::Vector *shared) : x(shared, 0), factor(shared, 1) {}
};

/* Begins to load. What is outside of the row, x = 0, comes before all sums or behind them. */
template <typename T, bool RIGHT, unsigned VECTORS>
static __device__ void load_gates(const DiscountView<T> &view, const GatePlan &plan, const GatePlace &place,
                                  const GatePart<T, RIGHT, VECTORS> &part, const StagedGates<T, RIGHT, VECTORS> &gates) {
    typedef GateSlots<T, RIGHT, VECTORS> Slots;
    gates.x.load(view.x, part, plan.packed, (T)0);
    if (view.gamma_per == DISCOUNT_GAMMA_ELEMENT) {
        gates.factor.load(view.gamma, part, plan.packed, (T)1);
    } else {
        const T common = (T)view.factor(place.row, 0);
        for (unsigned v = 0; v < VECTORS; v++)
#pragma unroll
            for (unsigned k = 0; k < Slots::LENGTH; k++) Slots::element(gates.factor.moved(v), k) = common;
    }
}

/* The last sum of the tile before, if there is one. By one thread. */
template <typename Sum> static __device__ Sum sum_before(const GatePlan &plan, const GatePlace &place) {
    PublishedWord bits = 0;
    if (place.part > 0)
        while (!published(plan.ends + place.row * plan.shape.parts + place.part - 1, &bits)) continue;
    return (Sum)__longlong_as_double((long long)bits);
}

/* What enters the warp, whose elements make the map `own`; the tile's last sum is published for the next tile. */
template <typename Map, typename T>
static __device__ SumOf<T> meet_warps(const GatePlan &plan, const GatePlace &place, const Map &own, GateTileShared<T> *shared,
                                      bool again) {
    typedef SumOf<T> Sum;
    if (threadIdx.x % WARP == 0) shared->a[place.warp] = own.a, shared->b[place.warp] = own.b;
    if (threadIdx.x == 0) shared->enters = sum_before<Sum>(plan, place);
    __syncthreads();
    Sum sum = shared->enters;
    if (threadIdx.x == 0 && place.part + 1 < plan.shape.parts) {
        Sum end = sum;
        for (unsigned w = 0; w < plan.shape.warps; w++) end = Map{shared->a[w], shared->b[w]}.of(end);
        if (again || isfinite(end))
            publish(plan.ends + place.row * plan.shape.parts + place.part, (PublishedWord)__double_as_longlong((double)end));
    }
    for (unsigned w = 0; w < place.warp; w++) sum = Map{shared->a[w], shared->b[w]}.of(sum);
    return sum;
}

/* The sums of a warp's part, and the tile's last one for the next tile. False if one that this lane made is not finite. */
template <typename Map, typename T, bool RIGHT, unsigned VECTORS>
static __device__ bool write_sums(const DiscountView<T> &view, const GatePlan &plan, const GatePlace &place,
                                  const GatePart<T, RIGHT, VECTORS> &part, const StagedGates<T, RIGHT, VECTORS> &gates,
                                  GateTileShared<T> *shared, bool again) {
    typedef GateSlots<T, RIGHT, VECTORS> Slots;
    typedef SumOf<T> Sum;
    Map own, warp;
#pragma unroll
    for (unsigned v = 0; v < VECTORS; v++) {
        typename Slots::Vector x = gates.x.own(v), factors = gates.factor.own(v);
#pragma unroll
        for (unsigned k = 0; k < Slots::LENGTH; k++) own.merge({(Sum)Slots::element(factors, k), (Sum)Slots::element(x, k)});
    }
    const Map before = warp_scan_maps(own, &warp);
    Sum running = before.of(meet_warps<Map, T>(plan, place, warp, shared, again));
#pragma unroll
    for (unsigned v = 0; v < VECTORS; v++) {
        typename Slots::Vector x = gates.x.own(v), factors = gates.factor.own(v);
#pragma unroll
        for (unsigned k = 0; k < Slots::LENGTH; k++) {
            running = Map{(Sum)Slots::element(factors, k), (Sum)Slots::element(x, k)}.of(running);
            Slots::element(x, k) = (T)running;
        }
        gates.x.own(v) = x;
    }
    __syncwarp();
    gates.x.store(view.y, part, plan.packed);
    return isfinite(running); /* in Plain maps what is not finite stays so */
}

/* The tile again, with maps that carry an infinity or a NaN as the recurrence does. */
template <typename T, bool RIGHT, unsigned VECTORS>
static __device__ __noinline__ void write_again(const DiscountView<T> &view, const GatePlan &plan, GatePlace place,
                                                Pack<T, VectorOf<T>::LENGTH> *vectors, GateTileShared<T> *shared) {
    const GatePart<T, RIGHT, VECTORS> part(view, plan.shape, place, plan.packed);
    const StagedGates<T, RIGHT, VECTORS> gates(vectors);
    load_gates(view, plan, place, part, gates);
    wait_for_gates(view, part, true, false, gates.factor);
    (void)write_sums<Affine<SumOf<T>>>(view, plan, place, part, gates, shared, true);
}

template <typename T, bool RIGHT, unsigned VECTORS>
static __global__ void __launch_bounds__(GATE_THREADS_MAX, BLOCKS_TO_SM)
    gates_kernel(const __grid_constant__ DiscountView<T> view, const __grid_constant__ GatePlan plan) {
    typedef Pack<T, VectorOf<T>::LENGTH> Vector;
    DYN_SHARED(Vector, vectors);
    __shared__ GateTileShared<T> shared;
    const GatePlace place = place_of(plan, view.batch);
    const GatePart<T, RIGHT, VECTORS> part(view, plan.shape, place, plan.packed);
    const StagedGates<T, RIGHT, VECTORS> gates(vectors);
    load_gates(view, plan, place, part, gates);
    wait_for_gates(view, part, false, false, gates.factor);
    const bool mine = write_sums<Plain<SumOf<T>>>(view, plan, place, part, gates, &shared, false);
    if (!__syncthreads_and(mine)) write_again<T, RIGHT, VECTORS>(view, plan, place, vectors, &shared);
}

/* ---- Host. */
/* Whole tiles of a block each. */
static GateShape shape_of(const VariantArgs *args) {
    const size_t length = 16 / dtype_size(args->problem->dtype), n = discount_n(args);
    const unsigned threads = (unsigned)params_int(args->tunables, "threads"),
                   vectors = (unsigned)params_int(args->tunables, "vectors");
    const size_t positions = line_positions(n, (unsigned)length, n % length == 0 || discount_batch(args) == 1);
    return {vectors, threads / WARP, 1, (unsigned)divide_up(positions, threads * vectors * length), 1};
}
/* A word for each tile, and the counter. */
static size_t scratch_bytes(const VariantArgs *args) {
    return discount_is_empty(args) ? 0 : (discount_batch(args) * shape_of(args).parts + 1) * sizeof(PublishedWord);
}

template <typename T, bool RIGHT> static Status run_rows(const VariantArgs *args) {
    const DiscountView<T> view = discount_view<T>(args);
    const GateShape cut = shape_of(args);
    PublishedWord *const ends = (PublishedWord *)args->scratch;
    const size_t group = (size_t)params_int(args->tunables, "group");
    const GatePlan plan = {cut, (unsigned)(group < view.batch ? group : view.batch), discount_is_packed(args), ends,
                           (unsigned *)(ends + view.batch * cut.parts)};
    TRY_CUDA(cudaMemsetAsync(args->scratch, PUBLISHED_EMPTY_BYTE, scratch_bytes(args), (cudaStream_t)args->stream));
    const unsigned threads = cut.warps * WARP;
    const LaunchShape shape = {dim3((unsigned)gate_blocks(args, cut)), dim3(threads), 2 * 16 * (size_t)threads * cut.vectors,
                               args->stream};
    if (cut.vectors == 2) return launch(gates_kernel<T, RIGHT, 2>, shape, view, plan);
    return launch(gates_kernel<T, RIGHT, 4>, shape, view, plan);
}

static Status run(const VariantArgs *args) {
    return discount_run_stored(args, [args]<typename T, bool RIGHT>() { return run_rows<T, RIGHT>(args); });
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const long long vectors = params_int(args->tunables, "vectors");
    if (!gate_shape_supports(args, reason)) return false;
    if (vectors == 3) return variant_refuse(reason, "vectors=3: 2 and 4 are supported");
    return discount_is_empty(args) || discount_fits_grid(args, gate_blocks(args, shape_of(args)), reason);
}

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block, a multiple of 32", PARAM_INT, "256", WARP, GATE_THREADS_MAX, NULL},
    {"vectors", "16 bytes of each array in a lane, 2 or 4", PARAM_INT, "4", 2, 4, NULL},
    {"group", "rows whose tiles are taken part by part", PARAM_INT, "256", 1, 65536, NULL},
    {},
};

RUNGS_VARIANT(discounted_cumsum, cuda_row_staged) = {
    .backend = BACKEND_CUDA,
    .summary = "a discount for each element, long rows: as cuda_row_groups, through shared memory",
    .origin = "Blelloch 1990",
    .tunables = TUNABLES,
    .dtypes = STORAGE_TYPES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
