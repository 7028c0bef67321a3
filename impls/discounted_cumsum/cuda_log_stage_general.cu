/* Idea: cuda_log_stage for every case. A stage launches only the threads that have an element to add to. Indices are 64-bit, stages
 * are counted in integers, and powers have the sign of their integer exponent. Factors of each element and masks: products of
 * factors in an array of their own, doubled along with the sums. Sums of k terms: maps of 2^s elements, doubled; those that the
 * bits of k ask for are composed. fused=1: the first eleven stages in one launch. A block has 2048 elements in shared memory and
 * joins their groups there; only groups of 2048 and more are joined in launches of their own. Powers come from a table that doubles
 * with the groups (gamma^(h+j) = gamma^h gamma^j), and by squaring later on.
 * Traffic: a copy, then log2(n) times half of y read and written; with factors twice that. fused=1: 1 read and 1 write of n, then
 *   log2(n / 2048) times that. k: log2(k) times 2 reads and 2 writes of maps.
 * Rounding: a tree of depth log2(n), and the error of pow(); fused=1: and that of the powers, of the same depth.
 * Limits: 2^31 - 1 blocks. Sums of k terms: the powers that join groups are within the range of the dtype. After a sum beyond the range,
 *   later sums may be finite. fused=0: where gamma^distance underflows to 0, inf becomes NaN; where it overflows (|gamma| > 1), 0
 * does.
 * Origin: torch-discounted-cumsum 1.1.0, generalised; stages fused. */
#include "common/discounted_cumsum/stage.cuh"

enum { THREADS = 64, FUSED_THREADS = 256, TILE_STAGES = 11, TILE = 1 << TILE_STAGES };

/* One factor to a row. Each row has blocks_per_row blocks. */
template <typename T, bool RIGHT>
static __global__ void uniform_kernel(DiscountView<T> view, unsigned stage, unsigned blocks_per_row) {
    const unsigned row = blockIdx.x / blocks_per_row;
    const size_t t = (size_t)(blockIdx.x - row * blocks_per_row) * blockDim.x + threadIdx.x;
    const StagePair pair = stage_pair<RIGHT>(t, stage);
    if (pair.to >= view.n || pair.from >= view.n) return;
    T *y = view.y + row * view.n;
    y[pair.to] += y[pair.from] * stage_pow(affine_factor(view.factor(row, 0)), pair.power);
}

/* Any factors: factors[i] is the product of those from element i to the end of its group. */
template <typename T, bool RIGHT>
static __global__ void products_kernel(DiscountView<T> view, T *factors, unsigned stage, unsigned blocks_per_row) {
    const unsigned row = blockIdx.x / blocks_per_row;
    const size_t t = (size_t)(blockIdx.x - row * blocks_per_row) * blockDim.x + threadIdx.x;
    const StagePair pair = stage_pair<RIGHT>(t, stage);
    if (pair.to >= view.n || pair.from >= view.n) return;
    T *y = view.y + row * view.n;
    factors += row * view.n;
    const T factor = factors[pair.to];
    y[pair.to] = Affine<T>{factor, y[pair.to]}.of(y[pair.from]);
    factors[pair.to] = affine_product(factors[pair.from], factor);
}

/* Before the first stage: a group is an element. */
template <typename T> static __global__ void factors_kernel(DiscountView<T> view, bool right, T *factors) {
    const size_t flat = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (flat >= view.batch * view.n) return;
    const size_t row = flat / view.n;
    factors[flat] = stage_sums_factor(view, right, row, flat - row * view.n);
}

/* fused=1, one factor to a row: a tile of x to a tile of y. Shared memory: 2048 sums and the powers 0 .. 1024 of the factor, 12 KB
 * of float.
 */
template <typename T, bool RIGHT>
static __global__ void __launch_bounds__(FUSED_THREADS) uniform_tile_kernel(DiscountView<T> view, unsigned blocks_per_row) {
    __shared__ T sums[TILE], powers[TILE / 2 + 1];
    const unsigned row = blockIdx.x / blocks_per_row;
    const size_t begin = (size_t)(blockIdx.x - row * blocks_per_row) * TILE, base = row * view.n + begin;
    const unsigned length = view.n - begin < TILE ? (unsigned)(view.n - begin) : TILE;
    for (unsigned i = threadIdx.x; i < length; i += FUSED_THREADS) sums[i] = view.x[base + i];
    if (threadIdx.x < 2) powers[threadIdx.x] = threadIdx.x == 0 ? 1 : affine_factor(view.factor(row, 0));
    __syncthreads();
    for (unsigned stage = 0; stage < TILE_STAGES && 1u << stage < length; stage++) {
        const unsigned half = 1u << stage;
        for (unsigned t = threadIdx.x; t < TILE / 2; t += FUSED_THREADS) {
            const StagePair pair = stage_pair<RIGHT>(t, stage);
            if (pair.to >= length || pair.from >= length) continue;
            sums[pair.to] += sums[pair.from] * powers[pair.power];
        }
        /* The powers of the next stage are not those that this one reads. */
        if (2 * half <= TILE / 2)
            for (unsigned j = threadIdx.x + 1; j <= half; j += FUSED_THREADS)
                powers[half + j] = affine_product(powers[half], powers[j]);
        __syncthreads();
    }
    for (unsigned i = threadIdx.x; i < length; i += FUSED_THREADS) view.y[base + i] = sums[i];
}

