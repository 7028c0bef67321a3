/* Idea: two block scans, dealt to blocks as in discounted_cumsum's cuda_block_scan: the sums, of which each element keeps what was
 * carried into it; then the adjoint the other way, which yields dx and on the way multiplies it by what the first has kept: the
 * gradient of that element's factor. Where a line has one gamma a block adds these up in registers, and a last launch adds up the
 * blocks, always in the same order. Short rows that share a line and have a gamma each are multiplied and added up by a block each,
 * from both outputs.
 * Traffic: 3 reads and 2 writes of n (x; carries, dy, dx, carries), 1 read more of x and dy each where rows are cut into strips; factors
 *   and masks twice. One gamma for each of many short rows: 1 read more, and of masks.
 * Rounding: dx as y in discounted_cumsum; products and their sums in double.
 * Limits: no sums of k terms; 2^31 - 1 blocks.
 * Origin: Blelloch 1990; adjoint of a linear recurrence. */
#include "common/discounted_cumsum/scan.cuh"
#include "discounted_cumsum_grad/_products.cuh"

/* Second scan, one row with one factor, in direction BACKWARD, against the sums: view is from dy into dx. With one factor the carry
 * into an element is the factor times the dx before it, as in the sums. partials: the gradient of the factor from this block. */
template <typename T, bool BACKWARD, unsigned VECTORS, bool WRITE>
static __global__ void __launch_bounds__(SCAN_THREADS_MAX)
    uniform_adjoint_kernel(DiscountView<T> view, DiscountLines lines, bool packed, ScanShape shape, Affine<double> *maps,
                           const T *carries, double *partials) {
    constexpr unsigned LENGTH = VectorOf<T>::LENGTH;
    __shared__ Affine<double> totals[2][SCAN_THREADS_MAX / WARP];
    __shared__ GradientSum sums[WARP];
    const ScanStrip strip = scan_strip(shape, WRITE);
    Affine<double> carry;
    if (WRITE && shape.strips > 1) carry = maps[strip.index];
    const DiscountLine<LENGTH, BACKWARD> line = lines.line<LENGTH, BACKWARD>(strip.line);
    const long long last = BACKWARD ? line.begin : line.end - 1;
    const T factor = affine_factor(view.factor(strip.line, 0));
    const WarpPowers powers = warp_powers((double)factor, LENGTH);
    double gradient = 0;
    T now[VECTORS][LENGTH], next[VECTORS][LENGTH];
    load_tile(line, view.x, packed, strip.begin, now);
    unsigned turn = 0;
    for (size_t tile = strip.begin; tile < strip.end; tile++, turn ^= 1) {
        Affine<double> before[VECTORS], chain;
#pragma unroll
        for (unsigned v = 0; v < VECTORS; v++) {
            T sum = now[v][0];
#pragma unroll
            for (unsigned k = 1; k < LENGTH; k++) sum = factor * sum + now[v][k];
            Affine<double> total;
            const Affine<double> lanes = warp_scan_sums(powers, (double)sum, &total);
            before[v] = chain;
            before[v].merge(lanes);
            chain.merge(total);
        }
        const bool more = tile + 1 < strip.end;
        if (more) load_tile(line, view.x, packed, tile + 1, next);
        const Affine<double> outer = block_carry(chain, totals[turn], &carry);
        if (WRITE) {
#pragma unroll
            for (unsigned v = 0; v < VECTORS; v++) {
                const long long low = line.first(scan_position<VECTORS, LENGTH>(tile, v));
                Affine<double> all = outer;
                all.merge(before[v]);
                T sum = (T)all.b, out[LENGTH], carried[LENGTH];
                line.load(carries, low, packed, (T)0, carried);
#pragma unroll
                for (unsigned k = 0; k < LENGTH; k++) {
                    sum = factor * sum + now[v][k];
                    out[k] = sum;
                    /* Nothing was carried into the row's first element, which is the last here: not even 0, should dx be inf. */
                    const long long flat = line.at(low, k);
                    if (line.holds(flat) && flat != last) gradient += (double)sum * (double)carried[k];
                }
                line.store(view.y, low, packed, out);
            }
        }
        if (more) move_tile(next, now);
    }
    if (!WRITE && threadIdx.x == 0) maps[strip.index] = carry;
    if (!WRITE) return;
    gradient = gradient_block_sum(gradient, sums);
    if (threadIdx.x == 0) partials[strip.index] = gradient;
}

/* Second scan with a factor for each element: what is carried on from an element is its own factor times its dx, or nothing.
 * partials: one gamma to a line; products: one to an element; both null: dx alone. */
