/* power.h - sums of k terms that weight parts of a window by powers of gamma: are there numbers for these?
 *
 * A power beyond the range of its type weights what is small or 0 wrongly, though the sum itself may be an ordinary number. What is
 * known before a run is the parameter, so this is for one gamma that all elements share; a mask may cut the power short, or not. */
#ifndef RUNGS_IMPLS_DISCOUNT_POWER_H
#define RUNGS_IMPLS_DISCOUNT_POWER_H

#include "variant.h"

#include <float.h>
#include <math.h>

/* products: the type that powers are held in. */
static inline bool discount_power_fits(const VariantArgs *args, size_t exponent, DType products, char reason[REASON_MAX]) {
    const Params *params = &args->problem->params;
    if (params_choice(params, "gamma_per") != 0) return true;
    const double written = params_real(params, "gamma"), most = products == DTYPE_F32 ? (double)FLT_MAX : DBL_MAX;
    const double gamma = fabs(args->problem->dtype == DTYPE_F32 ? (double)(float)written : written);
    if (pow(gamma, (double)exponent) <= most) return true;
    return variant_refuse(reason, "gamma=%g k=%lld: this variant weights by up to |gamma|^%zu, beyond the range of %s", written,
                          params_int(params, "k"), exponent, dtype_name(products));
}

/* The largest power between a window's far end and the sum, where rows of n are cut into blocks of k < n. */
static inline size_t discount_block_exponent(size_t n, size_t k) {
    return k < 2 ? 0 : n - k >= k - 1 ? k - 1 : k - 2;
}

#endif
