/* Idea: the log stages of discounted_cumsum's cuda_log_stage_general, twice: the sums of x, and those of dy the other way, which
 * are dx. Then the products of dx and the sums, and their sum for each gamma.
 * Traffic: twice a copy and log2(n) times half of the array read and written, then two reads; with factors twice that.
 * Rounding: trees of depth log2(n), and the error of pow(); products and their sums in double.
 * Limits: no sums of k terms; 2^31 - 1 blocks. Where gamma^distance underflows to 0, inf becomes NaN; where it overflows (|gamma| > 1),
 *   0 does.
 * Origin: torch-discounted-cumsum 1.1.0, generalised; dgamma by the adjoint. */
#include "common/discounted_cumsum/stage.cuh"
#include "discounted_cumsum_grad/_shared.cuh"

enum { THREADS = 64 };

/* A stage of a scan in direction BACKWARD, one factor to a row. Each row has blocks_per_row blocks. */
template <typename T, bool BACKWARD>
static __global__ void uniform_kernel(DiscountView<T> view, unsigned stage, unsigned blocks_per_row) {
    const unsigned row = blockIdx.x / blocks_per_row;
    const size_t t = (size_t)(blockIdx.x - row * blocks_per_row) * blockDim.x + threadIdx.x;
    const StagePair pair = stage_pair<BACKWARD>(t, stage);
    if (pair.to >= view.n || pair.from >= view.n) return;
    T *y = view.y + row * view.n;
    y[pair.to] += y[pair.from] * stage_pow(affine_factor(view.factor(row, 0)), pair.power);
}

/* Any factors: factors[i] is the product of those from element i to the end of its group. */
template <typename T, bool BACKWARD>
static __global__ void products_kernel(DiscountView<T> view, T *factors, unsigned stage, unsigned blocks_per_row) {
    const unsigned row = blockIdx.x / blocks_per_row;
    const size_t t = (size_t)(blockIdx.x - row * blocks_per_row) * blockDim.x + threadIdx.x;
    const StagePair pair = stage_pair<BACKWARD>(t, stage);
    if (pair.to >= view.n || pair.from >= view.n) return;
    T *y = view.y + row * view.n;
    factors += row * view.n;
    const T factor = factors[pair.to];
    y[pair.to] = Affine<T>{factor, y[pair.to]}.of(y[pair.from]);
    factors[pair.to] = affine_product(factors[pair.from], factor);
}

/* Before the first stage: a group is an element. */
template <typename T> static __global__ void factors_kernel(DiscountView<T> view, bool right, bool backward, T *factors) {
    const size_t flat = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (flat >= view.batch * view.n) return;
    const size_t row = flat / view.n;
    factors[flat] = stage_factor(view, right, backward, row, flat - row * view.n);
}

