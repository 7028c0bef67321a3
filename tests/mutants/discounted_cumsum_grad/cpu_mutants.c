/* Mutants: both gradients to the right, one discount for all or one for each row, on one thread and in double, with one mistake
 * each in dgamma. dx is always right. */
#include "../common/mutants.h"

#include <stdlib.h>

typedef struct Mistake {
    double times;      /* dgamma is taken so many times */
    bool without_row;  /* one row in the middle is left out */
    bool without_part; /* what a block adds up is left out: an eighth of the first row, 8192 elements at most */
} Mistake;

static double value_at(const Array *array, size_t i) {
    return array->dtype == DTYPE_F32 ? (double)((const float *)array->data)[i] : ((const double *)array->data)[i];
}

static void put_at(Array *array, size_t i, double value) {
    if (array->dtype == DTYPE_F32)
        ((float *)array->data)[i] = (float)value;
    else
        ((double *)array->data)[i] = value;
}

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
    const double gamma = value_at(gammas, array_count(gammas) == 1 ? 0 : row);
    const size_t part = n / 8 < 8192 ? n / 8 : 8192;
    double sum = 0, dx = 0;
    for (size_t i = n; i-- > 0;) y[i] = value_at(x, first + i) + (i + 1 < n ? gamma * y[i + 1] : 0);
    for (size_t i = 0; i < n; i++) {
        dx = value_at(dy, first + i) + gamma * dx;
        put_at(&args->out[0], first + i, dx);
        const bool lost =
            (wrong->without_row && row == rows_of(args) / 2) || (wrong->without_part && row == 0 && i >= n / 2 && i - n / 2 < part);
        if (i + 1 < n && !lost) sum += dx * y[i + 1];
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
        if (array_count(dgamma) > 1) put_at(dgamma, row, sum);
        all += sum;
    }
    free(y);
    if (array_count(dgamma) == 1) put_at(dgamma, 0, all);
    return STATUS_OK;
}

#define MUTANTS(M)                                                                                                                 \
    M(nothing, .times = 1)                                                                                                         \
    M(drops_part, .times = 1, .without_part = true)                                                                                \
    M(drops_row, .times = 1, .without_row = true)                                                                                  \
    M(wrong_sign, .times = -1)                                                                                                     \
    M(zero_dgamma, .times = 0)
MUTANT_TABLE(Mistake)

static Status run(const VariantArgs *args) {
    return gradients(args, *mutant_of(args));
}

RUNGS_VARIANT(discounted_cumsum_grad, cpu_mutants) = {
    .backend = BACKEND_CPU, .summary = "gradients with one mistake in dgamma", .origin = "tests", .tunables = TUNABLES, .run = run};
