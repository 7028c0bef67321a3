/* discounted_cumsum_grad - gradients of discounted sums for their input and their discounts. See
 * docs/ops/discounted_cumsum_grad.md.
 *
 * With L = sum dy y: dx = dL/dx, dgamma = dL/dgamma. The reference is in gradient.c. */
#include "gradient.h"

static const ParamSpec PARAMS[] = {DISCOUNT_PARAMS, {0}};

static const char *const FAMILIES[] = {
    "uniform", "normal", "ones",   "ramp",      "integers", "offset1e3", "alternating",
    "mixed",   "naninf", "sorted", "heavytail", "overflow", NULL,
};

static const Bound BOUNDS[] = {
    [DISCOUNT_SCAN] = {"scan",
                       "dx: as y of discounted_cumsum. dgamma: sum (|dx| e(y) + |y| e(dx) + e(y) e(dx)) with the bounds e of "
                       "y and dx, 2^-53 c sum |dx y| for products and sums in double, c = n + batch (n for a row's, "
                       "1 for an element's), and u |dgamma|; for k > 0 "
                       "u sum (2 j + d) |dy w x| over all products that it sums, j apart, d = 4 ceil(log2 n) + 96, and "
                       "2^-53 (c + k) sum |dy w x|; no term is off by more than 1/256 of its magnitude"},
    [DISCOUNT_DIFFERENCE] = {"difference", "twice 'scan' of the sums of all terms (dgamma: four times 'dtype_sums'), for k > 0"},
    [GRADIENT_DTYPE_SUMS] = {"dtype_sums",
                             "dx: as 'scan'; dgamma: u sum (2 j + d) |dy w x|, and d is 1024 more where elements or "
                             "rows are added up, or 2^-53 (c + k) / u if that is more; at most 1/256 of the sum of magnitudes"},
    {NULL, NULL},
};

static const DType ACCUMULATES[] = {DTYPE_F16, DTYPE_BF16, DTYPE_F32, DTYPE_F64, DTYPE_COUNT};

enum { IN_X, IN_GAMMA, IN_DY, IN_RESET, IN_COUNT };
enum { OUT_DX, OUT_DGAMMA, OUT_COUNT };

static Status shapes(const Case *problem, Array *in, Array *out) {
    TRY(discount_check(problem));
    if (dtype_is_narrow(case_sums(problem)) && params_int(&problem->params, "k") > 0)
        return status_fail(STATUS_INVALID, "accumulate=%s: of sums of all terms only, k=0", dtype_name(case_sums(problem)));
    in[IN_X] = discount_matrix(problem, "x");
    in[IN_GAMMA] = discount_gamma(problem, "gamma");
    in[IN_DY] = discount_matrix(problem, "dy");
    in[IN_RESET] = discount_reset(problem);
    out[OUT_DX] = discount_matrix(problem, "dx");
    out[OUT_DGAMMA] = discount_gamma(problem, "dgamma");
    return STATUS_OK;
}

static Status adopt(const Array *in, Case *problem) {
    return discount_adopt(&in[IN_X], &in[IN_GAMMA], &in[IN_RESET], &in[IN_DY], problem);
}

static Status generate(const Case *problem, int index, Array *in) {
    if (index == IN_GAMMA) return discount_generate_gamma(problem, in);
    return index == IN_RESET ? discount_generate_reset(problem, in) : STATUS_OK;
}

static Status reference(const Case *problem, const Array *in, int bound, Reference *out) {
    const Discount self = discount_of(problem, &in[IN_GAMMA], &in[IN_RESET]);
    const bool difference = bound == DISCOUNT_DIFFERENCE && self.terms <= self.n;
    Discount transposed = self;
    transposed.adjoint = true;
    const void *x = in[IN_X].data, *dy = in[IN_DY].data;
    Reference *dx = &out[OUT_DX];
    TRY(discount_sums(&transposed, dy, self.terms, DISCOUNT_SCAN, dx->value, dx->tolerance));
    if (difference) TRY(discount_sums(&transposed, dy, self.n + 1, DISCOUNT_DIFFERENCE, NULL, dx->tolerance));
    return discount_gradient(&self, x, dy, dx->tolerance, bound, &out[OUT_DGAMMA]);
}

