/* Idea: long rows with a discount for each element, as in models with gates. The sums y run one way along a row and dx the other,
 * so a tile needs what enters it at both ends. A row is cut into tiles, a block each: x, gamma and dy of a tile are read once, into
 * shared memory. A block publishes the maps of its tile both ways, composes those of the row's other tiles, which are at work at
 * the same time, and walks its elements from both ends. A tile that waits has no elements in registers, so four blocks fit an SM,
 * and the L2 fetches what later blocks load. Progress: a block takes its tile from a counter when it starts, so the tiles of a row
 * are begun together, and before those of later rows. It publishes before it waits, and no wait is endless: who has polled long
 * composes the other tiles' elements itself.
 * Traffic: x, gamma and dy (and reset) once in, dx and dgamma once out. Words for each tile, emptied by a memset before the launch.
 * Rounding: all in the dtype (f16 and bf16: in float); depth about the elements of a lane + log2(n). The same bits each time, unless a
 *   block has polled long.
 * Limits: a discount for each element, all terms; rows of at most 256 tiles, all of which the device should hold at once; 2^31 - 1
 *   tiles. Rows of one tile wait for nobody: there cuda_row_tiles is faster. After a sum beyond the range, later sums may be
 * finite.
 * Origin: Blelloch 1990, Prefix sums and their applications; adjoint of a linear recurrence. */
#include "common/discounted_cumsum/gate_slots.cuh"
#include "common/published.cuh"
#include "discounted_cumsum_grad/_shared.cuh"

#include <type_traits>

constexpr unsigned PARTS_MAX = 256; /* a tile waits for all others of its row */

constexpr unsigned BLOCKS_TO_SM = 4; /* what a thread has in registers should leave room for as many */

/* A sum of y is carried along the row by y -> factor y + x; dx against it: an element passes on factor dx, dx being dy and what it
 * gets: u -> factor u + factor dy. */
template <typename Sum> struct GradientMaps { Affine<Sum> sums, back; };

/* What the warps of a tile exchange, and what enters the tile. */
template <typename T> struct StagedGradientShared {
    typedef SumOf<T> Sum;
    struct {
        Sum a[GATE_THREADS_MAX / WARP], b[GATE_THREADS_MAX / WARP];
    } sums, back; /* the maps of each warp */
    Sum sum_enters, back_enters;
};

struct StagedGradientPlan {
    GateShape shape;
    unsigned ahead; /* tiles; 0: none */
    bool packed;
    PublishedWord *maps; /* [batch][parts][words of GradientMaps] */
    unsigned *started;   /* blocks, less one; at first all bits are one */
};

/* Of the calling warp, in the block that starts as this one. */
static __device__ GatePlace place_of(const StagedGradientPlan &plan, unsigned number) {
    return {number / plan.shape.parts, number % plan.shape.parts, threadIdx.x / WARP};
}

/* A warp's part of x, of which dgamma takes the place, of the factors, and of dy, which becomes dx. */
template <typename T, bool RIGHT, unsigned VECTORS> struct StagedGradient {
    typedef GateSlots<T, RIGHT, VECTORS> Slots;
    typedef typename Slots::Vector Vector;
    Slots x, factor, dy;

    __device__ explicit StagedGradient(Vector *shared) : x(shared, 0), factor(shared, 1), dy(shared, 2) {}
};

/* Begins to load. Elements outside of the row pass on nothing. */
template <typename T, bool RIGHT, unsigned VECTORS>
static __device__ void load_gates(const DiscountView<T> &view, const T *dy, const StagedGradientPlan &plan,
                                  const GatePart<T, RIGHT, VECTORS> &part, const StagedGradient<T, RIGHT, VECTORS> &gates) {
    gates.x.load(view.x, part, plan.packed, (T)0);
    gates.factor.load(view.gamma, part, plan.packed, (T)0);
    gates.dy.load(dy, part, plan.packed, (T)0);
}