/* fused=1, any factors: the product from each element to the end of its group stands beside its sum, and goes to `factors` for
 * later stages.
 */
template <typename T, bool RIGHT>
static __global__ void __launch_bounds__(FUSED_THREADS)
    products_tile_kernel(DiscountView<T> view, T *factors, unsigned blocks_per_row) {
    __shared__ T sums[TILE], products[TILE];
    const unsigned row = blockIdx.x / blocks_per_row;
    const size_t begin = (size_t)(blockIdx.x - row * blocks_per_row) * TILE, base = row * view.n + begin;
    const unsigned length = view.n - begin < TILE ? (unsigned)(view.n - begin) : TILE;
    for (unsigned i = threadIdx.x; i < length; i += FUSED_THREADS) {
        sums[i] = view.x[base + i];
        products[i] = stage_sums_factor(view, RIGHT, row, begin + i);
    }
    __syncthreads();
    for (unsigned stage = 0; stage < TILE_STAGES && 1u << stage < length; stage++) {
        for (unsigned t = threadIdx.x; t < TILE / 2; t += FUSED_THREADS) {
            const StagePair pair = stage_pair<RIGHT>(t, stage);
            if (pair.to >= length || pair.from >= length) continue;
            const T factor = products[pair.to];
            sums[pair.to] = Affine<T>{factor, sums[pair.to]}.of(sums[pair.from]);
            products[pair.to] = affine_product(products[pair.from], factor);
        }
        __syncthreads();
    }
    for (unsigned i = threadIdx.x; i < length; i += FUSED_THREADS) {
        view.y[base + i] = sums[i];
        if (view.n > TILE) factors[base + i] = products[i];
    }
}

/* fused=1: a later stage of one factor to a row. */
template <typename T, bool RIGHT>
static __global__ void uniform_power_kernel(DiscountView<T> view, unsigned stage, unsigned blocks_per_row) {
    const unsigned row = blockIdx.x / blocks_per_row;
    const size_t t = (size_t)(blockIdx.x - row * blocks_per_row) * blockDim.x + threadIdx.x;
    const StagePair pair = stage_pair<RIGHT>(t, stage);
    if (pair.to >= view.n || pair.from >= view.n) return;
    T *y = view.y + row * view.n;
    y[pair.to] += y[pair.from] * affine_power(affine_factor(view.factor(row, 0)), pair.power);
}

/* k terms, before the first stage: part[i] is the map of element i. */
template <typename T> static __global__ void window_begin_kernel(DiscountView<T> view, bool right, Affine<T> *part) {
    const size_t flat = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (flat >= view.batch * view.n) return;
    const size_t row = flat / view.n;
    part[flat] = {stage_sums_factor(view, right, row, flat - row * view.n), view.x[flat]};
}

/* k terms, stage s, half = 2^s: part[i] is the map of the half elements that begin at i, or as many as the row has; sum[i] that of
 * the `done` elements that the lower bits of k ask for. Appends what bit s asks for to sum, and doubles part. */
template <typename T, bool RIGHT>
static __global__ void window_kernel(DiscountView<T> view, Affine<T> *sum, const Affine<T> *part, Affine<T> *doubled, size_t done,
                                     size_t half, bool append, bool last) {
    const size_t flat = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (flat >= view.batch * view.n) return;
    const size_t row = flat / view.n, column = flat - row * view.n, left = RIGHT ? view.n - 1 - column : column;
    Affine<T> all = done == 0 ? Affine<T>() : sum[flat];
    if (append && left >= done) {
        Affine<T> behind = part[RIGHT ? flat + done : flat - done];
        behind.merge(all);
        all = behind;
    }
    if (last) {
        view.y[flat] = all.b;
        return;
    }
    sum[flat] = all;
    Affine<T> both = part[flat];
    if (left >= half) {
        Affine<T> behind = part[RIGHT ? flat + half : flat - half];
        behind.merge(both);
        both = behind;
    }
    doubled[flat] = both;
}

static bool is_fused(const VariantArgs *args) {
    return params_int(args->tunables, "fused") != 0;
}
static unsigned threads_of(const VariantArgs *args) {
    return is_fused(args) ? FUSED_THREADS : THREADS;
}
static size_t tiles_of(const VariantArgs *args) {
    return divide_up(discount_n(args), TILE);
}