/* Two recurrences of two operations per element, a product and a sum. */
static Work work(const Case *problem) {
    Array in[IN_COUNT], out[OUT_COUNT];
    if (shapes(problem, in, out) != STATUS_OK) return (Work){0};
    const bool one = params_choice(&problem->params, "gamma_per") == GAMMA_ALL;
    double bytes = 0;
    for (int i = 0; i < IN_COUNT; i++) bytes += i == IN_GAMMA && one ? 0 : (double)array_bytes(&in[i]);
    bytes += (double)array_bytes(&out[OUT_DX]) + (one ? 0 : (double)array_bytes(&out[OUT_DGAMMA]));
    const double elements = (double)array_count(&out[OUT_DX]);
    return (Work){.bytes = bytes, .flops = 6 * elements, .elements = elements};
}

/* Of x what dgamma depends on: not the last element of a segment, in the order in which sums grow, which is carried nowhere. */
static void need_row_of_x(const void *of, size_t row, Reads *reads) {
    const DiscountNeeds *needs = of;
    const Discount *self = needs->rows->self;
    const size_t n = self->n;
    for (size_t i = 0; i < n; i++) {
        const size_t next = self->left ? i + 1 : i - 1; /* n or more: none */
        if (next < n && !(self->reset && self->reset[row * n + next])) reads_need_elements(reads, IN_X, needs->in, row * n + i, 1);
    }
}

/* Nothing of x where a NaN, an infinity or an overflow may decide dgamma alone. */
static void least_read(const Case *problem, const Array *in, int bound, Reads *reads) {
    (void)bound;
    Discount self = discount_of(problem, &in[IN_GAMMA], &in[IN_RESET]);
    self.adjoint = true;
    const DiscountRows rows = {&self, in[IN_DY].data, NULL, self.n, 1};
    const DiscountNeeds needs = {&rows, in, IN_DY, IN_GAMMA, IN_RESET, IN_COUNT};
    discount_least_read(&needs, reads);
    const size_t count = array_count(&in[IN_X]);
    bool finite = fabs(self.gamma_written) <= 1;
    for (size_t i = 0; i < count && finite; i++) finite = isfinite(number_at(&in[IN_X], i)) && isfinite(number_at(&in[IN_DY], i));
    if (finite && self.terms > 1) reads_need_parts(reads, self.batch, need_row_of_x, &needs);
}

enum { WRONG_CARRY = WRONG_UNCUT + 1 };
static const char *const WRONG[] = {"k+1", "k-1", "shift", "no reset", [WRONG_CARRY] = "no carry", NULL}; /* DISCOUNT_WRONG, and */

/* dx times the x before, where it should be the y before, which depends on the discount, too. */
static double carried(const Discount *self, const void *x, const double *dx, size_t row, size_t p) {
    const RecurrenceLine line = discount_line(self, &(DiscountFacts){.scale = 1}, x, row);
    if (p == 0 || recurrence_step(&line, p).cut) return 0;
    return dx[row * self->n + recurrence_element(&line, p)] * recurrence_step(&line, p - 1).x;
}

static bool without_carry(const Discount *self, const void *x, const double *dx, size_t element, double *value) {
    enum { ELEMENTS_MAX = 1 << 27 };
    const size_t n = self->n, row = self->gamma_per == GAMMA_ROW ? element : 0,
                 rows = self->gamma_per == GAMMA_ROW ? 1 : self->batch;
    if (self->terms <= n || rows * n > ELEMENTS_MAX) return false;
    long double sum = 0;
    if (self->gamma_per == GAMMA_ELEMENT) {
        const size_t in_row = element % n;
        sum = carried(self, x, dx, element / n, self->left ? in_row : n - 1 - in_row);
    }
    for (size_t i = 0; i < rows * n && self->gamma_per != GAMMA_ELEMENT; i++) sum += carried(self, x, dx, row + i / n, i % n);
    *value = (double)sum;
    return isfinite(*value);
}

/* Of dx, and of dgamma the last. */
static bool wrong_value(const Case *problem, const Array *in, const Reference *right, int which, int output, size_t element,
                        double *value) {
    Discount self = discount_of(problem, &in[IN_GAMMA], &in[IN_RESET]);
    if (which == WRONG_CARRY)
        return output == OUT_DGAMMA && without_carry(&self, in[IN_X].data, right[OUT_DX].value, element, value);
    self.adjoint = true;
    return output == OUT_DX && discount_wrong_value(&self, in[IN_DY].data, right[output].value, which, element, value);
}

RUNGS_OP(discounted_cumsum_grad) = {
    .name = "discounted_cumsum_grad",
    .summary = "gradients of discounted_cumsum for x and gamma",
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
    .wrong = WRONG,
    .wrong_value = wrong_value,
};