/* Has the L2 fetch what a later block loads. */
template <typename T, bool RIGHT, unsigned VECTORS>
static __device__ void fetch_ahead(const DiscountView<T> &view, const T *dy, const StagedGradientPlan &plan, unsigned number) {
    typedef GateSlots<T, RIGHT, VECTORS> Slots;
    if (plan.ahead == 0 || number >= gridDim.x - plan.ahead) return;
    const GatePart<T, RIGHT, VECTORS> part(view, plan.shape, place_of(plan, number + plan.ahead), plan.packed);
    Slots::fetch(view.x, part);
    Slots::fetch(view.gamma, part);
    Slots::fetch(dy, part);
}

template <typename Sum> static __device__ Sum passed_on(Sum factor, Sum dx, bool cuts) {
    return cuts && affine_is_cut(factor) ? 0 : factor * dx;
}

/* Maps of a warp's part: before and behind the lane's own, and of the whole. */
template <typename Map> struct StagedGradientScans {
    Map before, behind, sums, back;
    bool zeros = false, cuts = false; /* among the lane's factors */

    __device__ bool finite() const { return isfinite(sums.b) && isfinite(back.b); }
};
template <typename Map, typename T, bool RIGHT, unsigned VECTORS>
static __device__ void scan_part(const StagedGradient<T, RIGHT, VECTORS> &gates, bool cuts, bool again,
                                 StagedGradientScans<Map> *out) {
    typedef GateSlots<T, RIGHT, VECTORS> Slots;
    typedef SumOf<T> Sum;
    Map sums, back;
#pragma unroll
    for (unsigned v = 0; v < VECTORS; v++) {
        typename Slots::Vector x = gates.x.own(v), factors = gates.factor.own(v), dy = gates.dy.own(v);
#pragma unroll
        for (unsigned k = 0; k < Slots::LENGTH; k++) {
            const Sum factor = (Sum)Slots::element(factors, k);
            Map last = {factor, passed_on(factor, (Sum)Slots::element(dy, k), again)};
            sums.merge({factor, (Sum)Slots::element(x, k)});
            last.merge(back);
            back = last;
            out->zeros = out->zeros || factor == 0;
            out->cuts = out->cuts || (cuts && affine_is_cut(factor));
        }
    }
    out->before = warp_scan_maps(sums, &out->sums);
    const Map inclusive = warp_scan<false>(back), next = shuffle<false>(inclusive, 1);
    if (threadIdx.x % WARP < WARP - 1) out->behind = next;
    out->back = shuffle_from(inclusive, 0);
}

/* Where the maps of a tile are published. */
template <typename T> static __device__ PublishedWord *maps_of(const StagedGradientPlan &plan, const GatePlace &place) {
    constexpr unsigned WORDS = sizeof(GradientMaps<SumOf<T>>) / sizeof(PublishedWord);
    return plan.maps + (place.row * plan.shape.parts + place.part) * WORDS;
}

/* By a warp: what the maps of the row's tiles before this one (or behind it, the last one first) make of 0. False if it has polled
 * long for one. */
template <typename Map, bool BACK, typename Sum>
static __device__ bool compose_tiles(const StagedGradientPlan &plan, const GatePlace &place, Sum *out) {
    constexpr unsigned WORDS = sizeof(GradientMaps<Sum>) / sizeof(PublishedWord);
    const unsigned lane = threadIdx.x % WARP, count = BACK ? plan.shape.parts - 1 - place.part : place.part;
    const PublishedWord *row = plan.maps + place.row * plan.shape.parts * WORDS + (BACK ? WORDS / 2 : 0);
    bool ready = true;
    *out = 0;
    for (unsigned done = 0; done < count; done += WARP) {
        Affine<Sum> own;
        if (done + lane < count) {
            const unsigned tile = BACK ? plan.shape.parts - 1 - done - lane : done + lane;
            ready = false;
            for (unsigned polls = 0; !ready && polls < PUBLISHED_POLLS_MAX; polls++)
                ready = published_words(row + tile * WORDS, 1, &own);
        }
        Map all;
        (void)warp_scan_maps(Map{own.a, own.b}, &all);
        *out = all.of(*out);
        if (!__all_sync((unsigned)ALL_LANES, ready)) return false;
    }
    return true;
}
/* By Plain maps, which are right if what they make is finite. */
template <bool BACK, typename Sum>
static __device__ bool carry_of_tiles(const StagedGradientPlan &plan, const GatePlace &place, Sum *out) {
    if (!compose_tiles<Plain<Sum>, BACK>(plan, place, out)) return false;
    return isfinite(*out) || compose_tiles<Affine<Sum>, BACK>(plan, place, out);
}

