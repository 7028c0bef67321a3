/* Idea: a discount for each element, as in models with gates. The sums y run one way along a row and dx the other, so a tile needs
 * what enters it at both ends. Its elements stay in registers: x, gamma and dy are read once. Both scans go by shuffles, warps
 * exchange their maps once, and two walks meet in each element: what was carried into it, and its dx. Longer rows are cut into
 * tiles, a block each: a block publishes the maps of its tile both ways, composes those of the row's other tiles, which are at work
 * at the same time, and writes.
 * Progress: a block takes its tile from a counter when it starts, so the tiles of a row are begun together, and before those of
 *   later rows. It publishes before it waits, and no wait is endless: who has polled long composes the other tiles' elements
 * itself.
 * Traffic: x, gamma and dy (and reset) once in, dx and dgamma once out. Words for each tile, emptied by a memset before the launch.
 * Rounding: all in the dtype (f16 and bf16: in float); depth about VECTORS + log2(n), and about log2 of the tiles of a row. The same bits each time,
 *   unless a block has polled long.
 * Limits: a discount for each element, all terms; rows of at most 64 tiles, all of which the device should hold at once; 2^31 - 1
 *   tiles. After a sum beyond the range, later sums may be finite.
 * Origin: Blelloch 1990, Prefix sums and their applications; adjoint of a linear recurrence. */
#include "common/discounted_cumsum/gates.cuh"
#include "common/published.cuh"
#include "discounted_cumsum_grad/_shared.cuh"

constexpr unsigned PARTS_MAX = 64; /* a tile waits for all others of its row */

/* Blocks to an SM: what a lane has in registers should leave room for as many. */
template <typename T> constexpr unsigned blocks_to_sm(unsigned vectors) {
    return vectors == 4 ? 2 : vectors == 2 ? 3 : 4;
}

/* A sum of y is carried along the row by y -> factor y + x; dx against it: an element passes on factor dx, dx being dy and what it
 * gets: u -> factor u + factor dy. */
template <typename Sum> struct GradientMaps { Affine<Sum> sums, back; };

/* What the warps of a tile exchange, and what enters the tile. */
template <typename T> struct GradientGateShared {
    typedef SumOf<T> Sum;
    struct {
        Sum a[GATE_THREADS_MAX / WARP], b[GATE_THREADS_MAX / WARP];
    } sums, back; /* the maps of each warp */
    Sum sum_enters, back_enters;
};

struct GradientGatePlan {
    GateShape shape;
    bool packed;
    PublishedWord *maps; /* [batch][parts][words of GradientMaps] */
    unsigned *started;   /* blocks, less one; at first all bits are one */
};

/* Of the calling warp. */
static __device__ GatePlace place_of(const GradientGatePlan &plan) {
    const GateShape &shape = plan.shape;
    const unsigned warp = threadIdx.x / WARP;
    if (shape.parts == 1) return {((size_t)blockIdx.x * shape.rows + warp / shape.warps) * shape.joined, 0, warp % shape.warps};
    __shared__ unsigned number;
    if (threadIdx.x == 0) number = atomicAdd(plan.started, 1u) + 1;
    __syncthreads();
    return {number / shape.parts, number % shape.parts, warp};
}

/* What a lane has in registers. */
template <typename T, unsigned VECTORS> struct GradientGates {
    GateVector<T> x[VECTORS], factor[VECTORS], dy[VECTORS]; /* factor of a reset, or of a row but its warp's first: a cut */

    __device__ void stay_packed() {
#pragma unroll
        for (unsigned v = 0; v < VECTORS; v++) x[v].stay_packed(), factor[v].stay_packed(), dy[v].stay_packed();
    }
};

/* again: for Affine, where only cuts are -0, and the row's first element is one. Elements outside of the row pass on nothing. */
template <bool WHOLE, typename T, bool RIGHT, unsigned VECTORS>
static __device__ void load_gates(const DiscountView<T> &view, const T *dy, const GradientGatePlan &plan,
                                  const GatePart<T, RIGHT, VECTORS> &part, bool again, GradientGates<T, VECTORS> *gates) {
    constexpr unsigned LENGTH = VectorOf<T>::LENGTH;
    typedef GatePart<T, RIGHT, VECTORS> Part;
    const long long first = RIGHT ? part.line.end - 1 : part.line.begin;
    unsigned char reset[VECTORS][LENGTH] = {};
#pragma unroll
    for (unsigned v = 0; v < VECTORS; v++) {
        gates->x[v] = part.template load<WHOLE>(view.x, v, plan.packed, (T)0);
        gates->factor[v] = part.template load<WHOLE>(view.gamma, v, plan.packed, (T)0);
        gates->dy[v] = part.template load<WHOLE>(dy, v, plan.packed, (T)0);
        if (view.reset) part.line.load(view.reset, part.low(v), plan.packed, (unsigned char)0, reset[v]);
    }
    const bool joined = plan.shape.joined > 1;
    if (!again && !view.reset && !joined) return;
#pragma unroll
    for (unsigned v = 0; v < VECTORS; v++) {
        const bool begins = joined && part.begins_row(v, view.n);
#pragma unroll
        for (unsigned k = 0; k < LENGTH; k++) {
            const bool cut = reset[v][k] || (k == 0 && begins) || (again && part.line.at(part.low(v), k) == first);
            const SumOf<T> factor = affine_factor(Part::element(gates->factor[v], k));
            Part::put(&gates->factor[v], k, (T)(cut ? affine_cut<SumOf<T>>() : factor));
        }
    }
}