template <typename T, bool BACKWARD, unsigned VECTORS, bool WRITE>
static __global__ void __launch_bounds__(SCAN_THREADS_MAX)
    general_adjoint_kernel(DiscountReader<T, BACKWARD> reader, ScanShape shape, Affine<double> *maps, const T *carries,
                           double *partials, T *products) {
    constexpr unsigned LENGTH = VectorOf<T>::LENGTH;
    __shared__ Affine<double> totals[2][SCAN_THREADS_MAX / WARP];
    __shared__ GradientSum sums[WARP];
    const ScanStrip strip = scan_strip(shape, WRITE);
    Affine<double> carry;
    if (WRITE && shape.strips > 1) carry = maps[strip.index];
    reader.begin(strip.line);
    double gradient = 0;
    DiscountItems<T> now[VECTORS], next[VECTORS];
    load_tile(reader, strip.begin, now);
    unsigned turn = 0;
    for (size_t tile = strip.begin; tile < strip.end; tile++, turn ^= 1) {
        Affine<double> before[VECTORS], chain;
#pragma unroll
        for (unsigned v = 0; v < VECTORS; v++) {
            Affine<T> own;
#pragma unroll
            for (unsigned k = 0; k < LENGTH; k++) {
                const T factor = now[v].factor[k];
                own.merge({factor, affine_is_cut(factor) ? 0 : factor * now[v].x[k]});
            }
            Affine<double> total;
            const Affine<double> lanes = warp_scan_maps(Affine<double>{(double)own.a, (double)own.b}, &total);
            before[v] = chain;
            before[v].merge(lanes);
            chain.merge(total);
        }
        const bool more = tile + 1 < strip.end;
        if (more) load_tile(reader, tile + 1, next);
        const Affine<double> outer = block_carry(chain, totals[turn], &carry);
        if (WRITE) {
#pragma unroll
            for (unsigned v = 0; v < VECTORS; v++) {
                const long long low = reader.line.first(scan_position<VECTORS, LENGTH>(tile, v));
                Affine<double> all = outer;
                all.merge(before[v]);
                T into = (T)all.b, out[LENGTH], carried[LENGTH] = {}, product[LENGTH];
                if (partials || products) reader.line.load(carries, low, reader.packed, (T)0, carried);
#pragma unroll
                for (unsigned k = 0; k < LENGTH; k++) {
                    const T factor = now[v].factor[k];
                    const bool cut = affine_is_cut(factor);
                    out[k] = now[v].x[k] + into;
                    into = cut ? 0 : factor * out[k];
                    const double both = cut || !reader.line.holds(reader.line.at(low, k)) ? 0 : (double)out[k] * (double)carried[k];
                    product[k] = (T)both;
                    gradient += both;
                }
                reader.line.store(reader.view.y, low, reader.packed, out);
                if (products) reader.line.store(products, low, reader.packed, product);
            }
        }
        if (more) move_tile(next, now);
    }
    if (!WRITE && threadIdx.x == 0) maps[strip.index] = carry;
    if (!WRITE || !partials) return;
    gradient = gradient_block_sum(gradient, sums);
    if (threadIdx.x == 0) partials[strip.index] = gradient;
}

/* dgamma of each row from its dx and carries: block b has row b. */
template <typename T>
static __global__ void __launch_bounds__(GRADIENT_THREADS)
    rows_kernel(DiscountView<T> view, bool right, const T *carries, const T *dx, T *dgamma) {
    __shared__ GradientSum totals[WARP];
    const size_t row = blockIdx.x * view.n, first = right ? view.n - 1 : 0;
    double sum = 0;
    for (size_t i = threadIdx.x; i < view.n; i += blockDim.x) {
        const bool cut = i == first || (view.reset && view.reset[row + i]);
        if (!cut) sum += (double)dx[row + i] * (double)carries[row + i];
    }
    sum = gradient_block_sum(sum, totals);
    if (threadIdx.x == 0) dgamma[blockIdx.x] = (T)sum;
}

/* Scratch: carries, a number for each block, maps of strips. */
struct GradientPlan {
    DiscountLines lines;
    ScanShape shape;
    bool uniform, by_block; /* by_block: blocks add up the gradients of their lines */
    size_t blocks, carries_bytes, partials_bytes, bytes;
};

static GradientPlan plan_of(const VariantArgs *args) {
    const ScanChoice choice = scan_choice(args);
    const DiscountGamma per = discount_gamma_per(args);
    const unsigned length = discount_is_f64(args) ? VectorOf<double>::LENGTH : VectorOf<float>::LENGTH;
    GradientPlan plan = {};
    plan.lines = scan_lines(args, choice.threads, length);
    plan.uniform = discount_is_uniform(args) && plan.lines.rows == 1;
    plan.shape = scan_shape(plan.lines, choice, length, plan.uniform ? UNIFORM_VECTORS : GENERAL_VECTORS);
    plan.by_block = per == DISCOUNT_GAMMA_ALL || (per == DISCOUNT_GAMMA_ROW && plan.lines.rows == 1);
    plan.blocks = plan.shape.lines * plan.shape.strips;
    plan.carries_bytes = gradient_array_bytes(args);
    plan.partials_bytes = plan.by_block ? gradient_align(plan.blocks * sizeof(double)) : 0;
    plan.bytes = plan.carries_bytes + plan.partials_bytes + scan_scratch_bytes(plan.shape);
    return plan;
}

static size_t scratch_bytes(const VariantArgs *args) {
    return discount_is_empty(args) ? 0 : plan_of(args).bytes;
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (!scan_choice_supports(args, reason) || !gradient_supports(args, reason)) return false;
    return discount_is_empty(args) || discount_fits_grid(args, plan_of(args).blocks, reason);
}

