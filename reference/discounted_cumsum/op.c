/* discounted_cumsum - discounted sums along the rows of a matrix: meaning, parameters, bounds. See docs/ops/discounted_cumsum.md.
 */
#include "discount.h"

#include "base/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- What the op and its gradient have in common. */

const char *const DISCOUNT_DIRECTIONS[] = {"right", "left", NULL};
const char *const DISCOUNT_GAMMAS[] = {"all", "row", "element", NULL};
const char *const DISCOUNT_RESETS[] = {"none", "mask", NULL};

static const double ELEMENTS_MAX = 0x1p46; /* beyond any memory, and counts of bytes still fit */

/* Is the option, which only sums have, at its other value? */
static bool chosen(const Case *problem, const char *option) {
    return params_has(&problem->params, option) && params_choice(&problem->params, option) == 1;
}
static bool is_time_major(const Case *problem) {
    return chosen(problem, "layout");
}

Array discount_matrix(const Case *problem, const char *name) {
    const bool columns = is_time_major(problem);
    Array array = array_1d(name, problem->dtype, vector_size(problem, columns ? "n" : "batch"));
    array.rank = 2;
    array.shape[1] = vector_size(problem, columns ? "batch" : "n");
    return array;
}

/* What is carried into a row, or out of it. */
static Array state_of_rows(const Case *problem, const char *name) {
    return array_1d(name, case_sums(problem), chosen(problem, "state") ? vector_size(problem, "batch") : 0);
}

Array discount_gamma(const Case *problem, const char *name) {
    switch ((DiscountGamma)params_choice(&problem->params, "gamma_per")) {
    case GAMMA_ROW:
        return array_1d(name, problem->dtype, vector_size(problem, "batch"));
    case GAMMA_ELEMENT:
        return discount_matrix(problem, name);
    default:
        return array_1d(name, case_sums(problem), 1);
    }
}

Array discount_reset(const Case *problem) {
    Array array = discount_matrix(problem, "reset");
    array.dtype = DTYPE_U8;
    if (params_choice(&problem->params, "reset") == 0) array.shape[0] = array.shape[1] = 0;
    return array;
}

static bool is_unrounded(const Case *problem) {
    return chosen(problem, "reference");
}

/* So many roundings behind a sum in f16 or bf16 that they may cost half of it are beyond what the bound knows. */
static Status check_sums(const Case *problem) {
    const double n = (double)vector_size(problem, "n") + chosen(problem, "state"), k = (double)vector_size(problem, "k"),
                 terms = k > 0 && k < n ? k : n;
    const DType sums = case_sums(problem);
    const double left = 0.5 / dtype_unit_roundoff(sums) - discount_depth((size_t)n);
    if (!dtype_is_narrow(sums) || 2 * terms <= left) return STATUS_OK;
    return status_fail(STATUS_INVALID, "accumulate=%s: sums of %g terms have no bound; in rows of %g, at most %g", dtype_name(sums),
                       terms, n, floor(fmax(left, 0) / 2));
}

Status discount_check(const Case *problem) {
    TRY(check_sums(problem));
    if ((is_time_major(problem) || chosen(problem, "state")) && vector_size(problem, "k") > 0)
        return status_fail(STATUS_INVALID, "k=%zu: layout=time_major and state=both are for sums of all terms, k=0",
                           vector_size(problem, "k"));
    if (is_unrounded(problem) && params_choice(&problem->params, "gamma_per") != GAMMA_ALL)
        return status_fail(STATUS_INVALID,
                           "reference=unrounded is for gamma_per=all, not gamma_per=%s: there gamma is not one number",
                           params_text(&problem->params, "gamma_per"));
    const double gamma = params_real(&problem->params, "gamma");
    const bool all = params_choice(&problem->params, "gamma_per") == GAMMA_ALL;
    const DType dtype = all ? case_sums(problem) : problem->dtype;
    const double most = dtype == DTYPE_F16    ? 65504
                        : dtype == DTYPE_BF16 ? 0x1.fep127
                        : dtype == DTYPE_F32  ? (double)FLT_MAX
                                              : DBL_MAX;
    if (fabs(gamma) > most)
        return status_fail(STATUS_INVALID, "gamma=%g is no %s: at most %g is expected", gamma, dtype_name(dtype), most);
    if ((double)vector_size(problem, "batch") * (double)vector_size(problem, "n") <= ELEMENTS_MAX) return STATUS_OK;
    return status_fail(STATUS_INVALID, "batch=%zu n=%zu: more than 2^46 elements", vector_size(problem, "batch"),
                       vector_size(problem, "n"));
}

