/* Idea: the fused stages of discounted_cumsum's cuda_log_stage_fused, twice: the sums of x, and those of dy the other way, which
 * are dx. Then the products of dx and the sums, and their sum for each gamma.
 * Traffic: twice 1 read and 1 write of n and log2(n / 2048) times half of the array read and written, then two reads; with factors twice
 *   that.
 * Rounding: trees of depth log2(n), and those of the powers, of the same depth; products and their sums in double.
 * Limits: no sums of k terms; 2^31 - 1 blocks.
 * Origin: cuda_log_stage_general. */
#include "common/discounted_cumsum/stage.cuh"
#include "discounted_cumsum_grad/_shared.cuh"

enum { THREADS = 256, TILE_STAGES = 11, TILE = 1 << TILE_STAGES };

/* One factor to a row: a tile of x to a tile of y. Shared memory: 2048 sums and the powers 0 .. 1024 of the factor, 12 KB of float.
 */
template <typename T, bool BACKWARD>
static __global__ void __launch_bounds__(THREADS) uniform_tile_kernel(DiscountView<T> view, unsigned blocks_per_row) {
    __shared__ T sums[TILE], powers[TILE / 2 + 1];
    const unsigned row = blockIdx.x / blocks_per_row;
    const size_t begin = (size_t)(blockIdx.x - row * blocks_per_row) * TILE, base = row * view.n + begin;
    const unsigned length = view.n - begin < TILE ? (unsigned)(view.n - begin) : TILE;
    for (unsigned i = threadIdx.x; i < length; i += THREADS) sums[i] = view.x[base + i];
    if (threadIdx.x < 2) powers[threadIdx.x] = threadIdx.x == 0 ? 1 : affine_factor(view.factor(row, 0));
    __syncthreads();
    for (unsigned stage = 0; stage < TILE_STAGES && 1u << stage < length; stage++) {
        const unsigned half = 1u << stage;
        for (unsigned t = threadIdx.x; t < TILE / 2; t += THREADS) {
            const StagePair pair = stage_pair<BACKWARD>(t, stage);
            if (pair.to >= length || pair.from >= length) continue;
            sums[pair.to] += sums[pair.from] * powers[pair.power];
        }
        /* The powers of the next stage are not those that this one reads. */
        if (2 * half <= TILE / 2)
            for (unsigned j = threadIdx.x + 1; j <= half; j += THREADS) powers[half + j] = affine_product(powers[half], powers[j]);
        __syncthreads();
    }
    for (unsigned i = threadIdx.x; i < length; i += THREADS) view.y[base + i] = sums[i];
}

/* Any factors: the product from each element to the end of its group stands beside its sum, and goes to `factors` for later stages.
 */
template <typename T, bool RIGHT, bool BACKWARD>
static __global__ void __launch_bounds__(THREADS) products_tile_kernel(DiscountView<T> view, T *factors, unsigned blocks_per_row) {
    __shared__ T sums[TILE], products[TILE];
    const unsigned row = blockIdx.x / blocks_per_row;
    const size_t begin = (size_t)(blockIdx.x - row * blocks_per_row) * TILE, base = row * view.n + begin;
    const unsigned length = view.n - begin < TILE ? (unsigned)(view.n - begin) : TILE;
    for (unsigned i = threadIdx.x; i < length; i += THREADS) {
        sums[i] = view.x[base + i];
        products[i] = stage_factor(view, RIGHT, BACKWARD, row, begin + i);
    }
    __syncthreads();
    for (unsigned stage = 0; stage < TILE_STAGES && 1u << stage < length; stage++) {
        for (unsigned t = threadIdx.x; t < TILE / 2; t += THREADS) {
            const StagePair pair = stage_pair<BACKWARD>(t, stage);
            if (pair.to >= length || pair.from >= length) continue;
            const T factor = products[pair.to];
            sums[pair.to] = Affine<T>{factor, sums[pair.to]}.of(sums[pair.from]);
            products[pair.to] = affine_product(products[pair.from], factor);
        }
        __syncthreads();
    }
    for (unsigned i = threadIdx.x; i < length; i += THREADS) {
        view.y[base + i] = sums[i];
        if (view.n > TILE) factors[base + i] = products[i];
    }
}

/* A later stage of one factor to a row. */
template <typename T, bool BACKWARD>
static __global__ void uniform_kernel(DiscountView<T> view, unsigned stage, unsigned blocks_per_row) {
    const unsigned row = blockIdx.x / blocks_per_row;
    const size_t t = (size_t)(blockIdx.x - row * blocks_per_row) * blockDim.x + threadIdx.x;
    const StagePair pair = stage_pair<BACKWARD>(t, stage);
    if (pair.to >= view.n || pair.from >= view.n) return;
    T *y = view.y + row * view.n;
    y[pair.to] += y[pair.from] * affine_power(affine_factor(view.factor(row, 0)), pair.power);
}

/* A later stage of any factors. */
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

static size_t tiles_of(size_t n) {
    return divide_up(n, TILE);
}

/* Must products of factors outlast the first launch? Those of rows of one tile stay in shared memory. */
static bool stores_factors(const VariantArgs *args) {
    return !discount_is_uniform(args) && discount_n(args) > TILE;
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return gradient_supports(args, reason) && stage_supports(args, THREADS, reason) &&
           discount_fits_grid(args, tiles_of(discount_n(args)) * discount_batch(args), reason);
}

/* The rest: factors. */
static size_t scratch_bytes(const VariantArgs *args) {
    return gradient_scratch_bytes(args, stores_factors(args) ? gradient_array_bytes(args) : 0);
}

/* From view.x into view.y; sums run in direction RIGHT, this scan in direction BACKWARD. */
template <typename T, bool RIGHT, bool BACKWARD>
static Status scan(const VariantArgs *args, const DiscountView<T> &view, T *factors) {
    const unsigned tiles = (unsigned)tiles_of(view.n);
    const LaunchShape tile = {dim3(tiles * (unsigned)view.batch), dim3(THREADS), 0, args->stream};
    const bool uniform = discount_is_uniform(args);
    TRY(uniform ? launch(uniform_tile_kernel<T, BACKWARD>, tile, view, tiles)
                : launch(products_tile_kernel<T, RIGHT, BACKWARD>, tile, view, factors, tiles));
    for (unsigned stage = TILE_STAGES; stage < stage_count(view.n); stage++) {
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

RUNGS_VARIANT(discounted_cumsum_grad, cuda_log_stage_fused) = {
    .backend = BACKEND_CUDA,
    .summary = "log-stage with the first eleven stages in shared memory, both ways, then products and their sums",
    .origin = "torch-discounted-cumsum 1.1.0; stages fused",
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