template <typename Sum> static __device__ Sum passed_on(Sum factor, Sum dx, bool cuts) {
    return cuts && affine_is_cut(factor) ? 0 : factor * dx;
}

/* Maps of a warp's part: before and behind each vector of the lane, and of the whole. */
template <typename Map, unsigned VECTORS> struct GradientScans {
    Map before[VECTORS], behind[VECTORS], sums, back;

    __device__ bool finite() const { return isfinite(sums.b) && isfinite(back.b); }
};
template <typename Part, typename Map, typename T, unsigned VECTORS>
static __device__ void scan_part(const GradientGates<T, VECTORS> &gates, bool again, GradientScans<Map, VECTORS> *out) {
    constexpr unsigned LENGTH = VectorOf<T>::LENGTH;
    typedef SumOf<T> Sum;
#pragma unroll
    for (unsigned v = 0; v < VECTORS; v++) {
        Map own = {Part::element(gates.factor[v], 0), Part::element(gates.x[v], 0)}, total;
#pragma unroll
        for (unsigned k = 1; k < LENGTH; k++) own.merge({Part::element(gates.factor[v], k), Part::element(gates.x[v], k)});
        const Map lanes = warp_scan_maps(own, &total);
        out->before[v] = out->sums;
        out->before[v].merge(lanes);
        out->sums.merge(total);
    }
#pragma unroll
    for (unsigned r = 0; r < VECTORS; r++) {
        const unsigned v = VECTORS - 1 - r;
        Map own;
#pragma unroll
        for (unsigned k = LENGTH; k-- > 0;) {
            const Sum factor = Part::element(gates.factor[v], k);
            own.merge({factor, passed_on(factor, Part::element(gates.dy[v], k), again)});
        }
        const Map inclusive = warp_scan<false>(own), next = shuffle<false>(inclusive, 1);
        out->behind[v] = out->back;
        if (threadIdx.x % WARP < WARP - 1) out->behind[v].merge(next);
        out->back.merge(shuffle_from(inclusive, 0));
    }
}

/* Where the maps of a tile are published. */
template <typename T> static __device__ PublishedWord *maps_of(const GradientGatePlan &plan, const GatePlace &place) {
    constexpr unsigned WORDS = sizeof(GradientMaps<SumOf<T>>) / sizeof(PublishedWord);
    return plan.maps + (place.row * plan.shape.parts + place.part) * WORDS;
}

/* By a warp: what the maps of the row's tiles before this one (or behind it, the last one first) make of 0. False if it has polled
 * long for one. */
