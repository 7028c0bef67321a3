/* moments - statistics of every column of a matrix: meaning, parameters, bounds, work. See docs/ops/moments.md.
 *
 * The reference is in reference.c (over sums.c). */
#include "moments.h"

#include "base/rng.h"
#include "reference/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const WEIGHTS[] = {"none", "row", NULL};
static const char *const DEGENERATE[] = {"nan", "zero", NULL};
static const char *const COLUMNS[] = {"alike", "scaled", NULL};
enum { WEIGHTS_ROW = 1, COLUMNS_SCALED = 1 };

static const ParamSpec PARAMS[] = {
    {"rows", "rows of x: the elements of a column", PARAM_INT, "100003", 0, 0x1p36, NULL},
    {"cols", "columns of x", PARAM_INT, "64", 1, 0x1p20, NULL},
    {"order", "highest standardised moment: m5 from 5 on, m6 with 6", PARAM_INT, "4", 4, 6, NULL},
    {"weights", "one weight per row", PARAM_CHOICE, "none", 0, 0, WEIGHTS},
    {"degenerate", "skewness, kurtosis, m5, m6 of a column whose elements are all the same", PARAM_CHOICE, "nan", 0, 0, DEGENERATE},
    {"columns", "spread of column c: the family's, or c + 1 times that (uniform: U(-(c+1), 2(c+1)))", PARAM_CHOICE, "alike", 0, 0,
     COLUMNS},
    {0},
};

static const DType DTYPES[] = {DTYPE_F64, DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_E4M3, DTYPE_E5M2, DTYPE_COUNT};

static const DType ACCUMULATES[] = {DTYPE_F32, DTYPE_F64, DTYPE_COUNT};

/* What is not x: of x's type, beside x of 8 bits in f32. */
static DType other_dtype(DType x) {
    return dtype_size(x) > 1 ? x : DTYPE_F32;
}

static const char *const FAMILIES[] = {
    "uniform",   "normal",    "ones",   "ramp", "constant", "integers",  "offset1",  "offset1e3", "offset1e6",
    "offset1e8", "spike1e16", "naninf", "huge", "sorted",   "heavytail", "overflow", "real:NAME", NULL,
};

static const Bound BOUNDS[] = {
    [MOMENTS_TWO_PASS] = {"two_pass",
                          "mean: 2 g mean|x|; var: e(2); skewness: e(3)/s^3 and what var's error adds, kurtosis likewise; g = 3 "
                          "sqrt(16 + rows/16) u, e(p) = 2 g mean((|x - mean| + 2 d)^p), d = 2 g mean|x|, s^2 = var; min, max: 0"},
    [MOMENTS_UPDATING] = {"updating",
                          "as 'two_pass', e(p) larger by mean((|x - mean| + d)^p) - mean|x - mean|^p: means that are updated or "
                          "merged in the working precision"},
    [MOMENTS_NAIVE_SUM] = {"naive_sum", "as 'updating' with g = (64 + rows) u: one accumulator for a whole column"},
    [MOMENTS_POWER_SUMS] = {"power_sums",
                            "as 'two_pass', e(p) larger by 4 (64 + rows) 2^-53 mean((|x - mean| + 2 |mean|)^p): sums of x^p in "
                            "float64"},
    {NULL, NULL},
};

static Status shapes(const Case *problem, Array *in, Array *out) {
    static const char *const names[MOMENTS_OUTPUT_COUNT] = {"mean", "var", "skewness", "kurtosis", "min", "max", "m5", "m6"};
    const size_t rows = vector_size(problem, "rows"), cols = vector_size(problem, "cols"), order = vector_size(problem, "order");
    in[0] = array_1d("x", problem->dtype, rows);
    in[0].rank = 2;
    in[0].shape[1] = cols;
    in[1] = array_1d("weights", other_dtype(problem->dtype), params_choice(&problem->params, "weights") == WEIGHTS_ROW ? rows : 0);
    for (int i = 0; i < MOMENTS_OUTPUT_COUNT; i++) {
        const bool wanted = i < MOMENTS_M5 || order >= (i == MOMENTS_M5 ? 5 : 6);
        out[i] = array_1d(names[i], other_dtype(problem->dtype), wanted ? cols : 0);
    }
    return STATUS_OK;
}