/* What the tile makes of what enters it. */
template <typename Map, typename Warps> static __device__ Map compose_warps(const Warps &warps, unsigned count, bool back) {
    Map all;
    for (unsigned w = 0; w < count; w++) {
        const unsigned warp = back ? count - 1 - w : w;
        all.merge({warps.a[warp], warps.b[warp]});
    }
    return all;
}

template <typename Map, typename T>
static __device__ void exchange(const GatePlace &place, const StagedGradientScans<Map> &scans, StagedGradientShared<T> *shared) {
    if (threadIdx.x % WARP != 0) return;
    shared->sums.a[place.warp] = scans.sums.a, shared->sums.b[place.warp] = scans.sums.b;
    shared->back.a[place.warp] = scans.back.a, shared->back.b[place.warp] = scans.back.b;
}

/* A product of Plain maps that is 0 or infinite as one of Affine, which keeps a factor 0 and a cut. */
template <typename Sum> static __device__ Affine<Sum> affine_of(const Plain<Sum> &map, bool cuts, bool zeros) {
    if (cuts) return {affine_cut<Sum>(), map.b};
    if (zeros) return {0, map.b};
    if (map.a == 0) return {copysign(AffineRange<Sum>::SMALLEST, map.a), map.b};
    return {fabs(map.a) <= AffineRange<Sum>::LARGEST ? map.a : copysign(AffineRange<Sum>::LARGEST, map.a), map.b};
}

/* After exchange(), by all threads of the block: thread 0 gets the maps of the tile. False if a warp's are not finite. */
template <typename T>
static __device__ bool join_warps(const GateShape &shape, const StagedGradientScans<Plain<SumOf<T>>> &scans, bool resets,
                                  StagedGradientShared<T> *shared, GradientMaps<SumOf<T>> *out) {
    typedef SumOf<T> Sum;
    const bool finite = __syncthreads_and(scans.finite()), zeros = __syncthreads_or(scans.zeros);
    const bool cuts = resets && __syncthreads_or(scans.cuts);
    if (threadIdx.x == 0)
        *out = {affine_of(compose_warps<Plain<Sum>>(shared->sums, shape.warps, false), cuts, zeros),
                affine_of(compose_warps<Plain<Sum>>(shared->back, shape.warps, true), cuts, zeros)};
    return finite;
}

/* The maps of a tile from its elements, by all threads of a block; thread 0 gets them, the same bits as from the tile's own block.
 */
template <typename T, bool RIGHT, unsigned VECTORS>
static __device__ __noinline__ void tile_maps(const DiscountView<T> &view, const T *dy, const StagedGradientPlan &plan,
                                              GatePlace place, Pack<T, VectorOf<T>::LENGTH> *vectors,
                                              StagedGradientShared<T> *shared, GradientMaps<SumOf<T>> *out) {
    typedef SumOf<T> Sum;
    const GatePart<T, RIGHT, VECTORS> part(view, plan.shape, place, plan.packed);
    const StagedGradient<T, RIGHT, VECTORS> gates(vectors);
    __syncthreads(); /* what was exchanged before has been read, and what lanes had */
    load_gates(view, dy, plan, part, gates);
    wait_for_gates(view, part, false, false, gates.factor);
    StagedGradientScans<Plain<Sum>> scans;
    scan_part(gates, view.reset != nullptr, false, &scans);
    exchange(place, scans, shared);
    if (join_warps(plan.shape, scans, view.reset != nullptr, shared, out)) return;
    load_gates(view, dy, plan, part, gates);
    wait_for_gates(view, part, true, true, gates.factor);
    StagedGradientScans<Affine<Sum>> exact;
    scan_part(gates, true, true, &exact);
    __syncthreads();
    exchange(place, exact, shared);
    __syncthreads();
    if (threadIdx.x == 0)
        *out = {compose_warps<Affine<Sum>>(shared->sums, plan.shape.warps, false),
                compose_warps<Affine<Sum>>(shared->back, plan.shape.warps, true)};
}