/* Has the array the shape of x? */
static bool like_x(const Array *array, const Array *x) {
    if (array->rank != x->rank) return false;
    for (int d = 0; d < x->rank; d++)
        if (array->shape[d] != x->shape[d]) return false;
    return true;
}

static Status refuse_shape(const Array *array, const char *name, const char *wanted, const Array *x) {
    char has[128], of_x[128];
    return status_fail(STATUS_INVALID, "%s: %s is expected, not %s (x is %s)", name, wanted, array_describe(array, has, sizeof has),
                       array_describe(x, of_x, sizeof of_x));
}

static Status adopt_x(const Array *x, Case *problem) {
    if (x->rank < 0)
        return status_fail(STATUS_INVALID, "x: missing; an array [n] or [batch, n] of floating-point numbers is expected");
    if (x->rank != 1 && x->rank != 2)
        return status_fail(STATUS_INVALID, "x: one or two dimensions, [n] or [batch, n], are expected, not %d", x->rank);
    TRY(vector_expect_floats(x, "x", NULL));
    problem->dtype = x->dtype;
    const bool columns = is_time_major(problem) && x->rank == 2;
    TRY(vector_set_size(problem, "batch", columns ? x->shape[1] : x->rank == 2 ? x->shape[0] : 1));
    TRY(vector_set_size(problem, "n", x->shape[columns ? 0 : x->rank - 1]));
    return discount_check(problem);
}

/* The powers of an infinite factor are nothing that variants agree on. */
static Status expect_finite(const Array *array, const char *name) {
    const size_t count = array->data ? array_count(array) : 0; /* no data: shapes are all that is known */
    for (size_t i = 0; i < count; i++) {
        const double value = number_at(array, i);
        if (!isfinite(value)) return status_fail(STATUS_INVALID, "%s[%zu] is %g: finite factors are expected", name, i, value);
    }
    return STATUS_OK;
}

/* Variants ask the parameter whether powers of a discount fit; where all share the one of an array, that is the parameter. */
static Status set_discount(const Array *gamma, Case *problem) {
    if (!gamma->data) return STATUS_OK;
    char text[32];
    snprintf(text, sizeof text, "%.17g", number_at(gamma, 0));
    return params_set(&problem->params, "gamma", text);
}

static Status adopt_gamma(const Array *gamma, const Array *x, Case *problem) {
    if (gamma->rank < 0) return STATUS_OK; /* made from the parameters */
    const bool one = gamma->rank == 0 || (gamma->rank == 1 && gamma->shape[0] == 1);
    const bool row = gamma->rank == 1 && gamma->shape[0] == vector_size(problem, "batch") && x->rank == 2;
    if (!one && !row && !like_x(gamma, x)) return refuse_shape(gamma, "gamma", "[1], [batch] or the shape of x", x);
    const Array sums = {.dtype = case_sums(problem)};
    TRY(vector_expect_floats(gamma, "gamma", one ? &sums : x));
    TRY(expect_finite(gamma, "gamma"));
    if (one) TRY(set_discount(gamma, problem));
    return params_set(&problem->params, "gamma_per", DISCOUNT_GAMMAS[one ? GAMMA_ALL : row ? GAMMA_ROW : GAMMA_ELEMENT]);
}

static Status adopt_reset(const Array *reset, const Array *x, Case *problem) {
    if (reset->rank < 0) return STATUS_OK;
    if (reset->dtype != DTYPE_U8)
        return status_fail(STATUS_INVALID, "reset: u8 (0, or 1 where a segment begins) is expected, not %s",
                           dtype_name(reset->dtype));
    if (!like_x(reset, x)) return refuse_shape(reset, "reset", "the shape of x", x);
    return params_set(&problem->params, "reset", "mask");
}

Status discount_adopt(const Array *x, const Array *gamma, const Array *reset, const Array *dy, Case *problem) {
    TRY(adopt_x(x, problem));
    TRY(adopt_gamma(gamma, x, problem));
    if (dy) {
        if (dy->rank < 0) return status_fail(STATUS_INVALID, "dy: missing; an array of the shape and dtype of x is expected");
        TRY(vector_expect_floats(dy, "dy", x));
        if (!like_x(dy, x)) return refuse_shape(dy, "dy", "the shape of x", x);
    }
    return adopt_reset(reset, x, problem);
}

