/* ewm - exponentially weighted mean, variance and standard deviation, as pandas defines them: meaning, parameters, bounds.
 * See docs/ops/ewm.md. The reference is in reference.c. */
#include "ewm.h"
#include "reference/vector.h"

#include <math.h>

#include <string.h>

static const char *const AGGREGATES[] = {"mean", "var", "std", NULL};
static const char *const REFERENCE_VALUES[] = {"true", "false", NULL};
static const char *const INCOMPLETE[] = {"nan", "inf", NULL};
static const char *const NANS[] = {"decay", "propagate", NULL};
static const char *const SEGMENTS[] = {"none", "mask", NULL};

static const ParamSpec PARAMS[] = {
    {"agg", "aggregate; var and std corrected for bias, as pandas has them", PARAM_CHOICE, "mean", 0, 0, AGGREGATES},
    {"n", "elements", PARAM_INT, "1000003", 0, 0x1p40, NULL},
    {"span", "alpha = 2 / (span + 1); 0: not given; at most one of span, alpha, com, halflife; without any, span is 300",
     PARAM_REAL, "0", 0, 0x1p52, NULL},
    {"alpha", "weight of a new element, in (0, 1]; 0: not given", PARAM_REAL, "0", 0, 1, NULL},
    {"com", "centre of mass, alpha = 1 / (1 + com); -1: not given", PARAM_REAL, "-1", -1, 0x1p52, NULL},
    {"halflife", "alpha = 1 - 2^(-1 / halflife); 0: not given", PARAM_REAL, "0", 0, 0x1p52, NULL},
    {"adjust", "true: divide by the sum of the weights; false: y[i] = (1 - alpha) y[i-1] + alpha x[i]", PARAM_CHOICE, "true", 0, 0,
     REFERENCE_VALUES},
    {"min_periods", "outputs before so many observations are incomplete; 0 is 1", PARAM_INT, "1", 0, 0x1p40, NULL},
    {"incomplete", "the output while there are fewer than min_periods observations", PARAM_CHOICE, "nan", 0, 0, INCOMPLETE},
    {"nan", "decay: a NaN is no observation, but time passes; propagate: it shows in every later output of its series",
     PARAM_CHOICE, "decay", 0, 0, NANS},
    {"segments", "mask: an array marks where a new series starts", PARAM_CHOICE, "none", 0, 0, SEGMENTS},
    {0},
};

static const char *const FAMILIES[] = {
    "uniform",   "normal",    "ones",      "ramp",      "constant",    "integers",  "offset1e3",
    "offset1e6", "offset1e8", "spike1e16", "outlier",   "alternating", "mixed",     "denormal",
    "naninf",    "gaps",      "sorted",    "heavytail", "overflow",    "real:NAME", NULL,
};

static const Bound BOUNDS[] = {
    [EWM_SCAN] = {"scan",
                  "w_j = q^j / sum q^j, s = sum w |x|, t = sum j w |x|, a = sum j w, d = 2 ceil(log2 n) + 64. mean: "
                  "4 u sqrt(s (2 t + d s) + y^2 (2 a + d)) or four times the errors of plain recurrences of late, and r times "
                  "the moment, r: error of q; var: the same over (x - mean)^2, in double, what errors of the means add, and of "
                  "the correction; std: its root"},
    [EWM_TRUNCATED] = {"truncated", "'scan' and all that terms more than 10 span back can add, element by element"},
    [EWM_TEXTBOOK] = {"textbook", "var: 'scan' and the error of E[x^2] - E[x]^2, which does not shrink with the variance"},
    {NULL, NULL},
};

enum { IN_X, IN_STARTS };
enum { SPAN_DEFAULT = 300 };

/* "alpha=0" alone would quietly be span 300. All four at once are what a case prints. */
static Status check_said(const Params *params) {
    const char *first = NULL;
    int said = 0;
    for (int i = 0; i < params->count; i++) {
        const char *name = params->specs[i].name;
        const bool decays =
            strcmp(name, "span") == 0 || strcmp(name, "alpha") == 0 || strcmp(name, "com") == 0 || strcmp(name, "halflife") == 0;
        if (!decays || !params_given(params, i)) continue;
        if (!first) first = name;
        said++;
    }
    if (said == 0 || said == 4) return STATUS_OK;
    return status_fail(STATUS_INVALID,
                       "%s=%s stands for 'not given'; span >= 1, alpha in (0, 1], com >= 0 or halflife > 0 is expected", first,
                       params_text(params, first));
}