/* What enters the tile at both ends, from the elements of the row's other tiles. */
template <typename T, bool RIGHT, unsigned VECTORS>
static __device__ __noinline__ void carries_again(const DiscountView<T> &view, const T *dy, const StagedGradientPlan &plan,
                                                  GatePlace place, Pack<T, VectorOf<T>::LENGTH> *vectors,
                                                  StagedGradientShared<T> *shared) {
    typedef SumOf<T> Sum;
    Sum sum = 0, back = 0;
    GradientMaps<Sum> maps;
    GatePlace other = place;
    for (other.part = 0; other.part < place.part; other.part++) {
        tile_maps<T, RIGHT, VECTORS>(view, dy, plan, other, vectors, shared, &maps);
        sum = maps.sums.of(sum);
    }
    for (other.part = plan.shape.parts - 1; other.part > place.part; other.part--) {
        tile_maps<T, RIGHT, VECTORS>(view, dy, plan, other, vectors, shared, &maps);
        back = maps.back.of(back);
    }
    if (threadIdx.x == 0) shared->sum_enters = sum, shared->back_enters = back;
    __syncthreads();
}

/* What enters the tile at both ends, by all threads of its block. False if it has polled long. */
template <typename T>
static __device__ bool wait_for_carries(const StagedGradientPlan &plan, const GatePlace &place, StagedGradientShared<T> *shared) {
    SumOf<T> enters = 0, comes_back = 0;
    bool ready = true;
    if (place.warp == 0) ready = carry_of_tiles<false>(plan, place, &enters);
    if (place.warp == plan.shape.warps - 1) ready = carry_of_tiles<true>(plan, place, &comes_back) && ready;
    if (threadIdx.x == 0) shared->sum_enters = enters;
    if (threadIdx.x == blockDim.x - 1) shared->back_enters = comes_back;
    return __syncthreads_and(ready);
}

/* With one of several tiles of a row, after exchange(): publishes its maps, and gets what enters it. False: neither, if the maps
 * are not finite, or only the first. */
template <typename T>
static __device__ bool meet_tiles(const StagedGradientPlan &plan, const GatePlace &place,
                                  const StagedGradientScans<Plain<SumOf<T>>> &scans, bool resets, StagedGradientShared<T> *shared) {
    GradientMaps<SumOf<T>> maps;
    if (!join_warps(plan.shape, scans, resets, shared, &maps)) return false;
    if (threadIdx.x == 0) publish_words(maps_of<T>(plan, place), 1, maps);
    return wait_for_carries(plan, place, shared);
}

/* dx and dgamma of the lane's elements, from what is carried into them and passed on to them, in the places of dy and x. False if
 * what leaves them is not finite. */
template <typename Map, typename T, bool RIGHT, unsigned VECTORS>
static __device__ bool walk(const StagedGradient<T, RIGHT, VECTORS> &gates, SumOf<T> sum, SumOf<T> back, bool cuts) {
    typedef GateSlots<T, RIGHT, VECTORS> Slots;
    typedef SumOf<T> Sum;
    Sum carried[VECTORS][Slots::LENGTH];
#pragma unroll
    for (unsigned v = 0; v < VECTORS; v++) {
        typename Slots::Vector x = gates.x.own(v), factors = gates.factor.own(v);
#pragma unroll
        for (unsigned k = 0; k < Slots::LENGTH; k++) {
            carried[v][k] = sum;
            sum = Map{(Sum)Slots::element(factors, k), (Sum)Slots::element(x, k)}.of(sum);
        }
    }
#pragma unroll
    for (unsigned v = VECTORS; v-- > 0;) {
        typename Slots::Vector dy = gates.dy.own(v), factors = gates.factor.own(v), products;
#pragma unroll
        for (unsigned k = Slots::LENGTH; k-- > 0;) {
            const Sum factor = (Sum)Slots::element(factors, k), dx = (Sum)Slots::element(dy, k) + back;
            Slots::element(dy, k) = (T)dx;
            Slots::element(products, k) = (T)(cuts && affine_is_cut(factor) ? 0 : dx * carried[v][k]);
            back = passed_on(factor, dx, cuts);
        }
        gates.dy.own(v) = dy;
        gates.x.own(v) = products;
    }
    return isfinite(sum) && isfinite(back); /* in Plain maps what is not finite stays so */
}