/* Must products of factors outlast a launch? fused=1: those of rows of one tile stay in shared memory. */
static bool stores_factors(const VariantArgs *args) {
    return !discount_is_uniform(args) && (!is_fused(args) || discount_n(args) > TILE);
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (!stage_supports(args, threads_of(args), reason)) return false;
    return !is_fused(args) || discount_fits_grid(args, tiles_of(args) * discount_batch(args), reason);
}

/* k terms: three maps for each element, two values each. */
static size_t scratch_bytes(const VariantArgs *args) {
    const size_t bytes = array_bytes(&args->out[0]);
    return discount_terms(args) > 0 ? 6 * bytes : stores_factors(args) ? bytes : 0;
}

template <typename T, bool RIGHT> static Status run_windows(const VariantArgs *args, const DiscountView<T> &view) {
    const size_t count = view.batch * view.n, terms = discount_terms(args);
    const LaunchShape flat = {dim3((unsigned)divide_up(count, STAGE_FLAT_THREADS)), dim3(STAGE_FLAT_THREADS), 0, args->stream};
    Affine<T> *sum = (Affine<T> *)args->scratch, *part = sum + count, *doubled = part + count;
    TRY(launch(window_begin_kernel<T>, flat, view, RIGHT, part));
    size_t done = 0;
    for (size_t half = 1; half <= terms; half *= 2) {
        const bool append = (terms & half) != 0, last = half > terms / 2;
        TRY(launch(window_kernel<T, RIGHT>, flat, view, sum, part, doubled, done, half, append, last));
        if (append) done += half;
        Affine<T> *const swap = part;
        part = doubled;
        doubled = swap;
    }
    return STATUS_OK;
}

/* fused=0, before the first stage. */
template <typename T> static Status begin_copy(const VariantArgs *args, const DiscountView<T> &view, T *factors) {
    const size_t count = view.batch * view.n;
    const LaunchShape flat = {dim3((unsigned)divide_up(count, STAGE_FLAT_THREADS)), dim3(STAGE_FLAT_THREADS), 0, args->stream};
    TRY_CUDA(cudaMemcpyAsync(view.y, view.x, count * sizeof(T), cudaMemcpyDeviceToDevice, (cudaStream_t)args->stream));
    if (discount_is_uniform(args)) return STATUS_OK;
    return launch(factors_kernel<T>, flat, view, discount_is_right(args), factors);
}

/* fused=1: the stages up to groups of TILE. */
template <typename T, bool RIGHT> static Status begin_fused(const VariantArgs *args, const DiscountView<T> &view, T *factors) {
    const unsigned tiles = (unsigned)tiles_of(args);
    const LaunchShape shape = {dim3(tiles * (unsigned)view.batch), dim3(FUSED_THREADS), 0, args->stream};
    return discount_is_uniform(args) ? launch(uniform_tile_kernel<T, RIGHT>, shape, view, tiles)
                                     : launch(products_tile_kernel<T, RIGHT>, shape, view, factors, tiles);
}

template <typename T, bool RIGHT> static Status run_stages(const VariantArgs *args, const DiscountView<T> &view, T *factors) {
    const bool uniform = discount_is_uniform(args), fused = is_fused(args);
    TRY((fused ? begin_fused<T, RIGHT>(args, view, factors) : begin_copy(args, view, factors)));
    for (unsigned stage = fused ? TILE_STAGES : 0; stage < stage_count(view.n); stage++) {
        const unsigned blocks = (unsigned)divide_up(stage_pairs<RIGHT>(view.n, stage), threads_of(args));
        const LaunchShape shape = {dim3(blocks * (unsigned)view.batch), dim3(threads_of(args)), 0, args->stream};
        TRY(uniform ? launch(fused ? uniform_power_kernel<T, RIGHT> : uniform_kernel<T, RIGHT>, shape, view, stage, blocks)
                    : launch(products_kernel<T, RIGHT>, shape, view, factors, stage, blocks));
    }
    return STATUS_OK;
}

static Status run(const VariantArgs *args) {
    return discount_run(args, [args]<typename T, bool RIGHT>() {
        const DiscountView<T> view = discount_view<T>(args);
        return discount_terms(args) > 0 ? run_windows<T, RIGHT>(args, view) : run_stages<T, RIGHT>(args, view, (T *)args->scratch);
    });
}

static const ParamSpec TUNABLES[] = {
    {"fused", "1: the first eleven stages in one launch, in shared memory, powers by products; 0: a launch for each stage",
     PARAM_INT, "0", 0, 1, NULL},
    {},
};

RUNGS_VARIANT(discounted_cumsum, cuda_log_stage_general) = {
    .backend = BACKEND_CUDA,
    .summary = "log-stage with no idle threads, 64-bit indices, any factors, masks and sums of k terms",
    .origin = "torch-discounted-cumsum 1.1.0; generalised; stages fused",
    .tunables = TUNABLES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
