/* stages.cuh - the log stages for every case: kernels and launches of both cuda_log_stage_general. That of discounted_cumsum tells
 * the idea. */
#pragma once

#include "common/discounted_cumsum/stage.cuh"

enum { THREADS = 64, FUSED_THREADS = 256, TILE_STAGES = 11, TILE = 1 << TILE_STAGES };

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

/* fused=1, one factor to a row: a tile of x to a tile of y. Shared memory: 2048 sums and the powers 0 .. 1024 of the factor, 12 KB
 * of float.
 */
template <typename T, bool BACKWARD>
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
            const StagePair pair = stage_pair<BACKWARD>(t, stage);
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
template <typename T, bool RIGHT, bool BACKWARD>
static __global__ void __launch_bounds__(FUSED_THREADS)
    products_tile_kernel(DiscountView<T> view, T *factors, unsigned blocks_per_row) {
    __shared__ T sums[TILE], products[TILE];
    const unsigned row = blockIdx.x / blocks_per_row;
    const size_t begin = (size_t)(blockIdx.x - row * blocks_per_row) * TILE, base = row * view.n + begin;
    const unsigned length = view.n - begin < TILE ? (unsigned)(view.n - begin) : TILE;
    for (unsigned i = threadIdx.x; i < length; i += FUSED_THREADS) {
        sums[i] = view.x[base + i];
        products[i] = stage_factor(view, RIGHT, BACKWARD, row, begin + i);
    }
    __syncthreads();
    for (unsigned stage = 0; stage < TILE_STAGES && 1u << stage < length; stage++) {
        for (unsigned t = threadIdx.x; t < TILE / 2; t += FUSED_THREADS) {
            const StagePair pair = stage_pair<BACKWARD>(t, stage);
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
template <typename T, bool BACKWARD>
static __global__ void uniform_power_kernel(DiscountView<T> view, unsigned stage, unsigned blocks_per_row) {
    const unsigned row = blockIdx.x / blocks_per_row;
    const size_t t = (size_t)(blockIdx.x - row * blocks_per_row) * blockDim.x + threadIdx.x;
    const StagePair pair = stage_pair<BACKWARD>(t, stage);
    if (pair.to >= view.n || pair.from >= view.n) return;
    T *y = view.y + row * view.n;
    y[pair.to] += y[pair.from] * affine_power(affine_factor(view.factor(row, 0)), pair.power);
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

/* fused=0: a copy; factors(shape) makes the factors of elements, which are groups of one. */
template <typename T, typename Call> static Status begin_copy(const VariantArgs *args, const DiscountView<T> &view, Call factors) {
    const size_t count = view.batch * view.n;
    const LaunchShape flat = {dim3((unsigned)divide_up(count, STAGE_FLAT_THREADS)), dim3(STAGE_FLAT_THREADS), 0, args->stream};
    TRY_CUDA(cudaMemcpyAsync(view.y, view.x, count * sizeof(T), cudaMemcpyDeviceToDevice, (cudaStream_t)args->stream));
    return discount_is_uniform(args) ? STATUS_OK : factors(flat);
}

/* fused=1: the stages up to groups of TILE. */
template <typename T, bool RIGHT, bool BACKWARD>
static Status begin_fused(const VariantArgs *args, const DiscountView<T> &view, T *factors) {
    const unsigned tiles = (unsigned)tiles_of(args);
    const LaunchShape shape = {dim3(tiles * (unsigned)view.batch), dim3(FUSED_THREADS), 0, args->stream};
    return discount_is_uniform(args) ? launch(uniform_tile_kernel<T, BACKWARD>, shape, view, tiles)
                                     : launch(products_tile_kernel<T, RIGHT, BACKWARD>, shape, view, factors, tiles);
}

/* A scan from view.x into view.y in direction BACKWARD; sums run in direction RIGHT. call: see begin_copy(). */
template <typename T, bool RIGHT, bool BACKWARD, typename Call>
static Status run_stages(const VariantArgs *args, const DiscountView<T> &view, T *factors, Call call) {
    const bool uniform = discount_is_uniform(args), fused = is_fused(args);
    TRY((fused ? begin_fused<T, RIGHT, BACKWARD>(args, view, factors) : begin_copy(args, view, call)));
    for (unsigned stage = fused ? TILE_STAGES : 0; stage < stage_count(view.n); stage++) {
        const unsigned blocks = (unsigned)divide_up(stage_pairs<BACKWARD>(view.n, stage), threads_of(args));
        const LaunchShape shape = {dim3(blocks * (unsigned)view.batch), dim3(threads_of(args)), 0, args->stream};
        TRY(uniform ? launch(fused ? uniform_power_kernel<T, BACKWARD> : uniform_kernel<T, BACKWARD>, shape, view, stage, blocks)
                    : launch(products_kernel<T, BACKWARD>, shape, view, factors, stage, blocks));
    }
    return STATUS_OK;
}

static const ParamSpec TUNABLES[] = {
    {"fused", "1: the first eleven stages in one launch, in shared memory, powers by products; 0: a launch for each stage",
     PARAM_INT, "0", 0, 1, NULL},
    {},
};
