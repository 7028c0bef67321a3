/* Idea: a discount for each element, as in models with gates. The sums y run one way along a row and dx the other. The elements of
 * a row stay in registers: x, gamma and dy are read once. Both scans go by shuffles, the warps of a row exchange their maps once,
 * and two walks meet in each element: what was carried into it, and its dx. Rows of one warp share a block, and short ones a warp,
 * as segments.
 * Traffic: x, gamma and dy (and reset) once in, dx and dgamma once out.
 * Rounding: all in the dtype (f16 and bf16: in float); depth about VECTORS + log2(n). The same bits each time.
 * Limits: a discount for each element, all terms; rows that a block holds, such as 4096 floats or 2048 doubles: cuda_row_staged takes
 *   longer ones. After a sum beyond the range, later sums may be finite.
 * Origin: Blelloch 1990, Prefix sums and their applications; adjoint of a linear recurrence. */
#include "common/discounted_cumsum/gates.cuh"
#include "discounted_cumsum_grad/_shared.cuh"

/* Blocks to an SM: what a lane has in registers should leave room for as many. */
template <typename T> constexpr unsigned blocks_to_sm(unsigned vectors) {
    return vectors == 4 ? 2 : vectors == 2 ? 3 : 4;
}

/* The maps of each warp. A sum of y is carried along the row by y -> factor y + x; dx against it: an element passes on factor dx,
 * dx being dy and what it gets: u -> factor u + factor dy. */
template <typename T> struct GradientGateShared {
    typedef SumOf<T> Sum;
    struct {
        Sum a[GATE_THREADS_MAX / WARP], b[GATE_THREADS_MAX / WARP];
    } sums, back;
};

struct GradientGatePlan {
    GateShape shape;
    bool packed;
};

/* Of the calling warp. */
static __device__ GatePlace place_of(const GateShape &shape) {
    const unsigned warp = threadIdx.x / WARP;
    const bool alone = shape.rows > 1; /* with a tile of its own */
    return {((size_t)blockIdx.x * shape.rows + (alone ? warp : 0)) * shape.joined, 0, alone ? 0 : warp};
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
    typename Part::Resets resets[VECTORS];
#pragma unroll
    for (unsigned v = 0; v < VECTORS; v++) {
        gates->x[v] = part.template load<WHOLE>(view.x, v, plan.packed, (T)0);
        gates->factor[v] = part.template load<WHOLE>(view.gamma, v, plan.packed, (T)0);
        gates->dy[v] = part.template load<WHOLE>(dy, v, plan.packed, (T)0);
        resets[v] = part.template load_resets<WHOLE>(view.reset, v);
    }
    const bool joined = plan.shape.joined > 1;
    if (!again && !view.reset && !joined) return;
#pragma unroll
    for (unsigned v = 0; v < VECTORS; v++) {
        const bool begins = joined && part.begins_row(v, view.n);
#pragma unroll
        for (unsigned k = 0; k < LENGTH; k++) {
            const bool cut = Part::is_reset(resets[v], k) || (k == 0 && begins) || (again && part.line.at(part.low(v), k) == first);
            const SumOf<T> factor = affine_factor(Part::element(gates->factor[v], k));
            Part::put(&gates->factor[v], k, (T)(cut ? affine_cut<SumOf<T>>() : factor));
        }
    }
}

/* Plain: a cut is a factor of 0; what is not finite gets past it, and is seen. */
template <bool AGAIN, typename Sum> static __device__ Sum passed_on(Sum factor, Sum dx) {
    return AGAIN && affine_is_cut(factor) ? 0 : factor * dx;
}

/* Maps of a warp's part: before and behind each vector of the lane, and of the whole. */
template <typename Map, unsigned VECTORS> struct GradientScans { Map before[VECTORS], behind[VECTORS], sums, back; };
template <typename Part, bool AGAIN, typename Map, typename T, unsigned VECTORS>
static __device__ void scan_part(const GradientGates<T, VECTORS> &gates, GradientScans<Map, VECTORS> *out) {
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
            own.merge({factor, passed_on<AGAIN>(factor, Part::element(gates.dy[v], k))});
        }
        const Map inclusive = warp_scan<false>(own), next = shuffle<false>(inclusive, 1);
        out->behind[v] = out->back;
        if (threadIdx.x % WARP < WARP - 1) out->behind[v].merge(next);
        out->back.merge(shuffle_from(inclusive, 0));
    }
}

template <typename Map, typename T, unsigned VECTORS>
static __device__ void exchange(const GatePlace &place, const GradientScans<Map, VECTORS> &scans, GradientGateShared<T> *shared) {
    if (threadIdx.x % WARP != 0) return;
    shared->sums.a[place.warp] = scans.sums.a, shared->sums.b[place.warp] = scans.sums.b;
    shared->back.a[place.warp] = scans.back.a, shared->back.b[place.warp] = scans.back.b;
}