static Status check_decay(const Case *problem) {
    const Params *params = &problem->params;
    const double span = params_real(params, "span"), com = params_real(params, "com");
    const int given = (span > 0) + (params_real(params, "alpha") > 0) + (com >= 0) + (params_real(params, "halflife") > 0);
    if (given > 1) return status_fail(STATUS_INVALID, "span, alpha, com, halflife: at most one may be given, not %d", given);
    if (span > 0 && span < 1) return status_fail(STATUS_INVALID, "span=%.17g: at least 1 is expected", span);
    if (com < 0 && com != -1) return status_fail(STATUS_INVALID, "com=%.17g: at least 0 is expected", com);
    return given == 0 ? check_said(params) : STATUS_OK;
}

static Status shapes(const Case *problem, Array *in, Array *out) {
    TRY(check_decay(problem));
    const size_t n = vector_size(problem, "n");
    in[IN_X] = array_1d("x", problem->dtype, n);
    in[IN_STARTS] = array_1d("starts", DTYPE_U8, params_choice(&problem->params, "segments") == 1 ? n : 0);
    out[0] = array_1d("y", problem->dtype, n);
    return STATUS_OK;
}

static Status adopt(const Array *in, Case *problem) {
    const Array *x = &in[IN_X], *starts = &in[IN_STARTS];
    TRY(vector_adopt(x, problem));
    if (starts->rank < 0) return STATUS_OK;
    if (starts->dtype != DTYPE_U8)
        return status_fail(STATUS_INVALID, "starts: u8 (0, or 1 where a series starts) is expected, not %s",
                           dtype_name(starts->dtype));
    if (starts->rank != 1 || starts->shape[0] != x->shape[0]) {
        char has[128];
        return status_fail(STATUS_INVALID, "starts: the shape of x, [%zu], is expected, not %s", x->shape[0],
                           array_describe(starts, has, sizeof has));
    }
    return params_set(&problem->params, "segments", "mask");
}

enum { STARTS_STREAM = 103 };

static Status generate(const Case *problem, int index, Array *in) {
    return index == IN_STARTS ? vector_generate_mask(problem, STARTS_STREAM, in) : STATUS_OK;
}

/* alpha and q = 1 - alpha, to double-double; from a half-life to 64 bits. */
static void decay(const Params *params, Dd *alpha, Dd *q) {
    const double given_alpha = params_real(params, "alpha"), com = params_real(params, "com");
    const double halflife = params_real(params, "halflife"), span = params_real(params, "span");
    if (halflife > 0) {
        const long double kept = exp2l(-1 / (long double)halflife), left = -expm1l(-logl(2) / (long double)halflife);
        *q = (Dd){(double)kept, (double)(kept - (double)kept)};
        *alpha = (Dd){(double)left, (double)(left - (double)left)};
    } else if (given_alpha > 0) {
        *alpha = dd_from(given_alpha);
        *q = dd_two_sum(1, -given_alpha);
    } else {
        /* span = 2 com + 1 */
        const double given_span = span > 0 ? span : SPAN_DEFAULT;
        const Dd less = com >= 0 ? dd_from(2 * com) : dd_two_sum(given_span, -1);
        const Dd more = dd_add_double(less, 2);
        *alpha = dd_divide(dd_from(2), more);
        *q = dd_divide(less, more);
    }
}

/* q by each of the ways there are to it in double, against the exact one; and half an ulp for its powers. */
static double drift_of(const Params *params, Dd alpha, Dd q) {
    const double halflife = params_real(params, "halflife"), given = params_real(params, "span"), com = params_real(params, "com");
    const double span = given > 0 ? given : SPAN_DEFAULT, off = fabs(dd_add_double(dd_negate(q), 1 - alpha.hi).hi);
    double direct = 1 - alpha.hi;
    if (halflife > 0)
        direct = exp2(-1 / halflife);
    else if (com >= 0)
        direct = com / (1 + com);
    else if (!(params_real(params, "alpha") > 0))
        direct = (span - 1) / (span + 1);
    return q.hi > 0 ? fmax(off, fabs(dd_add_double(dd_negate(q), direct).hi)) / q.hi + 0x1p-54 : 0;
}

