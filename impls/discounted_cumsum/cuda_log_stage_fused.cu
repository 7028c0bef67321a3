/* Idea: the stages of cuda_log_stage, the first eleven in one launch: a block has 2048 elements in shared memory and joins their
 * groups there; only groups of 2048 and more are joined in launches of their own. Powers come from a table that doubles with the
 * groups (gamma^(h+j) = gamma^h gamma^j), and by squaring later on.
 * Traffic: 1 read and 1 write of n, then log2(n / 2048) times half of y read and written; with factors twice that.
 * Rounding: a tree of depth log2(n), and that of the powers, of the same depth.
 * Limits: none on n; 2^31 - 1 blocks. Sums of k terms: as cuda_log_stage.
 * Origin: cuda_log_stage. */
#include "common/discounted_cumsum/stage.cuh"

enum { THREADS = 256, TILE_STAGES = 11, TILE = 1 << TILE_STAGES };

/* Reads a tile of x, writes a tile of y, and of the factors' products in PRODUCTS. */
template <typename T, bool RIGHT, bool PRODUCTS>
static __global__ void __launch_bounds__(THREADS) tile_kernel(DiscountView<T> view, T *factors, unsigned blocks_per_row) {
    __shared__ T sums[TILE], powers[PRODUCTS ? TILE : TILE / 2 + 1]; /* powers[j]: gamma^j, or the product of element j */
    const unsigned row = blockIdx.x / blocks_per_row;
    const size_t begin = (size_t)(blockIdx.x - row * blocks_per_row) * TILE, base = row * view.n + begin;
    const unsigned length = view.n - begin < TILE ? (unsigned)(view.n - begin) : TILE;
    for (unsigned i = threadIdx.x; i < length; i += THREADS) {
        sums[i] = view.x[base + i];
        if (PRODUCTS) powers[i] = stage_factor(view, RIGHT, row, begin + i);
    }
    if (!PRODUCTS && threadIdx.x < 2) powers[threadIdx.x] = threadIdx.x == 0 ? 1 : affine_factor(view.factor(row, 0));
    __syncthreads();
    for (unsigned stage = 0; stage < TILE_STAGES && 1u << stage < length; stage++) {
        const unsigned half = 1u << stage;
        for (unsigned t = threadIdx.x; t < TILE / 2; t += THREADS) {
            const StagePair pair = stage_pair<RIGHT>(t, stage);
            if (pair.to >= length || pair.from >= length) continue;
            if (PRODUCTS) {
                const T factor = powers[pair.to];
                sums[pair.to] = Affine<T>{factor, sums[pair.to]}.of(sums[pair.from]);
                powers[pair.to] = affine_product(powers[pair.from], factor);
            } else {
                sums[pair.to] += sums[pair.from] * powers[pair.power];
            }
        }
        /* The next stage's powers are not those that this one reads. */
        if (!PRODUCTS && 2 * half <= TILE / 2)
            for (unsigned j = threadIdx.x + 1; j <= half; j += THREADS) powers[half + j] = affine_product(powers[half], powers[j]);
        __syncthreads();
    }
    for (unsigned i = threadIdx.x; i < length; i += THREADS) {
        view.y[base + i] = sums[i];
        if (PRODUCTS && view.n > TILE) factors[base + i] = powers[i];
    }
}

static size_t tiles_of(const VariantArgs *args) {
    return divide_up(discount_n(args), TILE);
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return stage_supports(args, THREADS, reason) && discount_fits_grid(args, tiles_of(args) * discount_batch(args), reason);
}

static size_t scratch_bytes(const VariantArgs *args) {
    return discount_terms(args) == 0 && discount_n(args) <= TILE ? 0 : stage_scratch_bytes(args);
}

namespace { /* every variant has its own Kernels */
template <typename T, bool RIGHT> struct Kernels {
    static Status launch_on(const VariantArgs *args, const DiscountView<T> &view) {
        const size_t terms = discount_terms(args);
        if (terms > 0) return stage_window<T, RIGHT>(view, terms, args->scratch, args->stream);
        const unsigned tiles = (unsigned)tiles_of(args);
        const LaunchShape shape = {dim3(tiles * (unsigned)view.batch), dim3(THREADS), 0, args->stream};
        T *factors = (T *)args->scratch;
        if (discount_is_uniform(args)) {
            TRY(launch(tile_kernel<T, RIGHT, false>, shape, view, factors, tiles));
            return stage_launches<T, RIGHT, STAGE_SQUARING>(view, factors, TILE_STAGES, THREADS, args->stream);
        }
        TRY(launch(tile_kernel<T, RIGHT, true>, shape, view, factors, tiles));
        return stage_launches<T, RIGHT, STAGE_PRODUCTS>(view, factors, TILE_STAGES, THREADS, args->stream);
    }
};
} // namespace

static Status run(const VariantArgs *args) {
    return discount_dispatch<Kernels>(args);
}

RUNGS_VARIANT(discounted_cumsum, cuda_log_stage_fused) = {
    .backend = BACKEND_CUDA,
    .summary = "log-stage with the first eleven stages in shared memory, powers by squaring",
    .origin = "torch-discounted-cumsum 1.1.0; stages fused",
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