enum { GAMMA_STREAM = 101, RESET_STREAM = 102 };

Status discount_generate_gamma(const Case *problem, Array *gamma) {
    const double parameter = params_real(&problem->params, "gamma");
    const bool one = params_choice(&problem->params, "gamma_per") == GAMMA_ALL;
    const uint64_t key = rng_at(problem->seed, GAMMA_STREAM);
    const size_t count = array_count(gamma);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count; i++) {
        number_put(gamma, i, one ? parameter : parameter * (0.9 + 0.1 * rng_uniform(key, i)));
    }
    return STATUS_OK;
}

Status discount_generate_reset(const Case *problem, Array *reset) {
    return vector_generate_mask(problem, RESET_STREAM, reset);
}

Discount discount_of(const Case *problem, const Array *gamma, const Array *reset) {
    const size_t n = vector_size(problem, "n"), k = vector_size(problem, "k");
    return (Discount){
        .left = params_choice(&problem->params, "direction") == 1,
        .f32 = problem->dtype == DTYPE_F32,
        .sums = case_sums(problem),
        .unrounded = is_unrounded(problem),
        .gamma_per = (DiscountGamma)params_choice(&problem->params, "gamma_per"),
        .batch = vector_size(problem, "batch"),
        .n = n,
        .terms = k == 0 || k > n ? n + 1 : k,
        .gamma = gamma->data,
        .reset = params_choice(&problem->params, "reset") == 1 ? reset->data : NULL,
        .gamma_written = params_real(&problem->params, "gamma"),
    };
}

/* ---- What any correct variant reads: see Op.least_read. */

static const double GAMMA_FELT = 1e-3; /* with a smaller discount a variant might do without what is carried */

/* What a row needs so far. */
typedef struct Needed {
    size_t decided;      /* so many further elements get a NaN or an infinity */
    bool first, carried; /* nothing is carried into the next element; something was into any */
} Needed;

static Needed needed_at_first(const DiscountRows *rows, size_t row) {
    const bool spoilt = rows->initial && !isfinite(vector_load(rows->initial, rows->self->f32, row));
    return (Needed){.decided = spoilt ? rows->self->n : 0, .first = !rows->initial};
}

/* An element counts unless a NaN or an infinity that is carried into it may decide its sum alone; of finite ones the factor by
 * which something is carried, and the reset (not a row's first, but for a state), too. In the order in which sums grow: from the
 * right, unless they are left or (not both) transposed. */
static void need_element(const DiscountNeeds *needs, size_t row, size_t step, Needed *so_far, Reads *reads) {
    const DiscountRows *rows = needs->rows;
    const Discount *self = rows->self;
    const bool from_left = self->left != self->adjoint, enters = step > 0 || rows->initial;
    const bool carries = self->terms > 1 && (self->n > 1 || rows->initial);
    const size_t i = row * rows->row_step + (from_left ? step : self->n - 1 - step) * rows->step;
    const size_t edge = !self->adjoint ? i : from_left ? i - rows->step : i + rows->step; /* has the factor, and the reset */
    const bool finite = isfinite(number_at(&needs->in[needs->summed], i));
    if (enters && self->reset && self->reset[edge]) so_far->first = true, so_far->decided = 0;
    if (so_far->decided == 0) reads_need_elements(reads, needs->summed, needs->in, i, 1);
    if (so_far->decided == 0 && !so_far->first && carries && finite) {
        if (self->gamma_per == GAMMA_ELEMENT) reads_need_elements(reads, needs->gamma, needs->in, edge, 1);
        if (step == 0) reads_need_elements(reads, needs->initial, needs->in, row, 1);
        so_far->carried = true;
    }
    if (enters && carries && finite && self->reset && fabs(self->gamma_written) >= GAMMA_FELT)
        reads_need(reads, needs->reset, edge, 1);
    so_far->decided = finite ? so_far->decided - (so_far->decided > 0) : self->terms - 1;
    so_far->first = false;
}

static void need_end(const DiscountNeeds *needs, size_t row, const Needed *so_far, Reads *reads) {
    const Discount *self = needs->rows->self;
    if (self->n == 0 && needs->rows->initial) reads_need_elements(reads, needs->initial, needs->in, row, 1);
    if (so_far->carried && self->gamma_per == GAMMA_ROW) reads_need_elements(reads, needs->gamma, needs->in, row, 1);
}

