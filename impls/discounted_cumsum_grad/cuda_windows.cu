/* Idea: sums of k terms; one thread for each element p, in reading order. With z[e] = dy[e] times the factors from p to e, and C[e]
 * what the window that ends at e carries into p,
 *     dx[p] = sum of z[e], e = p .. p + k - 1,        dgamma[p] = sum of z[e] C[e], e = p .. p + k - 2.
 * The thread walks e from the far end down to p: both sums are Horner's scheme, and C grows by one element per step, at its far
 * end. A block loads what the next 256 steps of its 256 elements meet into shared memory, so any k fits. With one factor to a row
 * its powers are a table of the block; else each thread multiplies the factors that it passes. A gamma of a row or of all gets the
 * sum over each block, then over blocks, always in the same order.
 * Traffic: 2 reads and 1 write of n; the L2 serves x and dy twice for every 256 of k. With factors or masks twice the reads.
 * Rounding: all in double, to the dtype once.
 * Limits: k > 0. O(n k) operations for any k: in blocks of k (van Herk) dgamma multiplies sums over several windows, which hides that
 *   their infinities have both signs. |gamma|^(k-2) within the range of double. dy times a carry beyond that range is an infinity,
 *   even if the factors from p on bring it back. 2^31 - 1 blocks.
 * Origin: reverse mode of the sum of k terms; Horner's scheme. */
#include "common/affine.cuh"
#include "common/discounted_cumsum/case.h"
#include "discounted_cumsum_grad/_products.cuh"

constexpr unsigned THREADS = GRADIENT_THREADS, STEPS = 256, SPAN = THREADS + STEPS - 1;

namespace { /* a type of this variant alone */
/* What some steps of a block meet. A step after which d are left in the piece is at index t + d for thread t. */
template <bool UNIFORM> struct Piece {
    double x[SPAN], dy[SPAN];
    double into_x[UNIFORM ? 1 : SPAN], behind_dy[UNIFORM ? 1 : SPAN]; /* factors: of the element itself; of the one read after it */
    double power[UNIFORM ? STEPS : 1];                                /* by d: the factor between p and the x that is met */
};
} // namespace

/* The factor into position p of a row: a cut where nothing is carried in. */
template <typename T, bool RIGHT> static __device__ double factor_into(const DiscountView<T> &view, size_t row, size_t p) {
    if (p == 0 || p >= view.n) return affine_cut<double>();
    const size_t flat = row * view.n + (RIGHT ? view.n - 1 - p : p);
    return view.reset && view.reset[flat] ? affine_cut<double>() : (double)affine_factor(view.factor(row, flat));
}

/* Loads `steps` steps for the elements from position `begin` on. The last of these steps meets the x `last` positions before the
 * element. Positions before the row wrap round to numbers past its end. */
template <typename T, bool RIGHT, bool UNIFORM>
static __device__ void load_piece(const DiscountView<T> &view, const T *dy, size_t row, size_t begin, size_t terms, size_t last,
                                  unsigned steps, Piece<UNIFORM> *piece) {
    for (unsigned i = threadIdx.x; i < blockDim.x + steps - 1; i += blockDim.x) {
        const size_t before = begin + i - last, behind = begin + i + (terms - 1 - last);
        const size_t x_at = row * view.n + (RIGHT ? view.n - 1 - before : before);
        const size_t dy_at = row * view.n + (RIGHT ? view.n - 1 - behind : behind);
        piece->x[i] = before < view.n ? (double)view.x[x_at] : 0;
        piece->dy[i] = behind < view.n ? (double)dy[dy_at] : 0;
        if (UNIFORM) continue;
        piece->into_x[i] = factor_into<T, RIGHT>(view, row, before);
        piece->behind_dy[i] = factor_into<T, RIGHT>(view, row, behind + 1);
    }
    if (!UNIFORM) return;
    const double factor = (double)affine_factor(view.factor(row, 0));
    for (unsigned d = threadIdx.x; d < steps; d += blockDim.x) piece->power[d] = affine_power(factor, last - d - 1);
}