/* dx and dgamma of a warp's part. False if what this lane carried either way is not finite. again: what enters the tile is known.
 */
template <typename Map, typename T, bool RIGHT, unsigned VECTORS>
static __device__ bool write_part(const DiscountView<T> &view, T *dgamma, const StagedGradientPlan &plan, const GatePlace &place,
                                  const GatePart<T, RIGHT, VECTORS> &part, const StagedGradient<T, RIGHT, VECTORS> &gates,
                                  StagedGradientShared<T> *shared, bool again) {
    typedef SumOf<T> Sum;
    const bool resets = view.reset != nullptr, cuts = again || resets;
    StagedGradientScans<Map> scans;
    scan_part(gates, cuts, again, &scans);
    exchange(place, scans, shared);
    if constexpr (std::is_same_v<Map, Plain<Sum>>) {
        if (!meet_tiles<T>(plan, place, scans, resets, shared)) return false;
    } else {
        __syncthreads();
    }
    Sum sum = shared->sum_enters, back = shared->back_enters; /* what enters the warp */
    for (unsigned w = 0; w < place.warp; w++) sum = Map{shared->sums.a[w], shared->sums.b[w]}.of(sum);
    for (unsigned w = plan.shape.warps - 1; w > place.warp; w--) back = Map{shared->back.a[w], shared->back.b[w]}.of(back);
    const bool finite = walk<Map>(gates, scans.before.of(sum), scans.behind.of(back), cuts);
    __syncwarp();
    gates.dy.store(view.y, part, plan.packed);
    gates.x.store(dgamma, part, plan.packed);
    return finite;
}

/* All of it, with maps that carry an infinity or a NaN as the recurrence does, and without waiting long. */
template <typename T, bool RIGHT, unsigned VECTORS>
static __device__ __noinline__ void work_again(const DiscountView<T> &view, const T *dy, T *dgamma, const StagedGradientPlan &plan,
                                               GatePlace place, Pack<T, VectorOf<T>::LENGTH> *vectors,
                                               StagedGradientShared<T> *shared) {
    GradientMaps<SumOf<T>> maps;
    const bool known = threadIdx.x > 0 || published_words(maps_of<T>(plan, place), 1, &maps);
    if (!__syncthreads_and(known)) {
        tile_maps<T, RIGHT, VECTORS>(view, dy, plan, place, vectors, shared, &maps);
        if (threadIdx.x == 0) publish_words(maps_of<T>(plan, place), 1, maps);
    }
    if (!wait_for_carries(plan, place, shared)) carries_again<T, RIGHT, VECTORS>(view, dy, plan, place, vectors, shared);
    const GatePart<T, RIGHT, VECTORS> part(view, plan.shape, place, plan.packed);
    const StagedGradient<T, RIGHT, VECTORS> gates(vectors);
    load_gates(view, dy, plan, part, gates);
    wait_for_gates(view, part, true, true, gates.factor);
    (void)write_part<Affine<SumOf<T>>>(view, dgamma, plan, place, part, gates, shared, true);
}

template <typename T, bool RIGHT, unsigned VECTORS>
static __global__ void __launch_bounds__(GATE_THREADS_MAX, BLOCKS_TO_SM)
    gates_kernel(const __grid_constant__ DiscountView<T> view, const T *dy, T *dgamma,
                 const __grid_constant__ StagedGradientPlan plan) {
    typedef Pack<T, VectorOf<T>::LENGTH> Vector;
    DYN_SHARED(Vector, vectors);
    __shared__ StagedGradientShared<T> shared;
    __shared__ unsigned number;
    if (threadIdx.x == 0) number = atomicAdd(plan.started, 1u) + 1;
    __syncthreads();
    const GatePlace place = place_of(plan, number);
    const GatePart<T, RIGHT, VECTORS> part(view, plan.shape, place, plan.packed);
    const StagedGradient<T, RIGHT, VECTORS> gates(vectors);
    load_gates(view, dy, plan, part, gates);
    fetch_ahead<T, RIGHT, VECTORS>(view, dy, plan, number);
    wait_for_gates(view, part, false, false, gates.factor);
    const bool mine = write_part<Plain<SumOf<T>>>(view, dgamma, plan, place, part, gates, &shared, false);
    if (!__syncthreads_and(mine)) work_again<T, RIGHT, VECTORS>(view, dy, dgamma, plan, place, vectors, &shared);
}