static void need_row(const void *of, size_t row, Reads *reads) {
    const DiscountNeeds *needs = of;
    Needed so_far = needed_at_first(needs->rows, row);
    for (size_t step = 0; step < needs->rows->self->n; step++) need_element(needs, row, step, &so_far, reads);
    need_end(needs, row, &so_far, reads);
}

/* All rows side by side, in the order of memory. */
static void need_columns(const DiscountNeeds *needs, Reads *reads) {
    const Discount *self = needs->rows->self;
    Needed *so_far = malloc(self->batch * sizeof *so_far + 1);
    for (size_t row = 0; so_far && row < self->batch; row++) so_far[row] = needed_at_first(needs->rows, row);
    for (size_t step = 0; so_far && step < self->n; step++)
        for (size_t k = 0; k < self->batch; k++) {
            const size_t row = self->left ? k : self->batch - 1 - k;
            need_element(needs, row, step, &so_far[row], reads);
        }
    for (size_t row = 0; so_far && row < self->batch; row++) need_end(needs, row, &so_far[row], reads);
    free(so_far);
}

void discount_least_read(const DiscountNeeds *needs, Reads *reads) {
    if (needs->rows->row_step < needs->rows->step)
        need_columns(needs, reads);
    else
        reads_need_parts(reads, needs->rows->self->batch, need_row, needs);
}

/* ---- The op. */

static const char *const REFERENCES[] = {"received", "unrounded", NULL};

static const char *const LAYOUTS[] = {"row_major", "time_major", NULL}, *const STATES[] = {"none", "both", NULL};

static const ParamSpec PARAMS[] = {
    DISCOUNT_PARAMS,
    {"reference", "unrounded: the reference takes gamma as written, not as rounded to the dtype (with gamma_per=all)", PARAM_CHOICE,
     "received", 0, 0, REFERENCES},
    {"layout", "time_major: x, y, reset and a gamma for each element are [n, batch]", PARAM_OPTION, "row_major", 0, 0, LAYOUTS},
    {"state", "both: `initial` is carried into each row, and what its end would carry on is `final`", PARAM_OPTION, "none", 0, 0,
     STATES},
    {0},
};

static const char *const FAMILIES[] = {
    "uniform", "normal",   "ones",   "ramp",   "constant",  "integers", "offset1e3", "spike1e16", "alternating",
    "mixed",   "denormal", "naninf", "sorted", "heavytail", "overflow", "real:NAME", NULL,
};

static const DType ACCUMULATES[] = {DTYPE_F16, DTYPE_BF16, DTYPE_F32, DTYPE_F64, DTYPE_COUNT};

static const Bound BOUNDS[] = {
    [DISCOUNT_SCAN] =
        {"scan", "u sum_j (2 j + d) |w_j x_j|, w_j = gamma^j, d = 2 ceil(log2 n) + 48: one after the other or a tree, "
                 "powers by products; j for 2 j if gamma is 1 or -1; k terms of f64: + k, blocks summed from "
                 "their borders (f32: in double); at most sum_j |w_j x_j| / 256, asked for whatever theory allows: "
                 "a plain f32 loop over 1e6 like terms may fail; sums of all terms: or u (3 sqrt(2 R (2 m + d s)) + T/2 + 2 |y|) + "
                 "4 E if that is less, with the sums that occur: R the largest, m all of them, T the largest sum j w_j x_j, E the "
                 "error of the plain recurrence"},
    [DISCOUNT_DIFFERENCE] = {"difference",
                             "twice 'scan' of the sum of all terms: y[i] - gamma^k y[i+k] errs by what both have lost"},
    {NULL, NULL},
};

enum { IN_X, IN_GAMMA, IN_INITIAL, IN_RESET, IN_COUNT };
enum { OUT_Y, OUT_FINAL, OUT_COUNT };

static Status shapes(const Case *problem, Array *in, Array *out) {
    TRY(discount_check(problem));
    in[IN_X] = discount_matrix(problem, "x");
    in[IN_GAMMA] = discount_gamma(problem, "gamma");
    in[IN_INITIAL] = state_of_rows(problem, "initial");
    in[IN_RESET] = discount_reset(problem);
    out[OUT_Y] = discount_matrix(problem, "y");
    out[OUT_FINAL] = state_of_rows(problem, "final");
    return STATUS_OK;
}

