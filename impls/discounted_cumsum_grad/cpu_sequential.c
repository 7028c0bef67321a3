/* Idea: y by its recurrence, kept where dx will be; then z = dy + gamma z the other way, which overwrites each y one step after it
 * was needed for dgamma. One thread. Sums of k terms: each window forth and back by itself, O(n k).
 * Traffic: x, dy, gamma once in, dx twice out and once in; dgamma once out if each element has its own.
 * Rounding: the recurrences in the dtype (f16 and bf16: in float; else as `accumulate` says); products, and the sum of dgamma over a row, or over all, in double. Sums of k terms in double.
 * Limits: each step waits for the one before it. Sums of k terms: |gamma|^(k-1) within the range of double.
 * Origin: torch-discounted-cumsum 1.1.0 (backward); reverse mode of the recurrence. */
#include "base/numbers.h"
#include "discounted_cumsum_grad/_shared.h"

enum { PART = 1024 /* positions whose gradients are gathered at a time, k > 0 */ };

#define DEFINE_ROW(T, suffix)                                                                                                      \
    /* A row of dx, and its dgamma if each element has a gamma; returns the sum of dgamma. */                                      \
    static double row_##suffix(const DcsGradient *self, size_t row) {                                                              \
        const DcsJob *job = &self->forward;                                                                                        \
        const DcsWalk walk = dcs_walk(job, row, 0);                                                                                \
        const T *x = (const T *)job->x + walk.first, *dy = (const T *)self->dy + walk.first;                                       \
        const T *gamma = (const T *)job->gamma + walk.gamma_first;                                                                 \
        const uint8_t *reset = job->reset ? job->reset + walk.first : NULL;                                                        \
        T *dx = (T *)self->dx + walk.first, *dgamma = (T *)self->dgamma + walk.gamma_first, carry = 0;                             \
        const ptrdiff_t n = (ptrdiff_t)job->n, step = walk.step, gamma_step = walk.gamma_step;                                     \
        for (ptrdiff_t p = 0; p < n; p++) {                                                                                        \
            carry = reset && reset[p * step] != 0 ? x[p * step] : x[p * step] + gamma[p * gamma_step] * carry;                     \
            dx[p * step] = carry;                                                                                                  \
        }                                                                                                                          \
        double sum = 0;                                                                                                            \
        carry = 0;                                                                                                                 \
        for (ptrdiff_t p = n; p-- > 0;) {                                                                                          \
            const bool cut = p == 0 || (reset && reset[p * step] != 0);                                                            \
            const T z = dy[p * step] + carry;                                                                                      \
            const double product = cut ? 0 : (double)z * (double)dx[(p - 1) * step];                                               \
            dx[p * step] = z;                                                                                                      \
            carry = cut ? 0 : gamma[p * gamma_step] * z;                                                                           \
            if (gamma_step != 0) dgamma[p * gamma_step] = (T)product;                                                              \
            sum += product;                                                                                                        \
        }                                                                                                                          \
        return sum;                                                                                                                \
    }
DEFINE_ROW(float, f32)
DEFINE_ROW(double, f64)

/* Sums of another type than elements; y is kept in scratch as it is in that type, of which a factor of all is one. In double: a
 * sum or product of floats, or of narrower numbers, is rounded as if once. */
static double row_between(const DcsGradient *self, size_t row, DType dtype, DType sums, double *y) {
    const DcsJob *job = &self->forward;
    const DcsWalk walk = dcs_walk(job, row, 0);
    const double all = number_in(job->gamma_row == 0 ? sums : dtype, job->gamma, walk.gamma_first);
    double sum = 0, carry = 0;
    for (size_t p = 0; p < job->n; p++) {
        const size_t i = dcs_element(walk, p);
        const double x = number_in(dtype, job->x, i), g = job->gamma_element ? number_in(dtype, job->gamma, i) : all;
        carry = job->reset && job->reset[i] != 0 ? x : number_rounded(sums, x + number_rounded(sums, g * carry));
        y[p] = carry;
    }
    carry = 0;
    for (size_t p = job->n; p-- > 0;) {
        const size_t i = dcs_element(walk, p);
        const bool cut = p == 0 || (job->reset && job->reset[i] != 0);
        const double z = number_rounded(sums, number_in(dtype, self->dy, i) + carry), product = cut ? 0 : z * y[p - 1];
        number_set(dtype, self->dx, i, z);
        carry = cut ? 0 : number_rounded(sums, (job->gamma_element ? number_in(dtype, job->gamma, i) : all) * z);
        if (job->gamma_element) number_set(dtype, self->dgamma, i, product);
        sum += product;
    }
    return sum;
}

static bool sums_are_apart(const VariantArgs *args) {
    return case_sums(args->problem) != args->problem->dtype || dtype_is_narrow(args->problem->dtype);
}

static size_t scratch_bytes(const VariantArgs *args) {
    const DcsJob job = dcs_job(args);
    return (sums_are_apart(args) ? job.n : job.k > 0 ? job.k + 2 * PART : 0) * sizeof(double);
}

static double windows(const DcsGradient *self, size_t row, double *scratch) {
    double sum = 0;
    for (size_t from = 0; from < self->forward.n; from += PART) {
        const size_t end = self->forward.n - from < PART ? self->forward.n : from + PART;
        sum += dcs_gradient_windows(self, row, from, end, scratch + 2 * PART, scratch, scratch + PART);
    }
    return sum;
}

static Status run(const VariantArgs *args) {
    const DcsGradient self = dcs_gradient(args);
    const DcsJob *job = &self.forward;
    const DType dtype = args->problem->dtype, sums = case_sums(args->problem);
    const bool apart = sums_are_apart(args);
    double all = 0;
    for (size_t row = 0; row < job->rows; row++) {
        double sum = 0;
        if (job->n > 0) /* an empty row has no first element to begin a walk at */
            sum = apart        ? row_between(&self, row, dtype, sums, args->scratch)
                  : job->k > 0 ? windows(&self, row, args->scratch)
                  : job->f32   ? row_f32(&self, row)
                               : row_f64(&self, row);
        if (job->gamma_row == 1 && !job->gamma_element) number_set(dtype, self.dgamma, row, sum);
        all += sum;
    }
    if (params_choice(&args->problem->params, "gamma_per") == 0) number_put(&args->out[1], 0, all);
    return STATUS_OK;
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (sums_are_apart(args) && dcs_job(args).k > 0)
        return variant_refuse(reason, "sums of k terms are of the type of the elements, f32 or f64, here");
    return dcs_gradient_fits(args, reason);
}

static const DType DTYPES[] = {DTYPE_F64, DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_COUNT};
static const DType ACCUMULATES[] = {DTYPE_F16, DTYPE_BF16, DTYPE_F64, DTYPE_COUNT};

RUNGS_VARIANT(discounted_cumsum_grad, cpu_sequential) = {
    .backend = BACKEND_CPU,
    .summary = "both recurrences, one after the other, one thread",
    .origin = "torch-discounted-cumsum's backward, on one core",
    .dtypes = DTYPES,
    .accumulates = ACCUMULATES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