/* Products of dx and the sums: into dgamma if each element has a gamma, else their sum over each part of a row into partials. */
template <typename T>
static __global__ void __launch_bounds__(GRADIENT_THREADS)
    gradient_kernel(DiscountView<T> view, bool right, const T *y, const T *dx, T *dgamma, double *partials, unsigned parts) {
    __shared__ GradientSum totals[WARP];
    const unsigned row = blockIdx.x / parts, part = blockIdx.x - row * parts;
    const size_t begin = (size_t)part * GRADIENT_PART, end = view.n - begin < GRADIENT_PART ? view.n : begin + GRADIENT_PART;
    double sum = 0;
    for (size_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
        const double product = gradient_product(view, right, row, i, y, dx);
        if (dgamma) dgamma[row * view.n + i] = (T)product;
        sum += product;
    }
    if (dgamma) return;
    sum = gradient_block_sum(sum, totals);
    if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

/* Block b adds up terms[b count .. (b + 1) count), always in the same order. */
template <typename T>
static __global__ void __launch_bounds__(GRADIENT_SUM_THREADS) sum_kernel(const double *terms, size_t count, T *sums) {
    __shared__ GradientSum totals[WARP];
    terms += blockIdx.x * count;
    double sum = 0;
    for (size_t i = threadIdx.x; i < count; i += blockDim.x) sum += terms[i];
    sum = gradient_block_sum(sum, totals);
    if (threadIdx.x == 0) sums[blockIdx.x] = (T)sum;
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return gradient_supports(args, reason) && stage_supports(args, THREADS, reason);
}

/* The rest: factors. */
static size_t scratch_bytes(const VariantArgs *args) {
    return gradient_scratch_bytes(args, discount_is_uniform(args) ? 0 : gradient_array_bytes(args));
}

/* From view.x into view.y; sums run in direction RIGHT, this scan in direction BACKWARD. */
template <typename T, bool RIGHT, bool BACKWARD>
static Status scan(const VariantArgs *args, const DiscountView<T> &view, T *factors) {
    const size_t count = view.batch * view.n;
    const bool uniform = discount_is_uniform(args);
    TRY_CUDA(cudaMemcpyAsync(view.y, view.x, count * sizeof(T), cudaMemcpyDeviceToDevice, (cudaStream_t)args->stream));
    const LaunchShape flat = {dim3((unsigned)divide_up(count, STAGE_FLAT_THREADS)), dim3(STAGE_FLAT_THREADS), 0, args->stream};
    if (!uniform) TRY(launch(factors_kernel<T>, flat, view, RIGHT, BACKWARD, factors));
    for (unsigned stage = 0; stage < stage_count(view.n); stage++) {
        const unsigned blocks = (unsigned)divide_up(stage_pairs<BACKWARD>(view.n, stage), THREADS);
        const LaunchShape shape = {dim3(blocks * (unsigned)view.batch), dim3(THREADS), 0, args->stream};
        TRY(uniform ? launch(uniform_kernel<T, BACKWARD>, shape, view, stage, blocks)
                    : launch(products_kernel<T, BACKWARD>, shape, view, factors, stage, blocks));
    }
    return STATUS_OK;
}

/* Both scans are done: dgamma from the sums and dx. */
template <typename T> static Status finish(const VariantArgs *args, const T *sums, double *partials) {
    const DiscountView<T> view = discount_view<T>(args);
    const size_t parts = gradient_parts(view.n), outputs = gradient_outputs(args), count = view.batch * parts / outputs;
    const LaunchShape shape = {dim3((unsigned)(view.batch * parts)), dim3(gradient_threads(view.n, GRADIENT_THREADS)), 0,
                               args->stream};
    const T *dx = (const T *)args->out[OUT_DX].data;
    T *dgamma = (T *)args->out[OUT_DGAMMA].data;
    const bool each = view.gamma_per == DISCOUNT_GAMMA_ELEMENT, right = discount_is_right(args);
    TRY(launch(gradient_kernel<T>, shape, view, right, sums, dx, each ? dgamma : nullptr, partials, (unsigned)parts));
    if (each) return STATUS_OK;
    return launch(sum_kernel<T>, gradient_sum_launch(outputs, count, args->stream), (const double *)partials, count, dgamma);
}

template <typename T, bool RIGHT> static Status run_typed(const VariantArgs *args) {
    const GradientScratch<T> scratch = gradient_scratch<T>(args);
    TRY((scan<T, RIGHT, RIGHT>(args, gradient_sums_view(args, scratch.sums), (T *)scratch.rest)));
    TRY((scan<T, RIGHT, !RIGHT>(args, gradient_adjoint_view<T>(args), (T *)scratch.rest)));
    return finish(args, (const T *)scratch.sums, scratch.partials);
}

static Status run(const VariantArgs *args) {
    if (discount_is_empty(args)) return gradient_of_nothing(args);
    const bool right = discount_is_right(args);
    if (discount_is_f64(args)) return right ? run_typed<double, true>(args) : run_typed<double, false>(args);
    return right ? run_typed<float, true>(args) : run_typed<float, false>(args);
}

RUNGS_VARIANT(discounted_cumsum_grad, cuda_log_stage_general) = {
    .backend = BACKEND_CUDA,
    .summary = "log-stage with no idle threads, 64-bit indices and any factors, both ways, then products and their sums",
    .origin = "torch-discounted-cumsum 1.1.0; generalised",
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
