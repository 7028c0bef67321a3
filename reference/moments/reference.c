/* The reference of `moments`: values from sums.c, and the bounds, for whose constants docs/ops/moments.md has the argument. NaN,
 * infinities and columns whose elements are all the same are settled here. */
#include "moments.h"

#include "reference/terms.h"
#include "reference/vector.h"

#include <float.h>
#include <stdlib.h>

/* ---- The bounds. Everything is in the column's scaled units. */

/* What the bounds depend on: one column of finite elements that are not all the same, in its scaled units. */
typedef struct Facts {
    double mean, mean_abs;              /* of x, of |x| */
    double central[MOMENTS_POWERS + 1]; /* mean (x - mean)^p for even p up to 6; where the order stops at 4, [6] is 0 */
    double rows;
    double most; /* W / least weight: no standardised moment of order p is beyond most^(p/2 - 1) */
    bool f32, weighted;
} Facts;

/* Tolerances of one column, the mean's and the variance's still in scaled units. */
typedef struct Tolerance {
    double mean, var;
    double standardised[MOMENTS_POWERS + 1]; /* of order 3 .. order */
    double by_var[MOMENTS_POWERS + 1];       /* what the variance's error is of it */
} Tolerance;

/* What a sum may err by, relatively to the sum of the magnitudes. One accumulator may round the same way all along, n u; else
 * 3 sqrt(D) u for chains of D additions whose roundings are not all of one sign (Higham and Mary 2019): seven standard deviations.
 * Where one element has most of the variance, a chain that begins with it rounds all others the same way: D u.
 * Never more than 1/256: a result that is further off is wrong, whatever theory allows a serial sum of that length. */
static double growth(const Facts *facts, MomentsBound bound) {
    const double u = facts->f32 ? 0x1p-24 : 0x1p-53, more = facts->weighted ? 16 : 0, chain = 16 + facts->rows / 16 + more;
    const bool outlier = facts->central[4] > facts->rows / 2 * facts->central[2] * facts->central[2];
    const double g = bound == MOMENTS_NAIVE_SUM ? 64 + facts->rows + more : outlier ? chain : 3 * sqrt(chain);
    return g * u < 0x1p-8 ? g * u : 0x1p-8;
}

/* mean |x - mean|^p, for odd p from above (Cauchy and Schwarz). */
static double spread(const Facts *facts, int p) {
    if (p == 0) return 1;
    if (p == 1) return sqrt(facts->central[2]);
    return p % 2 == 0 ? facts->central[p] : sqrt(facts->central[p - 1]) * sqrt(facts->central[p + 1]);
}

/* mean of (|x - mean| + reach)^p, less its first term unless `whole`. */
static double widened(const Facts *facts, int p, double reach, bool whole) {
    double binomial = 1, power = 1, sum = whole ? spread(facts, p) : 0;
    for (int k = 1; k <= p; k++) {
        binomial = binomial * (p - k + 1) / k;
        power *= reach;
        sum += binomial * power * spread(facts, p - k);
    }
    return sum;
}

/* Error of mean (x - mean)^p. */
static double central_error(const Facts *facts, MomentsBound bound, int p) {
    const double g = growth(facts, bound);
    const double shift = 2 * g * facts->mean_abs;
    double error = 2 * g * widened(facts, p, 2 * shift, true);
    if (bound == MOMENTS_UPDATING || bound == MOMENTS_NAIVE_SUM) error += widened(facts, p, shift, false);
    if (bound == MOMENTS_POWER_SUMS) error += 4 * (64 + facts->rows) * 0x1p-53 * widened(facts, p, 2 * fabs(facts->mean), true);
    return error;
}