/* Both scans. VECTORS: of a thread in a tile. */
template <typename T, bool RIGHT, unsigned VECTORS>
static Status run_uniform(const VariantArgs *args, const GradientPlan &plan, T *carries, double *partials, Affine<double> *maps) {
    const DiscountView<T> sums = gradient_sums_view(args, carries), adjoint = gradient_adjoint_view<T>(args);
    const LaunchShape blocks = scan_strips_launch(plan.shape, args->stream);
    const bool packed = discount_is_packed(args);
    const T *carried = carries;
    TRY(scan_strips(args, plan.shape, maps, [&]<bool WRITE>() {
        return launch(uniform_kernel<T, RIGHT, VECTORS, WRITE, true>, blocks, sums, plan.lines, packed, plan.shape, maps);
    }));
    return scan_strips(args, plan.shape, maps, [&]<bool WRITE>() {
        return launch(uniform_adjoint_kernel<T, !RIGHT, VECTORS, WRITE>, blocks, adjoint, plan.lines, packed, plan.shape, maps,
                      carried, partials);
    });
}

template <typename T, bool RIGHT, unsigned VECTORS>
static Status run_general(const VariantArgs *args, const GradientPlan &plan, T *carries, double *partials, Affine<double> *maps) {
    const bool packed = discount_is_packed(args);
    const DiscountReader<T, RIGHT> sums = {gradient_sums_view(args, carries), plan.lines, packed, {}, 0, 0};
    const DiscountReader<T, !RIGHT> adjoint = {gradient_adjoint_view<T>(args), plan.lines, packed, {}, 0, 0};
    const LaunchShape blocks = scan_strips_launch(plan.shape, args->stream);
    const T *carried = carries;
    T *products = discount_gamma_per(args) == DISCOUNT_GAMMA_ELEMENT ? (T *)args->out[OUT_DGAMMA].data : nullptr;
    TRY(scan_strips(args, plan.shape, maps, [&]<bool WRITE>() {
        return launch(general_kernel<T, RIGHT, VECTORS, WRITE, true>, blocks, sums, plan.shape, maps);
    }));
    return scan_strips(args, plan.shape, maps, [&]<bool WRITE>() {
        return launch(general_adjoint_kernel<T, !RIGHT, VECTORS, WRITE>, blocks, adjoint, plan.shape, maps, carried, partials,
                      products);
    });
}

static Status run(const VariantArgs *args) {
    return gradient_run(args, [args]<typename T, bool RIGHT>() {
        const GradientPlan plan = plan_of(args);
        const size_t n = discount_n(args), outputs = gradient_outputs(args), count = plan.blocks / (plan.by_block ? outputs : 1);
        T *carries = (T *)args->scratch, *dgamma = (T *)args->out[OUT_DGAMMA].data;
        double *const room = (double *)((char *)args->scratch + plan.carries_bytes), *partials = plan.by_block ? room : nullptr;
        Affine<double> *maps = (Affine<double> *)((char *)room + plan.partials_bytes);
        const bool small = plan.shape.vectors == 1;
        if (plan.uniform)
            TRY((small ? run_uniform<T, RIGHT, 1>(args, plan, carries, partials, maps)
                       : run_uniform<T, RIGHT, UNIFORM_VECTORS>(args, plan, carries, partials, maps)));
        else
            TRY((small ? run_general<T, RIGHT, 1>(args, plan, carries, partials, maps)
                       : run_general<T, RIGHT, GENERAL_VECTORS>(args, plan, carries, partials, maps)));
        if (discount_gamma_per(args) == DISCOUNT_GAMMA_ELEMENT) return STATUS_OK;
        if (plan.by_block)
            return launch(sum_kernel<T>, gradient_sum_launch(outputs, count, args->stream), (const double *)partials, count,
                          dgamma);
        const LaunchShape rows = {dim3((unsigned)outputs), dim3(gradient_threads(divide_up(n, 2), GRADIENT_THREADS)), 0,
                                  args->stream};
        return launch(rows_kernel<T>, rows, discount_view<T>(args), RIGHT, (const T *)carries, (const T *)args->out[OUT_DX].data,
                      dgamma);
    });
}

static const char *const TILES[] = {"auto", "small", "large", NULL};
static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block, a multiple of 32", PARAM_INT, "256", 32, SCAN_THREADS_MAX, NULL},
    {"strips", "parts of a row, a block each; 0: by shape, 1: one block and one launch", PARAM_INT, "0", 0, 65536, NULL},
    {"tiles", "elements of a thread at a time: small: 16 bytes, large: several times that", PARAM_CHOICE, "auto", 0, 0, TILES},
    {},
};

RUNGS_VARIANT(discounted_cumsum_grad, cuda_block_scan) = {
    .backend = BACKEND_CUDA,
    .summary = "two block scans, the second multiplies by what the first has carried",
    .origin = "Blelloch 1990; adjoint of a linear recurrence",
    .tunables = TUNABLES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
