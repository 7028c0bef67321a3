/* discounted_cumsum - discounted sums along the rows of a matrix: meaning, parameters, bounds. See docs/ops/discounted_cumsum.md.
 */
#include "discount.h"

static const char *const REFERENCES[] = {"received", "unrounded", NULL};

static const ParamSpec PARAMS[] = {
    DISCOUNT_PARAMS,
    {"reference", "unrounded: the reference takes gamma as written, not as rounded to the dtype (with gamma_per=all)", PARAM_CHOICE,
     "received", 0, 0, REFERENCES},
    {0},
};

static const char *const FAMILIES[] = {
    "uniform",     "normal", "ones",     "ramp",   "constant", "integers",  "offset1e3", "spike1e16",
    "alternating", "mixed",  "denormal", "naninf", "sorted",   "heavytail", "real:NAME", NULL,
};

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

enum { IN_X, IN_GAMMA, IN_RESET };

static Status shapes(const Case *problem, Array *in, Array *out) {
    TRY(discount_check(problem));
    in[IN_X] = discount_matrix(problem, "x");
    in[IN_GAMMA] = discount_gamma(problem, "gamma");
    in[IN_RESET] = discount_reset(problem);
    out[0] = discount_matrix(problem, "y");
    return STATUS_OK;
}

static Status adopt(const Array *in, Case *problem) {
    return discount_adopt(&in[IN_X], &in[IN_GAMMA], &in[IN_RESET], NULL, problem);
}

static Status generate(const Case *problem, int index, Array *in) {
    if (index == IN_GAMMA) return discount_generate_gamma(problem, in);
    return index == IN_RESET ? discount_generate_reset(problem, in) : STATUS_OK;
}

static Status reference(const Case *problem, const Array *in, int bound, Reference *out) {
    const Discount self = discount_of(problem, &in[IN_GAMMA], &in[IN_RESET]);
    const void *x = in[IN_X].data;
    if (bound == DISCOUNT_SCAN || self.terms > self.n)
        return discount_sums(&self, x, self.terms, DISCOUNT_SCAN, out[0].value, out[0].tolerance);
    TRY(discount_sums(&self, x, self.terms, DISCOUNT_SCAN, out[0].value, NULL));
    return discount_sums(&self, x, self.n + 1, DISCOUNT_DIFFERENCE, NULL, out[0].tolerance);
}

static Work work(const Case *problem) {
    Array in[3], out[1];
    if (shapes(problem, in, out) != STATUS_OK) return (Work){0};
    const double elements = (double)array_count(&out[0]);
    const bool one = params_choice(&problem->params, "gamma_per") == GAMMA_ALL;
    return (Work){.bytes = (double)(array_bytes(&in[IN_X]) + (one ? 0 : array_bytes(&in[IN_GAMMA])) + array_bytes(&in[IN_RESET]) +
                                    array_bytes(&out[0])),
                  .flops = 2 * elements,
                  .elements = elements};
}

static double least_read(const Case *problem, const Array *in, int bound) {
    (void)bound;
    const Discount self = discount_of(problem, &in[IN_GAMMA], &in[IN_RESET]);
    const DiscountReads reads = discount_reads(&self, &in[IN_X]);
    return reads.elements * (double)dtype_size(problem->dtype) + discount_factor_reads(problem, &self, &reads);
}

RUNGS_OP(discounted_cumsum) = {
    .name = "discounted_cumsum",
    .summary = "y[i] = sum_j gamma^j x[i + j] along each row, or x[i - j]",
    .params = PARAMS,
    .families = FAMILIES,
    .bounds = BOUNDS,
    .in_count = 3,
    .out_count = 1,
    .shapes = shapes,
    .adopt = adopt,
    .generate = generate,
    .reference = reference,
    .work = work,
    .least_read = least_read,
};