/* dx and dgamma of a warp's part. False if what this lane carried either way is not finite. */
template <bool AGAIN, typename T, bool RIGHT, unsigned VECTORS>
static __device__ bool write_part(const DiscountView<T> &view, T *dgamma, const GradientGatePlan &plan, const GatePlace &place,
                                  const GatePart<T, RIGHT, VECTORS> &part, GradientGates<T, VECTORS> &gates,
                                  GradientGateShared<T> *shared) {
    constexpr unsigned LENGTH = VectorOf<T>::LENGTH;
    typedef GatePart<T, RIGHT, VECTORS> Part;
    typedef SumOf<T> Sum;
    typedef std::conditional_t<AGAIN, Affine<Sum>, Plain<Sum>> Map;
    const GateShape &shape = plan.shape;
    const bool cuts = AGAIN || view.reset || shape.joined > 1;
    GradientScans<Map, VECTORS> scans;
    scan_part<Part, AGAIN>(gates, &scans);
    gates.stay_packed();
    Sum sum = 0, back = 0; /* what enters the warp */
    if (shape.warps > 1) {
        exchange(place, scans, shared);
        __syncthreads();
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
            products[k] = (T)(cuts & affine_is_cut(factor) ? 0 : sum_back * carried[k]);
            gets = passed_on<AGAIN>(factor, sum_back);
        }
        finite = finite && isfinite(running) && isfinite(gets); /* in Plain maps what is not finite stays so */
        part.store(view.y, v, plan.packed, dx);
        part.store(dgamma, v, plan.packed, products);
    }
    return finite;
}

/* All of it, with maps that carry an infinity or a NaN as the recurrence does. */
template <typename T, bool RIGHT, unsigned VECTORS>
static __device__ __noinline__ void work_again(const DiscountView<T> &view, const T *dy, T *dgamma, const GradientGatePlan &plan,
                                               GatePlace place, GradientGateShared<T> *shared) {
    const GatePart<T, RIGHT, VECTORS> part(view, plan.shape, place, plan.packed);
    GradientGates<T, VECTORS> gates;
    load_gates<false>(view, dy, plan, part, true, &gates);
    (void)write_part<true>(view, dgamma, plan, place, part, gates, shared);
}

template <typename T, bool RIGHT, unsigned VECTORS>
static __global__ void __launch_bounds__(GATE_THREADS_MAX, blocks_to_sm<T>(VECTORS))
    gates_kernel(const __grid_constant__ DiscountView<T> view, const T *dy, T *dgamma,
                 const __grid_constant__ GradientGatePlan plan) {
    __shared__ GradientGateShared<T> shared;
    const GatePlace place = place_of(plan.shape);
    const GatePart<T, RIGHT, VECTORS> part(view, plan.shape, place, plan.packed);
    GradientGates<T, VECTORS> gates;
    if (part.whole)
        load_gates<true>(view, dy, plan, part, false, &gates);
    else
        load_gates<false>(view, dy, plan, part, false, &gates);
    const bool mine = write_part<false>(view, dgamma, plan, place, part, gates, &shared);
    const bool finite = plan.shape.rows > 1 ? __all_sync((unsigned)ALL_LANES, mine) : __syncthreads_and(mine);
    if (!finite) work_again<T, RIGHT, VECTORS>(view, dy, dgamma, plan, place, &shared);
}

/* ---- Host. */
/* A lane has its sums in registers, in float or double: of elements of two bytes twice as many. */
static GateShape shape_of(const VariantArgs *args) {
    const size_t bytes = dtype_size(args->problem->dtype);
    return gate_shape(args, bytes == 8 ? 4 : 2, bytes == 2 ? 2 : 4);
}

template <typename T, bool RIGHT> static Status run_rows(const VariantArgs *args) {
    const DiscountView<T> view = discount_view<T>(args);
    const GateShape cut = shape_of(args);
    const GradientGatePlan plan = {cut, discount_is_packed(args)};
    const T *dy = (const T *)args->in[IN_DY].data;
    T *dgamma = (T *)args->out[OUT_DGAMMA].data;
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
    if (shape.parts > 1) return variant_refuse(reason, "n=%zu: rows that a block holds are supported", discount_n(args));
    return discount_fits_grid(args, gate_blocks(args, shape), reason);
}

static const ParamSpec TUNABLES[] = {GATE_TUNABLES, {}};

RUNGS_VARIANT(discounted_cumsum_grad, cuda_row_tiles) = {
    .backend = BACKEND_CUDA,
    .summary = "a discount for each element: short rows in registers, scanned both ways",
    .origin = "Blelloch 1990",
    .tunables = TUNABLES,
    .dtypes = STORAGE_TYPES,
    .supports = supports,
    .run = run,
};
