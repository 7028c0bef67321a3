/* The bounds of `moments`; docs/ops/moments.md has the argument for every constant. Everything is in the column's scaled units. */
#include "moments.h"

#include <float.h>

/* What a sum may err by, relatively to the sum of the magnitudes. One accumulator may round the same way all along, n u; else
 * 3 sqrt(D) u for chains of D additions whose roundings are not all of one sign (Higham and Mary 2019): seven standard deviations.
 * Never more than 1/256: a result that is further off is wrong, whatever theory allows a serial sum of that length. */
static double growth(const MomentsFacts *facts, MomentsBound bound) {
    const double u = facts->f32 ? 0x1p-24 : 0x1p-53, more = facts->weighted ? 16 : 0;
    const double g = bound == MOMENTS_NAIVE_SUM ? 64 + facts->rows + more : 3 * sqrt(16 + facts->rows / 16 + more);
    return g * u < 0x1p-8 ? g * u : 0x1p-8;
}

/* mean |x - mean|^p, for odd p from above (Cauchy and Schwarz). */
static double spread(const MomentsFacts *facts, int p) {
    if (p == 0) return 1;
    if (p == 1) return sqrt(facts->central[2]);
    return p % 2 == 0 ? facts->central[p] : sqrt(facts->central[p - 1]) * sqrt(facts->central[p + 1]);
}

/* mean of (|x - mean| + reach)^p, less its first term unless `whole`. */
static double widened(const MomentsFacts *facts, int p, double reach, bool whole) {
    double binomial = 1, power = 1, sum = whole ? spread(facts, p) : 0;
    for (int k = 1; k <= p; k++) {
        binomial = binomial * (p - k + 1) / k;
        power *= reach;
        sum += binomial * power * spread(facts, p - k);
    }
    return sum;
}

/* Error of mean (x - mean)^p. */
static double central_error(const MomentsFacts *facts, MomentsBound bound, int p) {
    const double g = growth(facts, bound);
    const double shift = 2 * g * facts->mean_abs;
    double error = 2 * g * widened(facts, p, 2 * shift, true);
    if (bound == MOMENTS_UPDATING || bound == MOMENTS_NAIVE_SUM) error += widened(facts, p, shift, false);
    if (bound == MOMENTS_POWER_SUMS) error += 4 * (64 + facts->rows) * 0x1p-53 * widened(facts, p, 2 * fabs(facts->mean), true);
    return error;
}

double moments_mean_tolerance(const MomentsFacts *facts, MomentsBound bound) {
    double g = growth(facts, bound);
    if (bound == MOMENTS_POWER_SUMS) g += 2 * (64 + facts->rows) * 0x1p-53;
    return 2 * g * facts->mean_abs + 3 * (facts->f32 ? 0x1p-24 : 0x1p-53) * fabs(facts->mean);
}

/* e / var^(p/2), one factor at a time, as the reference divides. */
static double standardised_error(double e, double var, int p) {
    for (int left = p; left >= 2; left -= 2) e /= var;
    return p % 2 == 0 ? e : e / sqrt(var);
}

static double at_most(double value, double limit) {
    return value < limit ? value : limit; /* a NaN is the limit */
}

void moments_tolerance(const MomentsFacts *facts, MomentsBound bound, int order, const double *standardised,
                       MomentsTolerance *out) {
    const double u = facts->f32 ? 0x1p-24 : 0x1p-53, var = facts->central[2];
    *out = (MomentsTolerance){0};
    out->mean = moments_mean_tolerance(facts, bound);
    out->var = central_error(facts, bound, 2) + 4 * u * var;
    /* (m + dm) / (v + dv)^(p/2) for |dv| <= r v */
    const double r = out->var / var;
    for (int p = 3; p <= order; p++) {
        const double limit = bound == MOMENTS_POWER_SUMS ? DBL_MAX : 2 * pow(facts->most, 0.5 * p - 1); /* all but nonsense */
        const double grown = r < 1 ? pow(1 - r, -0.5 * p) : INFINITY;
        const double error =
            fabs(standardised[p]) * (grown - 1) + standardised_error(central_error(facts, bound, p), var, p) * grown;
        out->by_var[p] = fabs(standardised[p]) * (grown - 1);
        out->standardised[p] = at_most(error + 8 * u * fabs(standardised[p]), limit);
    }
}
