/* Idea: y[i] = x[i] + gamma y[i+1] (left: y[i-1]), one row after the other, one thread, one loop. Sums of k terms: blocks of k, a
 * window is the head of one and the tail of another.
 * Traffic: each element is read and written once; k > 0 reads it twice and writes it twice, a block apart.
 * Rounding: in the dtype (f16 and bf16: in float; else as `accumulate` says), two roundings per step. k > 0: a tail is weighted by a product of at most k gammas, and added up in double;
 *   nothing is subtracted.
 * Limits: each step waits for the one before it. A float sum of a million equal terms is off by 1%, which fails.
 *   Sums of k terms: |gamma|^(k-1) within the range of the dtype.
 * Origin: the C++ of torch-discounted-cumsum 1.1.0, which is the recurrence; windows: van Herk (1992). */
#include "base/numbers.h"
#include "discounted_cumsum/_shared.h"

#include <string.h>

/* What is carried into each row, and out of it. */
typedef struct State {
    const void *initial;
    void *final;
} State;

#define DEFINE_ROW(T, suffix)                                                                                                      \
    static void row_##suffix(const DcsJob *job, const State *state, size_t row) {                                                  \
        const DcsWalk walk = dcs_walk(job, row, 0);                                                                                \
        const T *x = (const T *)job->x + walk.first, *gamma = (const T *)job->gamma + walk.gamma_first;                            \
        const uint8_t *reset = job->reset ? job->reset + walk.first : NULL;                                                        \
        T *y = (T *)job->y + walk.first, g = gamma[0], carry = state ? ((const T *)state->initial)[row] : 0;                       \
        for (ptrdiff_t p = 0; p < (ptrdiff_t)job->n; p++) {                                                                        \
            const ptrdiff_t i = p * walk.step;                                                                                     \
            if (walk.gamma_step != 0) g = gamma[i];                                                                                \
            carry = reset && reset[i] != 0 ? x[i] : x[i] + g * carry;                                                              \
            y[i] = carry;                                                                                                          \
        }                                                                                                                          \
        if (state) ((T *)state->final)[row] = carry;                                                                               \
    }
DEFINE_ROW(float, f32)
DEFINE_ROW(double, f64)

/* Sums of another type than elements; a factor of all is of that type, too. In double: a sum or product of floats, or of narrower
 * numbers, is rounded as if once. */
static void row_between(const DcsJob *job, const State *state, size_t row, DType dtype, DType sums) {
    const DcsWalk walk = dcs_walk(job, row, 0);
    double g = number_in(job->gamma_row == 0 ? sums : dtype, job->gamma, walk.gamma_first);
    double carry = state ? number_in(sums, state->initial, row) : 0;
    for (size_t p = 0; p < job->n; p++) {
        const size_t i = dcs_element(walk, p);
        const double x = number_in(dtype, job->x, i);
        if (walk.gamma_step != 0) g = number_in(dtype, job->gamma, i);
        carry = job->reset && job->reset[i] != 0 ? x : number_rounded(sums, x + number_rounded(sums, g * carry));
        number_set(dtype, job->y, i, carry);
    }
    if (state) number_set(sums, state->final, row, carry);
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if ((dtype_is_narrow(args->problem->dtype) || !case_is_usual(args->problem)) && dcs_job(args).k > 0)
        return variant_refuse(reason, "sums of k terms are of the type of the elements, f32 or f64, here");
    return dcs_blocks_fit(args, reason);
}

static Status run(const VariantArgs *args) {
    DcsJob job = dcs_job(args);
    job.reset = dcs_reset(args, DCS_RESET);
    const DType dtype = args->problem->dtype, sums = case_sums(args->problem);
    const State both = {args->in[DCS_INITIAL].data, args->out[1].data};
    const State *state = array_count(&args->out[1]) > 0 ? &both : NULL;
    if (job.n == 0 && state) memcpy(both.final, both.initial, array_bytes(&args->out[1]));
    if (job.n == 0) return STATUS_OK;
    for (size_t row = 0; row < job.rows; row++) {
        if (job.k > 0)
            for (size_t block = 0; block < job.n; block += job.k) dcs_window_block(&job, row, block);
        else if (dtype_is_narrow(dtype) || sums != dtype)
            row_between(&job, state, row, dtype, sums);
        else if (job.f32)
            row_f32(&job, state, row);
        else
            row_f64(&job, state, row);
    }
    return STATUS_OK;
}

static const DType DTYPES[] = {DTYPE_F64, DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_COUNT};
static const DType ACCUMULATES[] = {DTYPE_F16, DTYPE_BF16, DTYPE_F64, DTYPE_COUNT};
static const char *const OPTIONS[] = {"layout", "state", NULL};

RUNGS_VARIANT(discounted_cumsum, cpu_sequential) = {
    .backend = BACKEND_CPU,
    .summary = "the recurrence, one row after the other, one thread",
    .origin = "torch-discounted-cumsum's C++, a loop over y[i] = x[i] + gamma y[i+1]",
    .dtypes = DTYPES,
    .accumulates = ACCUMULATES,
    .options = OPTIONS,
    .supports = supports,
    .run = run,
};
