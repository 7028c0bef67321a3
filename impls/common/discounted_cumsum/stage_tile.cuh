/* stage_tile.cuh - the stages of stage.cuh, the first eleven of them in one launch: a block has 2048 elements in shared memory and
 * joins their groups there. Powers of a row's one factor come from a table that doubles with the groups (gamma^(h+j) = gamma^h
 * gamma^j), later on by squaring. */
#ifndef RUNGS_DISCOUNT_STAGE_TILE_CUH
#define RUNGS_DISCOUNT_STAGE_TILE_CUH

#include "common/discounted_cumsum/stage.cuh"

enum { STAGE_TILE_THREADS = 256, STAGE_TILE_STAGES = 11, STAGE_TILE = 1 << STAGE_TILE_STAGES };

/* RIGHT: the direction of the sums, BACKWARD that of this scan. Reads a tile of x, writes a tile of y, and of the factors' products
 * in PRODUCTS. */
template <typename T, bool RIGHT, bool BACKWARD, bool PRODUCTS>
static __global__ void __launch_bounds__(STAGE_TILE_THREADS)
    stage_tile_kernel(DiscountView<T> view, T *factors, unsigned blocks_per_row) {
    __shared__ T sums[STAGE_TILE],
        powers[PRODUCTS ? STAGE_TILE : STAGE_TILE / 2 + 1]; /* powers[j]: gamma^j, or the product of element j */
    const unsigned row = blockIdx.x / blocks_per_row;
    const size_t begin = (size_t)(blockIdx.x - row * blocks_per_row) * STAGE_TILE, base = row * view.n + begin;
    const unsigned length = view.n - begin < STAGE_TILE ? (unsigned)(view.n - begin) : STAGE_TILE;
    for (unsigned i = threadIdx.x; i < length; i += STAGE_TILE_THREADS) {
        sums[i] = view.x[base + i];
        if (PRODUCTS) powers[i] = stage_factor(view, RIGHT, BACKWARD, row, begin + i);
    }
    if (!PRODUCTS && threadIdx.x < 2) powers[threadIdx.x] = threadIdx.x == 0 ? 1 : affine_factor(view.factor(row, 0));
    __syncthreads();
    for (unsigned stage = 0; stage < STAGE_TILE_STAGES && 1u << stage < length; stage++) {
        const unsigned half = 1u << stage;
        for (unsigned t = threadIdx.x; t < STAGE_TILE / 2; t += STAGE_TILE_THREADS) {
            const StagePair pair = stage_pair<BACKWARD>(t, stage);
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
        if (!PRODUCTS && 2 * half <= STAGE_TILE / 2)
            for (unsigned j = threadIdx.x + 1; j <= half; j += STAGE_TILE_THREADS)
                powers[half + j] = affine_product(powers[half], powers[j]);
        __syncthreads();
    }
    for (unsigned i = threadIdx.x; i < length; i += STAGE_TILE_THREADS) {
        view.y[base + i] = sums[i];
        if (PRODUCTS && view.n > STAGE_TILE) factors[base + i] = powers[i];
    }
}

static inline size_t stage_tiles(size_t n) {
    return divide_up(n, STAGE_TILE);
}

static inline bool stage_tile_supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return stage_supports(args, STAGE_TILE_THREADS, reason) &&
           discount_fits_grid(args, stage_tiles(discount_n(args)) * discount_batch(args), reason);
}

/* Must products of factors outlast the first launch? Rows that fit a tile have theirs in shared memory. */
static inline bool stage_tile_stores_factors(const VariantArgs *args) {
    return !discount_is_uniform(args) && discount_n(args) > STAGE_TILE;
}

/* From view.x into view.y. factors: like y, if stage_tile_stores_factors. */
template <typename T, bool RIGHT, bool BACKWARD>
static Status stage_tile_scan(const VariantArgs *args, const DiscountView<T> &view, T *factors) {
    const unsigned threads = STAGE_TILE_THREADS, tiles = (unsigned)stage_tiles(view.n);
    const LaunchShape shape = {dim3(tiles * (unsigned)view.batch), dim3(threads), 0, args->stream};
    if (discount_is_uniform(args)) {
        TRY(launch(stage_tile_kernel<T, RIGHT, BACKWARD, false>, shape, view, factors, tiles));
        return stage_launches<T, BACKWARD, STAGE_SQUARING>(view, factors, STAGE_TILE_STAGES, threads, args->stream);
    }
    TRY(launch(stage_tile_kernel<T, RIGHT, BACKWARD, true>, shape, view, factors, tiles));
    return stage_launches<T, BACKWARD, STAGE_PRODUCTS>(view, factors, STAGE_TILE_STAGES, threads, args->stream);
}

#endif
