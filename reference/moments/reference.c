/* The reference of `moments`: values from sums.h, tolerances from bounds.c; NaN, infinities and columns whose
 * elements are all the same are settled here. */
#include "moments.h"

#include <float.h>
#include <stdlib.h>

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
    MomentsFacts facts = {.mean = mean.hi,
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
    MomentsTolerance tolerance;
    moments_tolerance(&facts, self->bound, self->order, standardised, &tolerance);
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
        const MomentsFacts facts = {.mean = column->min,
                                    .mean_abs = fabs(column->min),
                                    .rows = (double)self->input.rows,
                                    .f32 = self->input.f32,
                                    .weighted = self->input.weights != NULL};
        put(self, MOMENTS_MEAN, c, column->min, moments_mean_tolerance(&facts, self->bound));
        put_spread(self, c, 0, self->degenerate);
    } else {
        settle_ordinary(self, column, c);
    }
}

static double weight_at(const Array *weights, size_t i) {
    return weights->dtype == DTYPE_F64 ? ((const double *)weights->data)[i] : (double)((const float *)weights->data)[i];
}

Status moments_weights_range(const Array *weights, double *least, double *most) {
    static const double WEIGHTS_APART = 0x1p600; /* sums of w (x - mean)^6 stay clear of the ends of the range */
    *least = INFINITY, *most = 0;
    for (size_t i = 0; i < array_count(weights); i++) {
        const double w = weight_at(weights, i);
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
        self->total = dd_add_double(self->total, weight_at(weights, i) * self->input.weight_scale);
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