/* Of the mean alone, which constant columns have too. */
static double mean_tolerance(const Facts *facts, MomentsBound bound) {
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

/* standardised[p]: the reference. */
static void tolerances_of(const Facts *facts, MomentsBound bound, int order, const double *standardised, Tolerance *out) {
    const double u = facts->f32 ? 0x1p-24 : 0x1p-53, var = facts->central[2];
    *out = (Tolerance){0};
    out->mean = mean_tolerance(facts, bound);
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

/* ---- The values. */

typedef struct Settling {
    int order;
    MomentsBound bound;
    double degenerate; /* what the standardised moments of a constant column are */
    MomentsInput input;
    Dd total;
    double least_weight;
    Reference *out;
} Settling;

/* The output that holds the standardised moment of order p. */
static MomentsOutput output_of(int p) {
    static const MomentsOutput outputs[] = {[3] = MOMENTS_SKEWNESS, [4] = MOMENTS_KURTOSIS, [5] = MOMENTS_M5, [6] = MOMENTS_M6};
    return outputs[p];
}

static void put(const Settling *self, MomentsOutput output, size_t c, double value, double tolerance) {
    /* A value beyond the dtype's range is the infinity that rounding to the dtype gives. */
    if (self->input.f32 && fabs(value) >= 0x1.ffffffp127) value = copysign(INFINITY, value);
    self->out[output].value[c] = value;
    self->out[output].tolerance[c] = !isfinite(value) ? 0 : tolerance < DBL_MAX ? tolerance : DBL_MAX;
    bound_terms_settle(&self->out[output].tolerance[c]);
}

static void put_spread(const Settling *self, size_t c, double var, double standardised) {
    put(self, MOMENTS_VAR, c, var, 0);
    for (int p = 3; p <= self->order; p++) put(self, output_of(p), c, standardised, 0);
}

/* mean (x - mean)^p from the moments about the shift: sum over k of C(p,k) S(p-k) (-offset)^k. */
static Dd central_moment(const MomentsColumn *column, int p) {
    const Dd back = dd_negate(column->offset);
    Dd sum = column->power[p], power = dd_from(1);
    double binomial = 1;
    for (int k = 1; k <= p; k++) {
        binomial = binomial * (p - k + 1) / k;
        power = dd_multiply(power, back);
        const Dd moment = k == p ? dd_from(1) : k == p - 1 ? column->offset : column->power[p - k];
        sum = dd_add(sum, dd_multiply_double(dd_multiply(moment, power), binomial));
    }
    return sum;
}

/* a / b, also where double-double has no such quotient. */
static Dd quotient(Dd a, Dd b) {
    const double plain = a.hi / b.hi;
    return fabs(plain) < 0x1p900 ? dd_divide(a, b) : dd_from(plain);
}

/* m / var^(p/2), one factor at a time: under weights of very different sizes the power leaves the range and the quotient does not.
 */
static double standardise(Dd m, Dd var, int p) {
    for (int left = p; left >= 2; left -= 2) m = quotient(m, var);
    return p % 2 == 0 ? m.hi : quotient(m, dd_sqrt(var)).hi;
}

/* A column of finite elements that are not all the same. */
static void settle_ordinary(const Settling *self, const MomentsColumn *column, size_t c) {
    const double tiny = self->input.f32 ? 0x1p-149 : 0x1p-1074, scale = column->scale;
    const Dd mean = dd_add_double(column->offset, column->shift);
    Facts facts = {.mean = mean.hi,
                   .mean_abs = column->mean_abs,
                   .rows = (double)self->input.rows,
                   .most = self->total.hi / self->least_weight,
                   .f32 = self->input.f32,
                   .weighted = self->input.weights != NULL};
    Dd central[MOMENTS_POWERS + 1];
    for (int p = 2; p <= self->input.powers; p++) central[p] = central_moment(column, p);
    for (int p = 2; p <= self->input.powers; p += 2) facts.central[p] = central[p].hi;
    double standardised[MOMENTS_POWERS + 1] = {0};
    for (int p = 3; p <= self->order; p++) standardised[p] = standardise(central[p], central[2], p);
    Tolerance tolerance;
    tolerances_of(&facts, self->bound, self->order, standardised, &tolerance);
    bound_term("chains of n/16 additions of numbers of any sign, 2 g mean|x|", tolerance.mean);
    put(self, MOMENTS_MEAN, c, mean.hi / scale, tolerance.mean / scale + 2 * tiny);
    bound_term("chains of n/16 additions of squares, e_2", tolerance.var);
    put(self, MOMENTS_VAR, c, central[2].hi / scale / scale, tolerance.var / scale / scale + 8 * tiny);
    for (int p = 3; p <= self->order; p++) {
        bound_term("the variance's error", tolerance.by_var[p]);
        bound_term("chains of n/16 additions of powers of any sign, e_p / s^p", tolerance.standardised[p] - tolerance.by_var[p]);
        put(self, output_of(p), c, standardised[p], tolerance.standardised[p]);
    }
}

static void settle(const Settling *self, const MomentsColumn *column, size_t c) {
    const bool nan = column->nan, low = column->min == -INFINITY, high = column->max == INFINITY;
    put(self, MOMENTS_MIN, c, nan ? NAN : column->min, 0);
    put(self, MOMENTS_MAX, c, nan ? NAN : column->max, 0);
    if (nan || low || high) {
        put(self, MOMENTS_MEAN, c, nan || (low && high) ? NAN : low ? -INFINITY : INFINITY, 0);
        put_spread(self, c, NAN, NAN);
    } else if (column->min == column->max) {
        const Facts facts = {.mean = column->min,
                             .mean_abs = fabs(column->min),
                             .rows = (double)self->input.rows,
                             .f32 = self->input.f32,
                             .weighted = self->input.weights != NULL};
        put(self, MOMENTS_MEAN, c, column->min, mean_tolerance(&facts, self->bound));
        put_spread(self, c, 0, self->degenerate);
    } else {
        settle_ordinary(self, column, c);
    }
}

Status moments_weights_range(const Array *weights, double *least, double *most) {
    static const double WEIGHTS_APART = 0x1p600; /* sums of w (x - mean)^6 stay clear of the ends of the range */
    *least = INFINITY, *most = 0;
    for (size_t i = 0; i < array_count(weights); i++) {
        const double w = number_at(weights, i);
        if (!(w > 0 && w <= DBL_MAX))
            return status_fail(STATUS_INVALID, "weights[%zu] is %g; weights are positive and finite", i, w);
        *least = w < *least ? w : *least;
        *most = w > *most ? w : *most;
    }
    if (array_count(weights) > 0 && !(*most / WEIGHTS_APART <= *least))
        return status_fail(STATUS_INVALID, "weights from %g to %g: a ratio of at most 2^600 is expected", *least, *most);
    return STATUS_OK;
}

/* Their sum and the least of them, both times the power of two that brings the largest to [1, 2); rows where there are none. */
static Status weigh(Settling *self, const Array *weights) {
    self->input.weight_scale = 1;
    self->total = dd_from((double)self->input.rows);
    self->least_weight = 1;
    if (!self->input.weights) return STATUS_OK;
    double least, most;
    TRY(moments_weights_range(weights, &least, &most));
    const int exponent = ilogb(most) > 1000 ? 1000 : ilogb(most) < -1000 ? -1000 : ilogb(most);
    self->input.weight_scale = ldexp(1, -exponent);
    self->least_weight = least * self->input.weight_scale;
    self->total = dd_from(0);
    for (size_t i = 0; i < self->input.rows; i++)
        self->total = dd_add_double(self->total, number_at(weights, i) * self->input.weight_scale);
    return STATUS_OK;
}

Status moments_reference(const Case *problem, const Array *in, int bound, Reference *out) {
    const bool weighted = array_count(&in[1]) > 0;
    const int order = (int)params_int(&problem->params, "order");
    Settling self = {
        .order = order,
        .bound = (MomentsBound)bound,
        .degenerate = params_choice(&problem->params, "degenerate") == 0 ? NAN : 0,
        .input = {.x = in[0].data,
                  .weights = weighted ? in[1].data : NULL,
                  .f32 = problem->dtype == DTYPE_F32,
                  .rows = in[0].shape[0],
                  .cols = in[0].shape[1],
                  .powers = order > 4 ? 6 : 4},
        .out = out,
    };
    if (self.input.rows == 0) {
        for (size_t c = 0; c < self.input.cols; c++) {
            for (int i = MOMENTS_MEAN; i <= MOMENTS_MAX; i++) put(&self, (MomentsOutput)i, c, NAN, 0);
            put_spread(&self, c, NAN, NAN);
        }
        return STATUS_OK;
    }
    TRY(weigh(&self, &in[1]));
    MomentsColumn *columns = malloc(self.input.cols * sizeof *columns);
    if (!columns) return status_fail(STATUS_MEMORY, "moments reference: no memory for %zu columns", self.input.cols);
    const Status status = moments_sums(&self.input, self.total, columns);
    if (status == STATUS_OK) {
#pragma omp parallel for schedule(static)
        for (size_t c = 0; c < self.input.cols; c++) settle(&self, &columns[c], c);
    }
    free(columns);
    return status;
}