/* ---- Host. */
/* Whole tiles of a block each. */
static GateShape shape_of(const VariantArgs *args) {
    const size_t length = 16 / dtype_size(args->problem->dtype), n = discount_n(args);
    const unsigned threads = (unsigned)params_int(args->tunables, "threads");
    const unsigned vectors = (unsigned)params_int(args->tunables, "vectors");
    const size_t positions = line_positions(n, (unsigned)length, n % length == 0 || discount_batch(args) == 1);
    return {vectors, threads / WARP, 1, (unsigned)divide_up(positions, threads * vectors * length), 1};
}
/* The maps of each tile, and the counter. */
static size_t scratch_bytes(const VariantArgs *args) {
    if (discount_is_empty(args)) return 0;
    const size_t maps = discount_is_f64(args) ? sizeof(GradientMaps<double>) : sizeof(GradientMaps<float>);
    return discount_batch(args) * shape_of(args).parts * maps + sizeof(PublishedWord);
}

template <typename T, bool RIGHT> static Status run_rows(const VariantArgs *args) {
    const DiscountView<T> view = discount_view<T>(args);
    const GateShape cut = shape_of(args);
    const size_t bytes = scratch_bytes(args), ahead = (size_t)params_int(args->tunables, "ahead"), blocks = gate_blocks(args, cut);
    PublishedWord *const maps = (PublishedWord *)args->scratch;
    const StagedGradientPlan plan = {cut, (unsigned)(ahead < blocks ? ahead : 0), discount_is_packed(args), maps,
                                     (unsigned *)(maps + bytes / sizeof(PublishedWord) - 1)};
    const T *dy = (const T *)args->in[IN_DY].data;
    T *dgamma = (T *)args->out[OUT_DGAMMA].data;
    TRY_CUDA(cudaMemsetAsync(maps, PUBLISHED_EMPTY_BYTE, bytes, (cudaStream_t)args->stream));
    const unsigned threads = cut.warps * WARP;
    const LaunchShape shape = {dim3((unsigned)blocks), dim3(threads), 3 * 16 * (size_t)threads * cut.vectors, args->stream};
    if (cut.vectors == 2) return launch(gates_kernel<T, RIGHT, 2>, shape, view, dy, dgamma, plan);
    TRY(bulk_allow_shared(gates_kernel<T, RIGHT, 4>, shape.shared_bytes));
    return launch(gates_kernel<T, RIGHT, 4>, shape, view, dy, dgamma, plan);
}

static Status run(const VariantArgs *args) {
    return gradient_run_stored(args, [args]<typename T, bool RIGHT>() { return run_rows<T, RIGHT>(args); });
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const long long vectors = params_int(args->tunables, "vectors");
    if (!gate_shape_supports(args, reason)) return false;
    if (vectors == 3) return variant_refuse(reason, "vectors=3: 2 and 4 are supported");
    if (discount_gamma_per(args) != DISCOUNT_GAMMA_ELEMENT)
        return variant_refuse(reason, "only a discount for each element is supported");
    if (discount_is_empty(args)) return true;
    const GateShape shape = shape_of(args);
    if (shape.parts > PARTS_MAX)
        return variant_refuse(reason, "n=%zu: rows of at most %u tiles are supported, not %u", discount_n(args), PARTS_MAX,
                              shape.parts);
    return discount_fits_grid(args, gate_blocks(args, shape), reason);
}

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block, a multiple of 32", PARAM_INT, "256", WARP, GATE_THREADS_MAX, NULL},
    {"vectors", "16 bytes of each array in a lane, 2 or 4", PARAM_INT, "4", 2, 4, NULL},
    {"ahead", "distance in tiles at which a block has the L2 fetch; 0: it does not", PARAM_INT, "132", 0, 65536, NULL},
    {},
};

RUNGS_VARIANT(discounted_cumsum_grad, cuda_row_staged) = {
    .backend = BACKEND_CUDA,
    .summary = "a discount for each element, long rows: tiles in shared memory, scanned both ways, exchange their maps",
    .origin = "Blelloch 1990",
    .tunables = TUNABLES,
    .dtypes = STORAGE_TYPES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
