/* Mutants: both gradients to the right, one discount for all or one for each row, on one thread and in double, with one mistake
 * each in dgamma; dx is right, but where inputs are cut. f16 and bf16 have mistakes of their own. */
#include "../common/mutants.h"
#include "../common/narrow.h"

#include <stdlib.h>

typedef struct Mistake {
    double times;      /* dgamma is taken so many times */
    bool without_row;  /* one row in the middle is left out */
    bool without_part; /* what a block adds up is left out: an eighth of the first row, 8192 elements at most */
    bool rounded;      /* dx is rounded to the type before it is multiplied */
    Narrow narrow;
} Mistake;

static size_t rows_of(const VariantArgs *args) {
    return args->in[0].shape[0];
}
static size_t length_of(const VariantArgs *args) {
    return args->in[0].shape[1];
}

/* dgamma of a row; y: memory for n. */
static double row_gradient(const VariantArgs *args, size_t row, const Mistake *wrong, double *y) {
    const size_t n = length_of(args), first = row * n;
    const Array *x = &args->in[0], *gammas = &args->in[1], *dy = &args->in[2];
    const double gamma = number_at(gammas, array_count(gammas) == 1 ? 0 : row);
    const size_t part = n / 8 < 8192 ? n / 8 : 8192;
    double sum = 0, dx = 0;
    const bool narrow = is_narrowed(args, &wrong->narrow);
    for (size_t i = n; i-- > 0;) {
        const double element = narrow ? narrow_input(&wrong->narrow, x, first + i) : number_at(x, first + i);
        y[i] = element + (i + 1 < n ? gamma * y[i + 1] : 0);
        if (wrong->narrow.sums) y[i] = number_rounded(args->problem->dtype, y[i]);
    }
    for (size_t i = 0; i < n; i++) {
        dx = (narrow ? narrow_input(&wrong->narrow, dy, first + i) : number_at(dy, first + i)) + gamma * dx;
        if (wrong->narrow.sums) dx = number_rounded(args->problem->dtype, dx);
        if (narrow)
            narrow_output(&wrong->narrow, &args->out[0], first + i, dx);
        else
            number_put(&args->out[0], first + i, dx);
        const bool lost =
            (wrong->without_row && row == rows_of(args) / 2) || (wrong->without_part && row == 0 && i >= n / 2 && i - n / 2 < part);
        const double factor = wrong->rounded ? number_rounded(args->problem->dtype, dx) : dx;
        if (i + 1 < n && !lost) sum += factor * y[i + 1];
    }
    return wrong->times * sum;
}

static Status gradients(const VariantArgs *args, Mistake wrong) {
    const size_t n = length_of(args);
    double all = 0, *y = malloc((n + 1) * sizeof *y);
    if (!y) return status_fail(STATUS_MEMORY, "no memory for %zu numbers", n);
    Array *dgamma = &args->out[1];
    for (size_t row = 0; row < rows_of(args); row++) {
        const double sum = row_gradient(args, row, &wrong, y);
        if (array_count(dgamma) > 1) number_put(dgamma, row, sum);
        all += sum;
    }
    free(y);
    if (array_count(dgamma) == 1) number_put(dgamma, 0, all);
    return STATUS_OK;
}

#define MUTANTS(M)                                                                                                                 \
    M(nothing, .times = 1)                                                                                                         \
    M(drops_part, .times = 1, .without_part = true)                                                                                \
    M(drops_row, .times = 1, .without_row = true)                                                                                  \
    M(wrong_sign, .times = -1)                                                                                                     \
    M(zero_dgamma, .times = 0)                                                                                                     \
    M(bf16_inputs, .times = 1, .narrow.f32_digits = 7)                                                                             \
    M(tf32_inputs, .times = 1, .narrow.f32_digits = 10)                                                                            \
    M(narrow_sums, .times = 1, .narrow.sums = true)                                                                                \
    M(narrow_inputs, .times = 1, .narrow.inputs = true)                                                                            \
    M(narrow_outputs, .times = 1, .narrow.truncates = true)                                                                        \
    M(narrow_dx, .times = 1, .rounded = true)
MUTANT_TABLE(Mistake)

static Status run(const VariantArgs *args) {
    return gradients(args, *mutant_of(args));
}

static const DType DTYPES[] = {DTYPE_F64, DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_COUNT};
static const DType ACCUMULATES[] = {DTYPE_F64, DTYPE_COUNT};
RUNGS_VARIANT(discounted_cumsum_grad, cpu_mutants) = {.backend = BACKEND_CPU,
                                                      .summary = "gradients with one mistake in dgamma",
                                                      .origin = "tests",
                                                      .tunables = TUNABLES,
                                                      .dtypes = DTYPES,
                                                      .accumulates = ACCUMULATES,
                                                      .run = run};