static Status adopt(const Array *in, Case *problem) {
    const Array *x = &in[0], *weights = &in[1];
    if (x->rank < 0) return status_fail(STATUS_INVALID, "x: missing; an array [rows, cols] of floating-point numbers is expected");
    if (x->rank != 1 && x->rank != 2)
        return status_fail(STATUS_INVALID, "x: two dimensions [rows, cols] are expected, or one for a single column, not %d",
                           x->rank);
    TRY(vector_expect_floats(x, "x", NULL));
    problem->dtype = x->dtype;
    TRY(vector_set_size(problem, "rows", x->shape[0]));
    TRY(vector_set_size(problem, "cols", x->rank == 2 ? x->shape[1] : 1));
    if (weights->rank < 0) return params_set(&problem->params, "weights", WEIGHTS[0]);
    if (weights->rank != 1 || weights->shape[0] != x->shape[0]) {
        char given[128];
        return status_fail(STATUS_INVALID, "weights: one per row of x, [%zu], is expected, not %s", x->shape[0],
                           array_describe(weights, given, sizeof given));
    }
    const Array sums = {.dtype = DTYPE_F32};
    TRY(vector_expect_floats(weights, "weights", other_dtype(x->dtype) == x->dtype ? x : &sums));
    double least, most;
    if (weights->data) TRY(moments_weights_range(weights, &least, &most)); /* else shapes are all that is known */
    return params_set(&problem->params, "weights", WEIGHTS[WEIGHTS_ROW]);
}

/* Weights from U(0.5, 1.5), heavy-tailed ones beside heavy-tailed data; the spread of the columns. */
static Status generate(const Case *problem, int index, Array *in) {
    const size_t n = array_count(in);
    if (index == 1) {
        const uint64_t key = rng_at(problem->seed, UINT64_C(0x77656967687473));
        const bool heavy = strcmp(problem->input, "heavytail") == 0;
        const double range = in->dtype == DTYPE_F16 ? 14 : 30;
#pragma omp parallel for schedule(static)
        for (size_t i = 0; i < n; i++)
            number_put(in, i, heavy ? exp2(2 * range * rng_uniform(key, i) - range) : 0.5 + rng_uniform(key, i));
        return STATUS_OK;
    }
    if (params_choice(&problem->params, "columns") != COLUMNS_SCALED) return STATUS_OK;
    const bool uniform = strcmp(problem->input, "uniform") == 0;
    const size_t cols = in->shape[1];
    bool beyond = false;
#pragma omp parallel for schedule(static) reduction(|| : beyond)
    for (size_t i = 0; i < n; i++) {
        const double c = (double)(i % cols + 1), value = number_at(in, i);
        number_put(in, i, uniform ? c * (3 * value - 1) : c * value);
        beyond = beyond || (dtype_is_narrow(in->dtype) && isfinite(value) && !isfinite(number_at(in, i)));
    }
    if (beyond)
        return status_fail(STATUS_UNSUPPORTED, "columns=scaled has numbers beyond the range of %s: fewer columns",
                           dtype_name(in->dtype));
    return STATUS_OK;
}

/* Per element: the mean's addition, a subtraction, order - 1 products, as many additions, two comparisons; with weights one product
 * for each sum. */
static Work work(const Case *problem) {
    const double rows = (double)params_int(&problem->params, "rows"), cols = (double)params_int(&problem->params, "cols");
    const double order = (double)params_int(&problem->params, "order");
    const bool weighted = params_choice(&problem->params, "weights") == WEIGHTS_ROW;
    return (Work){.bytes = rows * (cols * (double)dtype_size(problem->dtype) +
                                   (weighted ? (double)dtype_size(other_dtype(problem->dtype)) : 0)),
                  .flops = rows * cols * (2 + 2 * order + (weighted ? order : 0)),
                  .elements = rows * cols};
}

