/* case.cuh - what the CUDA variants of discounted_cumsum and of its gradient read from the case. */
#pragma once

#include "common/grid.cuh"
#include "common/narrow.cuh"

/* In the order of the op's choices. */
enum DiscountGamma { DISCOUNT_GAMMA_ALL, DISCOUNT_GAMMA_ROW, DISCOUNT_GAMMA_ELEMENT };

/* The case as kernels see it: y[row][i] = x[row][i] + g y[row][i +- 1]. */
template <typename T> struct DiscountView {
    const T *x, *gamma;         /* one for all: a SumOf<T> */
    const unsigned char *reset; /* null: none */
    T *y;
    size_t batch, n;
    DiscountGamma gamma_per;

    /* The factor of the sum carried into element `flat` of all rows. */
    __host__ __device__ SumOf<T> factor(size_t row, size_t flat) const {
        if (sizeof(T) < sizeof(SumOf<T>) && gamma_per == DISCOUNT_GAMMA_ALL) return *(const SumOf<T> *)gamma;
        return wide(gamma[gamma_per == DISCOUNT_GAMMA_ALL ? 0 : gamma_per == DISCOUNT_GAMMA_ROW ? row : flat]);
    }
};

static inline bool discount_is_f64(const VariantArgs *args) {
    return args->problem->dtype == DTYPE_F64;
}
static inline size_t discount_batch(const VariantArgs *args) {
    return args->in[0].shape[0];
}
static inline size_t discount_n(const VariantArgs *args) {
    return args->in[0].shape[1];
}
static inline bool discount_is_empty(const VariantArgs *args) {
    return discount_batch(args) == 0 || discount_n(args) == 0;
}
static inline bool discount_is_right(const VariantArgs *args) {
    return params_choice(&args->problem->params, "direction") == 0;
}
static inline DiscountGamma discount_gamma_per(const VariantArgs *args) {
    return (DiscountGamma)params_choice(&args->problem->params, "gamma_per");
}
static inline bool discount_has_reset(const VariantArgs *args) {
    return params_choice(&args->problem->params, "reset") != 0;
}
/* One factor for a whole row and no reset: the factor between two elements is a power of it. */
static inline bool discount_is_uniform(const VariantArgs *args) {
    return discount_gamma_per(args) != DISCOUNT_GAMMA_ELEMENT && !discount_has_reset(args);
}
/* Terms of a sum, at most those of its row; 0: sums of all terms. */
static inline size_t discount_terms(const VariantArgs *args) {
    const size_t k = (size_t)params_int(&args->problem->params, "k");
    return k <= discount_n(args) ? k : 0;
}

/* x, gamma and reset are the op's first, second and last input, y or dx its first output. */
template <typename T> static inline DiscountView<T> discount_view(const VariantArgs *args) {
    const Array *reset = &args->in[args->in_count - 1];
    return {(const T *)args->in[0].data,
            (const T *)args->in[1].data,
            discount_has_reset(args) ? (const unsigned char *)reset->data : nullptr,
            (T *)args->out[0].data,
            discount_batch(args),
            discount_n(args),
            discount_gamma_per(args)};
}

/* run() of a variant: call.operator()<T, RIGHT>(), which launches its kernels, for the dtype and the direction of the sums;
 * nothing, if the case is empty. */
template <typename Call> static Status discount_run(const VariantArgs *args, Call call) {
    if (discount_is_empty(args)) return STATUS_OK;
    const bool right = discount_is_right(args);
    if (discount_is_f64(args)) return right ? call.template operator()<double, true>() : call.template operator()<double, false>();
    return right ? call.template operator()<float, true>() : call.template operator()<float, false>();
}

/* The same of a variant that takes f16 and bf16, too. */
template <typename Call> static Status discount_run_stored(const VariantArgs *args, Call call) {
    if (discount_is_empty(args)) return STATUS_OK;
    return with_storage(args, [args, &call]<typename T>() {
        return discount_is_right(args) ? call.template operator()<T, true>() : call.template operator()<T, false>();
    });
}

static inline bool discount_fits_grid(const VariantArgs *args, size_t blocks, char reason[REASON_MAX]) {
    if (blocks <= GRID_BLOCKS_MAX) return true;
    return variant_refuse(reason, "batch=%zu n=%zu needs %zu blocks; a grid holds %zu", discount_batch(args), discount_n(args),
                          blocks, GRID_BLOCKS_MAX);
}