static Status adopt(const Array *in, Case *problem) {
    const Array *initial = &in[IN_INITIAL], sums = {.dtype = case_sums(problem)};
    TRY(discount_adopt(&in[IN_X], &in[IN_GAMMA], &in[IN_RESET], NULL, problem));
    if (initial->rank < 0 && chosen(problem, "state"))
        return status_fail(STATUS_INVALID,
                           "initial: missing; with state=both an array [batch] is expected, zeros if nothing is carried");
    if (initial->rank < 0) return STATUS_OK;
    TRY(vector_expect_floats(initial, "initial", &sums));
    if (array_count(initial) != vector_size(problem, "batch")) return refuse_shape(initial, "initial", "[batch]", &in[IN_X]);
    TRY(params_set(&problem->params, "state", "both"));
    return discount_check(problem);
}

static Status generate(const Case *problem, int index, Array *in) {
    if (index == IN_GAMMA) return discount_generate_gamma(problem, in);
    return index == IN_RESET ? discount_generate_reset(problem, in) : STATUS_OK;
}

static DiscountRows rows_of(const Case *problem, const Discount *self, const Array *in) {
    const bool columns = is_time_major(problem);
    return (DiscountRows){self, in[IN_X].data, chosen(problem, "state") ? in[IN_INITIAL].data : NULL, columns ? 1 : self->n,
                          columns ? self->batch : 1};
}

static Status reference(const Case *problem, const Array *in, int bound, Reference *out) {
    const Discount self = discount_of(problem, &in[IN_GAMMA], &in[IN_RESET]);
    const void *x = in[IN_X].data;
    if (is_time_major(problem) || chosen(problem, "state")) {
        const DiscountRows rows = rows_of(problem, &self, in);
        return discount_row_by_row(&rows, &out[OUT_Y], &out[OUT_FINAL]);
    }
    if (bound == DISCOUNT_SCAN || self.terms > self.n)
        return discount_sums(&self, x, self.terms, DISCOUNT_SCAN, out[0].value, out[0].tolerance);
    TRY(discount_sums(&self, x, self.terms, DISCOUNT_SCAN, out[0].value, NULL));
    return discount_sums(&self, x, self.n + 1, DISCOUNT_DIFFERENCE, NULL, out[0].tolerance);
}

static Work work(const Case *problem) {
    Array in[IN_COUNT], out[OUT_COUNT];
    if (shapes(problem, in, out) != STATUS_OK) return (Work){0};
    const double elements = (double)array_count(&out[OUT_Y]);
    const bool one = params_choice(&problem->params, "gamma_per") == GAMMA_ALL;
    double bytes = (double)(array_bytes(&out[OUT_Y]) + array_bytes(&out[OUT_FINAL]));
    for (int i = 0; i < IN_COUNT; i++) bytes += i == IN_GAMMA && one ? 0 : (double)array_bytes(&in[i]);
    return (Work){.bytes = bytes, .flops = 2 * elements, .elements = elements};
}

static void least_read(const Case *problem, const Array *in, int bound, Reads *reads) {
    (void)bound;
    const Discount self = discount_of(problem, &in[IN_GAMMA], &in[IN_RESET]);
    const DiscountRows rows = rows_of(problem, &self, in);
    discount_least_read(&(DiscountNeeds){&rows, in, IN_X, IN_GAMMA, IN_RESET, IN_INITIAL}, reads);
}

static bool wrong_value(const Case *problem, const Array *in, const Reference *right, int which, int output, size_t element,
                        double *value) {
    const Discount self = discount_of(problem, &in[IN_GAMMA], &in[IN_RESET]);
    if (is_time_major(problem) || chosen(problem, "state")) {
        const DiscountRows rows = rows_of(problem, &self, in);
        return discount_rows_wrong_value(&rows, right, which, output, element, value);
    }
    return output == OUT_Y && discount_wrong_value(&self, in[IN_X].data, right[OUT_Y].value, which, element, value);
}

RUNGS_OP(discounted_cumsum) = {
    .name = "discounted_cumsum",
    .summary = "y[i] = sum_j gamma^j x[i + j] along each row, or x[i - j]",
    .params = PARAMS,
    .dtypes = VECTOR_DTYPES,
    .accumulates = ACCUMULATES,
    .families = FAMILIES,
    .bounds = BOUNDS,
    .in_count = IN_COUNT,
    .out_count = OUT_COUNT,
    .shapes = shapes,
    .adopt = adopt,
    .generate = generate,
    .reference = reference,
    .work = work,
    .least_read = least_read,
    .wrong = DISCOUNT_WRONG,
    .wrong_value = wrong_value,
};