/* Columns without NaN and infinities, of which one element may decide every output, and the weights if there is such a column. */
static void least_read(const Case *problem, const Array *in, int bound, Reads *reads) {
    (void)problem, (void)bound;
    const size_t rows = in[0].shape[0], cols = in[0].shape[1];
    bool *decided = calloc(cols, sizeof *decided);
    if (!decided) return;
    for (size_t row = 0; row < rows; row++)
        for (size_t c = 0; c < cols; c++)
            if (!isfinite(number_at(&in[0], row * cols + c))) decided[c] = true;
    for (size_t row = 0; row < rows; row++)
        for (size_t c = 0; c < cols; c++)
            if (!decided[c]) reads_need_elements(reads, 0, in, row * cols + c, 1);
    if (reads->of[0].count > 0) reads_need(reads, 1, 0, array_bytes(&in[1]));
    free(decided);
}

enum { WRONG_DDOF, WRONG_BIAS, WRONG_EXCESS, WRONG_WEIGHTS };
static const char *const WRONG[] = {
    [WRONG_DDOF] = "ddof=1", [WRONG_BIAS] = "unbiased", [WRONG_EXCESS] = "excess", [WRONG_WEIGHTS] = "no weights", NULL};

/* Mean and variance of a column whose weights are left out. */
static bool unweighted(const Array *x, int output, size_t column, double *value) {
    enum { ELEMENTS_MAX = 1 << 27 };
    const size_t rows = x->shape[0], cols = x->shape[1];
    if ((output != MOMENTS_MEAN && output != MOMENTS_VAR) || rows == 0 || rows * cols > ELEMENTS_MAX) return false;
    long double sum = 0, squares = 0;
    for (size_t row = 0; row < rows; row++) sum += (long double)number_at(x, row * cols + column);
    const long double mean = sum / (long double)rows;
    for (size_t row = 0; row < rows && output == MOMENTS_VAR; row++) {
        const long double d = (long double)number_at(x, row * cols + column) - mean;
        squares += d * d;
    }
    *value = (double)(output == MOMENTS_MEAN ? mean : squares / (long double)rows);
    return isfinite(*value);
}

/* Without weights: pandas' and SciPy's unbiased estimates. With weights there are several, of which none is looked at. */
static bool wrong_value(const Case *problem, const Array *in, const Reference *right, int which, int output, size_t element,
                        double *value) {
    (void)problem;
    const double n = (double)in[0].shape[0], of = right[output].value[element];
    const bool weighted = array_count(&in[1]) > 0;
    if (which == WRONG_WEIGHTS) return weighted && unweighted(&in[0], output, element, value);
    if (weighted || n < 4) return false;
    if (which == WRONG_DDOF && output == MOMENTS_VAR)
        *value = of * (n / (n - 1));
    else if (which == WRONG_BIAS && output == MOMENTS_SKEWNESS)
        *value = of * (sqrt(n * (n - 1)) / (n - 2));
    else if (which == WRONG_BIAS && output == MOMENTS_KURTOSIS)
        *value = 3 + (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * (of - 3) + 6);
    else if (which == WRONG_EXCESS && output == MOMENTS_KURTOSIS)
        *value = of - 3;
    else
        return false;
    return true;
}

RUNGS_OP(moments) = {
    .name = "moments",
    .summary = "mean, var, skewness, kurtosis, min, max of every column of x[rows, cols]",
    .params = PARAMS,
    .dtypes = DTYPES,
    .accumulates = ACCUMULATES,
    .families = FAMILIES,
    .bounds = BOUNDS,
    .in_count = 2,
    .out_count = MOMENTS_OUTPUT_COUNT,
    .shapes = shapes,
    .adopt = adopt,
    .generate = generate,
    .reference = moments_reference,
    .work = work,
    .least_read = least_read,
    .wrong = WRONG,
    .wrong_value = wrong_value,
};
