/* _shared.h - the case of ewm as every variant reads it: the decay, from whichever of span, alpha, com and halflife is given, and
 * the modes. Host code for .c and .cu files. */
#pragma once

#include "variant.h"

#include <math.h>

typedef enum EwmAgg { EWM_MEAN, EWM_VAR, EWM_STD } EwmAgg;

/* Weights below this, relative to the weight of a new observation, count as zero. It is not a power of two: weights of integer
 * half-lives are powers of two, and the last bit must not decide on which side of the border they fall. */
#define EWM_NEGLIGIBLE 0x1.8p-1000

typedef struct EwmCase {
    size_t n;
    EwmAgg agg;
    double alpha;       /* weight of a new element, in (0, 1] */
    double q;           /* 1 - alpha without cancellation: the factor by which one step decays all older weights, in [0, 1) */
    double log_q;       /* ln q, -inf for q = 0: q^k = exp(k log_q), 1 - q^k = -expm1(k log_q) */
    bool adjust;        /* divide by the sum of the weights; otherwise y = q y + alpha x */
    size_t min_periods; /* at least 1 */
    double incomplete;  /* the output before min_periods: NaN or inf */
    bool nan_decays; /* a NaN is no observation, but older weights decay; otherwise it shows in all later outputs of its segment */
    bool segments;   /* starts[i] = 1: a new series begins at i */
} EwmCase;

static const double EWM_SPAN_DEFAULT = 300;

/* At most one of the four is given; the op has checked that. */
static inline void ewm_decay(const Params *params, double *alpha, double *q) {
    const double given_alpha = params_real(params, "alpha"), com = params_real(params, "com");
    const double halflife = params_real(params, "halflife"), given_span = params_real(params, "span");
    if (given_alpha > 0) {
        *alpha = given_alpha;
        *q = 1 - given_alpha;
    } else if (com >= 0) {
        *alpha = 1 / (1 + com);
        *q = com / (1 + com);
    } else if (halflife > 0) {
        *alpha = -expm1(-M_LN2 / halflife);
        *q = exp2(-1 / halflife);
    } else {
        const double span = given_span > 0 ? given_span : EWM_SPAN_DEFAULT;
        *alpha = 2 / (span + 1);
        *q = (span - 1) / (span + 1);
    }
}

static inline EwmCase ewm_case(const VariantArgs *args) {
    const Params *params = &args->problem->params;
    EwmCase self;
    self.n = array_count(&args->in[0]);
    self.agg = (EwmAgg)params_choice(params, "agg");
    ewm_decay(params, &self.alpha, &self.q);
    self.log_q = self.q < 0.5 ? log(self.q) : log1p(-self.alpha);
    self.adjust = params_choice(params, "adjust") == 0;
    self.min_periods = (size_t)params_int(params, "min_periods");
    if (self.min_periods == 0) self.min_periods = 1;
    self.incomplete = params_choice(params, "incomplete") == 0 ? (double)NAN : (double)INFINITY;
    self.nan_decays = params_choice(params, "nan") == 0;
    self.segments = params_choice(params, "segments") == 1;
    return self;
}