static Ewm ewm_of(const Case *problem, const Array *in, int bound) {
    const Params *params = &problem->params;
    const size_t periods = (size_t)params_int(params, "min_periods");
    Ewm self = {
        .agg = (EwmAgg)params_choice(params, "agg"),
        .bound = (EwmBound)bound,
        .f32 = problem->dtype == DTYPE_F32,
        .adjust = params_choice(params, "adjust") == 0,
        .propagate = params_choice(params, "nan") == 1,
        .n = array_count(&in[IN_X]),
        .min_periods = periods ? periods : 1,
        .incomplete = params_choice(params, "incomplete") == 0 ? NAN : INFINITY,
        .x = in[IN_X].data,
        .starts = params_choice(params, "segments") == 1 ? in[IN_STARTS].data : NULL,
    };
    decay(params, &self.alpha, &self.q);
    self.drift = drift_of(params, self.alpha, self.q);
    return self;
}

static Status reference(const Case *problem, const Array *in, int bound, Reference *out) {
    const Ewm self = ewm_of(problem, in, bound);
    return ewm_reference(&self, &out[0]);
}

static bool wrong_value(const Case *problem, const Array *in, const Reference *right, int which, int output, size_t element,
                        double *value) {
    const Ewm self = ewm_of(problem, in, 0);
    return ewm_wrong_value(&self, &right[output], which, element, value);
}

/* Operations per element by the definition: multiply and add for the sum and for the weights, a division; the variance's sum of
 * squares and sum of squared weights come on top, and its correction. */
static Work work(const Case *problem) {
    static const double per_element[] = {5, 14, 15};
    const double n = (double)params_int(&problem->params, "n");
    const bool mask = params_choice(&problem->params, "segments") == 1;
    return (Work){.bytes = n * (2 * (double)dtype_size(problem->dtype) + (mask ? 1 : 0)),
                  .flops = n * per_element[params_choice(&problem->params, "agg")],
                  .elements = n};
}

/* Elements of the series from `begin` on that outputs depend on, and where it ends. From the first NaN that propagates, or the
 * first infinity, one element may decide all later outputs; a series with too few observations has only incomplete ones. */
static size_t series_reads(const Ewm *self, const Array *x, size_t begin, size_t *end) {
    size_t needed = self->min_periods, observations = 0, read = 0, i = begin;
    if (needed < (self->agg == EWM_MEAN ? 1u : 2u)) needed = self->agg == EWM_MEAN ? 1 : 2;
    bool decided = false;
    for (; i < self->n && (i == begin || !self->starts || !self->starts[i]); i++) {
        const double value = number_at(x, i);
        const bool finite = isfinite(value), gap = !self->propagate && isnan(value);
        if (!finite && !gap) decided = true;
        if (finite) observations++;
        if (!decided && observations >= needed) read = i - begin + 1;
    }
    *end = i;
    return read;
}

static void least_read(const Case *problem, const Array *in, int bound, Reads *reads) {
    (void)bound;
    const Params *params = &problem->params;
    const Ewm self = {
        .agg = (EwmAgg)params_choice(params, "agg"),
        .propagate = params_choice(params, "nan") == 1,
        .n = array_count(&in[IN_X]),
        .min_periods = (size_t)params_int(params, "min_periods"),
        .starts = params_choice(params, "segments") == 1 ? in[IN_STARTS].data : NULL,
    };
    Dd alpha, q;
    decay(params, &alpha, &q);
    if (self.agg != EWM_MEAN && q.hi == 0) return; /* every output is NaN */
    for (size_t begin = 0, end; begin < self.n; begin = end) {
        const size_t read = series_reads(&self, &in[IN_X], begin, &end);
        reads_need_elements(reads, IN_X, in, begin, read);
        if (self.starts && read > 1) reads_need(reads, IN_STARTS, begin + 1, read - 1);
    }
}

/* What is so because elements are NaN, or a series begins, depends on the data. */
static bool is_incomplete(const Case *problem, int output, size_t element) {
    (void)output;
    const size_t periods = (size_t)params_int(&problem->params, "min_periods");
    const size_t least = params_choice(&problem->params, "agg") == EWM_MEAN ? 1 : 2;
    return element + 1 < (periods > least ? periods : least);
}

RUNGS_OP(ewm) = {
    .name = "ewm",
    .summary = "exponentially weighted mean, variance or standard deviation of x[0 .. i]",
    .params = PARAMS,
    .dtypes = VECTOR_DTYPES,
    .accumulates = VECTOR_ACCUMULATES,
    .families = FAMILIES,
    .bounds = BOUNDS,
    .in_count = 2,
    .out_count = 1,
    .shapes = shapes,
    .adopt = adopt,
    .generate = generate,
    .reference = reference,
    .work = work,
    .least_read = least_read,
    .wrong = EWM_WRONG,
    .wrong_value = wrong_value,
    .is_incomplete = is_incomplete,
};