template <bool BACK, typename Sum>
static __device__ bool compose_tiles(const GradientGatePlan &plan, const GatePlace &place, Sum *out) {
    constexpr unsigned WORDS = sizeof(GradientMaps<Sum>) / sizeof(PublishedWord);
    const unsigned lane = threadIdx.x % WARP, count = BACK ? plan.shape.parts - 1 - place.part : place.part;
    const PublishedWord *row = plan.maps + place.row * plan.shape.parts * WORDS + (BACK ? WORDS / 2 : 0);
    bool ready = true;
    *out = 0;
    for (unsigned done = 0; done < count; done += WARP) {
        Affine<Sum> own, all;
        if (done + lane < count) {
            const unsigned tile = BACK ? plan.shape.parts - 1 - done - lane : done + lane;
            ready = false;
            for (unsigned polls = 0; !ready && polls < PUBLISHED_POLLS_MAX; polls++)
                ready = published_words(row + tile * WORDS, 1, &own);
        }
        (void)warp_scan_maps(own, &all);
        *out = all.of(*out);
        if (!__all_sync((unsigned)ALL_LANES, ready)) return false;
    }
    return true;
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

template <typename Map, typename T, unsigned VECTORS>
static __device__ void exchange(const GatePlace &place, const GradientScans<Map, VECTORS> &scans, GradientGateShared<T> *shared) {
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
template <typename Part, typename T, unsigned VECTORS>
static __device__ bool join_warps(const GateShape &shape, const GradientGates<T, VECTORS> &gates, bool resets, bool finite,
                                  GradientGateShared<T> *shared, GradientMaps<SumOf<T>> *out) {
    typedef SumOf<T> Sum;
    bool zeros = false, cuts = false;
#pragma unroll
    for (unsigned v = 0; v < VECTORS; v++)
#pragma unroll
        for (unsigned k = 0; k < VectorOf<T>::LENGTH; k++) {
            const Sum factor = Part::element(gates.factor[v], k);
            zeros = zeros || factor == 0;
            cuts = cuts || (resets && affine_is_cut(factor));
        }
    finite = __syncthreads_and(finite);
    zeros = __syncthreads_or(zeros);
    if (resets) cuts = __syncthreads_or(cuts);
    if (threadIdx.x == 0)
        *out = {affine_of(compose_warps<Plain<Sum>>(shared->sums, shape.warps, false), cuts, zeros),
                affine_of(compose_warps<Plain<Sum>>(shared->back, shape.warps, true), cuts, zeros)};
    return finite;
}

/* The maps of a tile from its elements, by all threads of a block; thread 0 gets them, the same bits as from the tile's own block.
 */
template <typename T, bool RIGHT, unsigned VECTORS>
static __device__ __noinline__ void tile_maps(const DiscountView<T> &view, const T *dy, const GradientGatePlan &plan,
                                              GatePlace place, GradientGateShared<T> *shared, GradientMaps<SumOf<T>> *out) {
    typedef SumOf<T> Sum;
    const GatePart<T, RIGHT, VECTORS> part(view, plan.shape, place, plan.packed);
    GradientGates<T, VECTORS> gates;
    load_gates<false>(view, dy, plan, part, false, &gates);
    GradientScans<Plain<Sum>, VECTORS> scans;
    scan_part<GatePart<T, RIGHT, VECTORS>>(gates, false, &scans);
    __syncthreads(); /* what was exchanged before has been read */
    exchange(place, scans, shared);
    if (join_warps<GatePart<T, RIGHT, VECTORS>>(plan.shape, gates, view.reset != nullptr, scans.finite(), shared, out)) return;
    load_gates<false>(view, dy, plan, part, true, &gates);
    GradientScans<Affine<Sum>, VECTORS> exact;
    scan_part<GatePart<T, RIGHT, VECTORS>>(gates, true, &exact);
    __syncthreads();
    exchange(place, exact, shared);
    __syncthreads();
    if (threadIdx.x == 0)
        *out = {compose_warps<Affine<Sum>>(shared->sums, plan.shape.warps, false),
                compose_warps<Affine<Sum>>(shared->back, plan.shape.warps, true)};
}

/* What enters the tile at both ends, from the elements of the row's other tiles. */
template <typename T, bool RIGHT, unsigned VECTORS>
static __device__ __noinline__ void carries_again(const DiscountView<T> &view, const T *dy, const GradientGatePlan &plan,
                                                  GatePlace place, GradientGateShared<T> *shared) {
    typedef SumOf<T> Sum;
    Sum sum = 0, back = 0;
    GradientMaps<Sum> maps;
    GatePlace other = place;
    for (other.part = 0; other.part < place.part; other.part++) {
        tile_maps<T, RIGHT, VECTORS>(view, dy, plan, other, shared, &maps);
        sum = maps.sums.of(sum);
    }
    for (other.part = plan.shape.parts - 1; other.part > place.part; other.part--) {
        tile_maps<T, RIGHT, VECTORS>(view, dy, plan, other, shared, &maps);
        back = maps.back.of(back);
    }
    if (threadIdx.x == 0) shared->sum_enters = sum, shared->back_enters = back;
    __syncthreads();
}

/* What enters the tile at both ends, by all threads of its block. False if it has polled long. */
template <typename T>
static __device__ bool wait_for_carries(const GradientGatePlan &plan, const GatePlace &place, GradientGateShared<T> *shared) {
    SumOf<T> enters = 0, comes_back = 0;
    bool ready = true;
    if (place.warp == 0) ready = compose_tiles<false>(plan, place, &enters);
    if (place.warp == plan.shape.warps - 1) ready = compose_tiles<true>(plan, place, &comes_back) && ready;
    if (threadIdx.x == 0) shared->sum_enters = enters;
    if (threadIdx.x == blockDim.x - 1) shared->back_enters = comes_back;
    return __syncthreads_and(ready);
}

/* With one of several tiles of a row, after exchange(): publishes its maps, and gets what enters it. False: neither, if the maps
 * are not finite, or only the first. */
template <typename Part, typename T, unsigned VECTORS>
static __device__ bool meet_tiles(const GradientGatePlan &plan, const GatePlace &place, const GradientGates<T, VECTORS> &gates,
                                  bool resets, bool finite, GradientGateShared<T> *shared) {
    GradientMaps<SumOf<T>> maps;
    if (!join_warps<Part>(plan.shape, gates, resets, finite, shared, &maps)) return false;
    if (threadIdx.x == 0) publish_words(maps_of<T>(plan, place), 1, maps);
    return wait_for_carries(plan, place, shared);
}

/* dx and dgamma of a warp's part. False if what this lane carried either way is not finite. again: what enters the tile is known.
 */
template <typename Map, typename T, bool RIGHT, unsigned VECTORS>
static __device__ bool write_part(const DiscountView<T> &view, T *dgamma, const GradientGatePlan &plan, const GatePlace &place,
                                  const GatePart<T, RIGHT, VECTORS> &part, GradientGates<T, VECTORS> &gates,
                                  GradientGateShared<T> *shared, bool again) {
    constexpr unsigned LENGTH = VectorOf<T>::LENGTH;
    typedef GatePart<T, RIGHT, VECTORS> Part;
    typedef SumOf<T> Sum;
    const GateShape &shape = plan.shape;
    const bool cuts = again || view.reset || shape.joined > 1;
    GradientScans<Map, VECTORS> scans;
    scan_part<Part>(gates, again, &scans);
    gates.stay_packed();
    Sum sum = 0, back = 0; /* what enters the warp */
    if (shape.warps > 1 || shape.parts > 1) {
        exchange(place, scans, shared);
        if (shape.parts == 1 || again)
            __syncthreads();
        else if (!meet_tiles<Part>(plan, place, gates, view.reset != nullptr, scans.finite(), shared))
            return false;
        if (shape.parts > 1) sum = shared->sum_enters, back = shared->back_enters;
        for (unsigned w = 0; w < place.warp; w++) sum = Map{shared->sums.a[w], shared->sums.b[w]}.of(sum);
        for (unsigned w = shape.warps - 1; w > place.warp; w--) back = Map{shared->back.a[w], shared->back.b[w]}.of(back);
    }
    bool finite = true;
#pragma unroll
    for (unsigned v = 0; v < VECTORS; v++) {
        Sum running = scans.before[v].of(sum), gets = scans.behind[v].of(back), carried[LENGTH];
        T dx[LENGTH], products[LENGTH];
#pragma unroll
        for (unsigned k = 0; k < LENGTH; k++) {
            carried[k] = running;
            running = Map{Part::element(gates.factor[v], k), Part::element(gates.x[v], k)}.of(running);
        }
#pragma unroll
        for (unsigned k = LENGTH; k-- > 0;) {
            const Sum factor = Part::element(gates.factor[v], k), sum_back = Part::element(gates.dy[v], k) + gets;
            dx[k] = (T)sum_back;
            products[k] = cuts && affine_is_cut(factor) ? (T)0 : (T)(sum_back * carried[k]);
            gets = passed_on(factor, sum_back, cuts);
        }
        finite = finite && isfinite(running) && isfinite(gets); /* in Plain maps what is not finite stays so */
        part.store(view.y, v, plan.packed, dx);
        part.store(dgamma, v, plan.packed, products);
    }
    return finite;
}

/* All of it, with maps that carry an infinity or a NaN as the recurrence does, and without waiting long. */
template <typename T, bool RIGHT, unsigned VECTORS>
static __device__ __noinline__ void work_again(const DiscountView<T> &view, const T *dy, T *dgamma, const GradientGatePlan &plan,
                                               GatePlace place, GradientGateShared<T> *shared) {
    if (plan.shape.parts > 1) {
        GradientMaps<SumOf<T>> maps;
        const bool known = threadIdx.x > 0 || published_words(maps_of<T>(plan, place), 1, &maps);
        if (!__syncthreads_and(known)) {
            tile_maps<T, RIGHT, VECTORS>(view, dy, plan, place, shared, &maps);
            if (threadIdx.x == 0) publish_words(maps_of<T>(plan, place), 1, maps);
        }
        if (!wait_for_carries(plan, place, shared)) carries_again<T, RIGHT, VECTORS>(view, dy, plan, place, shared);
    }
    const GatePart<T, RIGHT, VECTORS> part(view, plan.shape, place, plan.packed);
    GradientGates<T, VECTORS> gates;
    load_gates<false>(view, dy, plan, part, true, &gates);
    (void)write_part<Affine<SumOf<T>>>(view, dgamma, plan, place, part, gates, shared, true);
}

template <typename T, bool RIGHT, unsigned VECTORS>
static __global__ void __launch_bounds__(GATE_THREADS_MAX, blocks_to_sm<T>(VECTORS))
    gates_kernel(const __grid_constant__ DiscountView<T> view, const T *dy, T *dgamma,
                 const __grid_constant__ GradientGatePlan plan) {
    __shared__ GradientGateShared<T> shared;
    const GatePlace place = place_of(plan);
    const GatePart<T, RIGHT, VECTORS> part(view, plan.shape, place, plan.packed);
    GradientGates<T, VECTORS> gates;
    if (part.whole)
        load_gates<true>(view, dy, plan, part, false, &gates);
    else
        load_gates<false>(view, dy, plan, part, false, &gates);
    const bool mine = write_part<Plain<SumOf<T>>>(view, dgamma, plan, place, part, gates, &shared, false);
    const bool finite = plan.shape.rows > 1 ? __all_sync((unsigned)ALL_LANES, mine) : __syncthreads_and(mine);
    if (!finite) work_again<T, RIGHT, VECTORS>(view, dy, dgamma, plan, place, &shared);
}

/* ---- Host. */
/* Of elements of two bytes a lane has sums of each in registers. */
static GateShape shape_of(const VariantArgs *args) {
    return gate_shape(args, dtype_size(args->problem->dtype) == 2 ? 2 : 4);
}
/* The maps of each tile, and the counter. */
static size_t scratch_bytes(const VariantArgs *args) {
    if (discount_is_empty(args)) return 0;
    const GateShape shape = shape_of(args);
    const size_t maps = discount_is_f64(args) ? sizeof(GradientMaps<double>) : sizeof(GradientMaps<float>);
    return shape.parts > 1 ? discount_batch(args) * shape.parts * maps + sizeof(PublishedWord) : 0;
}

template <typename T, bool RIGHT> static Status run_rows(const VariantArgs *args) {
    const DiscountView<T> view = discount_view<T>(args);
    const GateShape cut = shape_of(args);
    const size_t bytes = scratch_bytes(args);
    PublishedWord *const maps = (PublishedWord *)args->scratch;
    const GradientGatePlan plan = {cut, discount_is_packed(args), maps, (unsigned *)(maps + bytes / sizeof(PublishedWord) - 1)};
    const T *dy = (const T *)args->in[IN_DY].data;
    T *dgamma = (T *)args->out[OUT_DGAMMA].data;
    if (bytes > 0) TRY_CUDA(cudaMemsetAsync(maps, PUBLISHED_EMPTY_BYTE, bytes, (cudaStream_t)args->stream));
    const LaunchShape shape = {dim3((unsigned)gate_blocks(args, cut)), dim3(cut.rows * cut.warps * WARP), 0, args->stream};
    if (cut.vectors == 1) return launch(gates_kernel<T, RIGHT, 1>, shape, view, dy, dgamma, plan);
    if (cut.vectors == 2) return launch(gates_kernel<T, RIGHT, 2>, shape, view, dy, dgamma, plan);
    return launch(gates_kernel<T, RIGHT, 4>, shape, view, dy, dgamma, plan);
}

static Status run(const VariantArgs *args) {
    return gradient_run_stored(args, [args]<typename T, bool RIGHT>() { return run_rows<T, RIGHT>(args); });
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (!gate_shape_supports(args, reason)) return false;
    if (discount_gamma_per(args) != DISCOUNT_GAMMA_ELEMENT)
        return variant_refuse(reason, "only a discount for each element is supported");
    if (discount_is_empty(args)) return true;
    const GateShape shape = shape_of(args);
    if (shape.parts > PARTS_MAX)
        return variant_refuse(reason, "n=%zu: rows of at most %u tiles are supported, not %u", discount_n(args), PARTS_MAX,
                              shape.parts);
    return discount_fits_grid(args, gate_blocks(args, shape), reason);
}

static const ParamSpec TUNABLES[] = {GATE_TUNABLES, {}};

RUNGS_VARIANT(discounted_cumsum_grad, cuda_row_tiles) = {
    .backend = BACKEND_CUDA,
    .summary = "a discount for each element: tiles in registers, scanned both ways; those of a row exchange their maps",
    .origin = "Blelloch 1990",
    .tunables = TUNABLES,
    .dtypes = STORAGE_TYPES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
