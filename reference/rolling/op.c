/* rolling - one aggregate of every window of a 1-D array: meaning, parameters, bounds, work. See docs/ops/rolling.md.
 *
 * The reference is in reference.c (fixed.c, windows.c), the tolerances in bounds.c, agg=apply in apply.c. */
#include "reference/vector.h"
#include "rolling.h"

static const char *const AGGREGATES[] = {"mean", "sum", "var", "std", "min", "max", "apply", NULL};
static const char *const INCOMPLETE[] = {"nan", "inf", NULL};

static const ParamSpec PARAMS[] = {
    {"agg", "aggregate of a window; var and std have ddof 1", PARAM_CHOICE, "mean", 0, 0, AGGREGATES},
    {"n", "elements", PARAM_INT, "1000003", 0, 0x1p40, NULL},
    {"window", "elements of a window, the present one and those before it", PARAM_INT, "300", 1, 0x1p40, NULL},
    {"incomplete", "the output while the window is not full", PARAM_CHOICE, "nan", 0, 0, INCOMPLETE},
    {"function", "file of the window function, for agg=apply", PARAM_TEXT, "none", 0, 0, NULL},
    {0},
};

static const char *const FAMILIES[] = {
    "uniform", "normal",      "ones",  "ramp",     "constant", "integers", "offset1e3", "offset1e6", "offset1e8", "spike1e16",
    "outlier", "alternating", "mixed", "denormal", "naninf",   "sorted",   "heavytail", "overflow",  "real:NAME", NULL,
};

static const Bound BOUNDS[] = {
    [ROLLING_WINDOW] =
        {"window",
         "c = min(w - 1, max(3 sqrt(w), 4 e)) + 8, e: errors of plain sums near the window, in u. mean: c u R / w, R: range of "
         "partial sums (integers below 1/u: the final division's rounding only); sum: w times that; var: "
         "u (max(4 sqrt(w) + 8, 4 e) var + 24 sqrt(var mean(x^2) / w) + 16 u mean(x^2)); std: its root; min, max: 0"},
    [ROLLING_RUNNING] = {"running",
                         "as 'window', with w + 128 terms and over [i - w - 63, i + 64]: a running update over up to 64 steps"},
    [ROLLING_TEXTBOOK] = {"textbook",
                          "var: 'window' and 2 c u sum x^2 / (w - 1), with w + 128 terms and over [i - w - 63, i + 64]: "
                          "E[x^2] - E[x]^2; mean, sum: as 'running', but means of integers round"},
    [ROLLING_PREFIX] =
        {"prefix",
         "mean: 4 d u R / w, R: range of partial sums from the beginning, d = 64 + i/512; var: 4 d u sum_{j<=i} x_j^2 / w "
         "and what the error of the mean adds: differences of prefix sums"},
    [ROLLING_WEIGHTED] = {"weighted",
                          "as 'window' and 2 u mean|x|, also where sums of integers are exact: a convolution with weights 1/w "
                          "rounds each product"},
    {NULL, NULL},
};

static Status shapes(const Case *problem, Array *in, Array *out) {
    const bool apply = params_choice(&problem->params, "agg") == ROLLING_APPLY;
    if (apply && !case_is_usual(problem))
        return status_fail(STATUS_INVALID, "accumulate=%s: not with agg=apply: a function's sums are its own",
                           dtype_name(case_sums(problem)));
    if (apply && dtype_is_narrow(problem->dtype))
        return status_fail(STATUS_INVALID, "agg=apply: functions are of f64 and f32, not of %s", dtype_name(problem->dtype));
    return vector_shapes(problem, in, out);
}

static Status reference(const Case *problem, const Array *in, int bound, Reference *out) {
    if (params_choice(&problem->params, "agg") == ROLLING_APPLY) return rolling_apply_reference(problem, &in[0], bound, &out[0]);
    return rolling_reference(problem, &in[0], bound, &out[0]);
}

/* Operations per element of a full window, by the definition: one addition or comparison; for a variance a subtraction, a
 * multiplication and an addition, its mean not counted. A user's function counts as one. */
static Work work(const Case *problem) {
    static const double per_element[] = {1, 1, 3, 3, 1, 1, 1};
    const double n = (double)params_int(&problem->params, "n"), w = (double)params_int(&problem->params, "window");
    const double outputs = n >= w ? n - w + 1 : 0;
    return (Work){.bytes = 2 * n * (double)dtype_size(problem->dtype),
                  .flops = outputs * w * per_element[params_choice(&problem->params, "agg")],
                  .elements = n};
}

/* Elements of windows without NaN and infinities: a NaN in place of any of them changes an output. Other windows may be decided by
 * one element, incomplete ones by none, and a user's function may look at none. */
static void least_read(const Case *problem, const Array *in, int bound, Reads *reads) {
    (void)bound;
    const size_t n = array_count(&in[0]), w = vector_size(problem, "window");
    const int agg = params_choice(&problem->params, "agg");
    if (agg == ROLLING_APPLY || ((agg == ROLLING_VAR || agg == ROLLING_STD) && w == 1)) return;
    size_t run = 0;
    for (size_t i = 0; i <= n; i++) {
        if (i < n && isfinite(number_at(&in[0], i))) {
            run++;
            continue;
        }
        if (run >= w) reads_need_elements(reads, 0, in, i - run, run);
        run = 0;
    }
}

static bool is_incomplete(const Case *problem, int output, size_t element) {
    (void)output;
    return element + 1 < vector_size(problem, "window");
}

static bool runs_user_code(const Case *problem) {
    return params_choice(&problem->params, "agg") == ROLLING_APPLY;
}

RUNGS_OP(rolling) = {
    .name = "rolling",
    .summary = "y[i] = aggregate of x[i - window + 1 .. i]",
    .params = PARAMS,
    .dtypes = VECTOR_DTYPES,
    .accumulates = VECTOR_ACCUMULATES,
    .families = FAMILIES,
    .bounds = BOUNDS,
    .in_count = 1,
    .out_count = 1,
    .shapes = shapes,
    .adopt = vector_adopt,
    .reference = reference,
    .work = work,
    .least_read = least_read,
    .wrong = ROLLING_WRONG,
    .wrong_value = rolling_wrong_value,
    .is_incomplete = is_incomplete,
    .runs_user_code = runs_user_code,
};