/* Each row has `tiles` blocks. dgamma: each element has a gamma; else null, and partials gets the sum over each block. */
template <typename T, bool RIGHT, bool UNIFORM>
static __global__ void __launch_bounds__(THREADS)
    windows_kernel(DiscountView<T> view, const T *dy, size_t terms, T *dgamma, double *partials, size_t tiles) {
    __shared__ Piece<UNIFORM> piece;
    __shared__ GradientSum totals[WARP];
    const size_t row = blockIdx.x / tiles, begin = (blockIdx.x - row * tiles) * blockDim.x, p = begin + threadIdx.x;
    const size_t flat = row * view.n + (RIGHT ? view.n - 1 - p : p), far = p + (terms - 1);
    const double factor = (double)affine_factor(view.factor(row, 0));
    Affine<double> before; /* of the elements before p that were met: b is C, a the factor between p and the next one */
    double z = far < view.n ? (double)dy[RIGHT ? flat - (terms - 1) : flat + (terms - 1)] : 0, gradient = 0;
    for (size_t done = 0; done < terms - 1;) {
        const unsigned steps = terms - 1 - done < STEPS ? (unsigned)(terms - 1 - done) : STEPS;
        done += steps;
        __syncthreads(); /* the piece before was read */
        load_piece<T, RIGHT>(view, dy, row, begin, terms, done, steps, &piece);
        __syncthreads();
        const size_t first = begin + (terms - 1 - done), rest = first < view.n ? view.n - first : 0;
        for (unsigned d = steps; d-- > 0;) {
            const unsigned i = threadIdx.x + d;
            if (UNIFORM) {
                before.b += piece.power[d] * piece.x[i];
            } else {
                Affine<double> all = {piece.into_x[i], piece.x[i]};
                all.merge(before);
                before = all;
            }
            if (i >= rest) continue; /* no window of the row ends there */
            const double next = UNIFORM ? factor : piece.behind_dy[i];
            z = Affine<double>{next, piece.dy[i]}.of(z);
            gradient = Affine<double>{next, piece.dy[i] * before.b}.of(gradient);
        }
    }
    const bool within = p < view.n;
    if (within) view.y[flat] = (T)z;
    if (affine_is_cut(factor_into<T, RIGHT>(view, row, p))) gradient = 0; /* not even NaN */
    if (dgamma && within) dgamma[flat] = (T)gradient;
    if (dgamma) return;
    gradient = gradient_block_sum(gradient, totals);
    if (threadIdx.x == 0) partials[blockIdx.x] = gradient;
}

/* Blocks of a row. */
static size_t tiles_of(const VariantArgs *args) {
    return divide_up(discount_n(args), gradient_threads(discount_n(args), THREADS));
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const size_t terms = discount_terms(args);
    if (terms == 0)
        return variant_refuse(reason, "sums of all terms: this variant takes k steps for each element; cuda_block_scan scans them");
    if (terms > 2 && !discount_power_fits(args, terms - 2, DTYPE_F64, reason)) return false;
    return discount_fits_grid(args, discount_batch(args) * tiles_of(args), reason);
}

static size_t scratch_bytes(const VariantArgs *args) {
    const bool each = discount_gamma_per(args) == DISCOUNT_GAMMA_ELEMENT;
    return each ? 0 : discount_batch(args) * tiles_of(args) * sizeof(double);
}

static Status run(const VariantArgs *args) {
    return gradient_run(args, [args]<typename T, bool RIGHT>() {
        const DiscountView<T> view = discount_view<T>(args);
        const bool each = view.gamma_per == DISCOUNT_GAMMA_ELEMENT;
        const size_t tiles = tiles_of(args), blocks = view.batch * tiles, outputs = gradient_outputs(args),
                     count = blocks / outputs;
        const T *dy = (const T *)args->in[IN_DY].data;
        T *dgamma = (T *)args->out[OUT_DGAMMA].data, *products = each ? dgamma : nullptr;
        double *partials = (double *)args->scratch;
        const LaunchShape shape = {dim3((unsigned)blocks), dim3(gradient_threads(view.n, THREADS)), 0, args->stream};
        TRY(launch(discount_is_uniform(args) ? windows_kernel<T, RIGHT, true> : windows_kernel<T, RIGHT, false>, shape, view, dy,
                   discount_terms(args), products, partials, tiles));
        if (each) return STATUS_OK;
        return launch(sum_kernel<T>, gradient_sum_launch(outputs, count, args->stream), (const double *)partials, count, dgamma);
    });
}

RUNGS_VARIANT(discounted_cumsum_grad, cuda_windows) = {
    .backend = BACKEND_CUDA,
    .summary = "sums of k terms: a thread for each element walks the windows that reach across it, by Horner's scheme",
    .origin = "reverse mode of the sum of k terms; Horner's scheme",
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
