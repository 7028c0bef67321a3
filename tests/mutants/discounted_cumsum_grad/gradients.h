/* gradients.h - both gradients to the right, one discount for all or one for each row, on one thread and in double, with what the
 * mutants leave out of dgamma. dx is always right. */
#ifndef GRADIENTS_H
#define GRADIENTS_H

#include "variant.h"

#include <stdlib.h>

typedef struct Fault {
    double times;           /* dgamma is taken so many times */
    size_t row;             /* is left out; SIZE_MAX: none */
    size_t begin, elements; /* of row 0, left out */
} Fault;

static const Fault FAULTLESS = {.times = 1, .row = SIZE_MAX};

static inline double value_at(const Array *array, size_t i) {
    return array->dtype == DTYPE_F32 ? (double)((const float *)array->data)[i] : ((const double *)array->data)[i];
}

static inline void put_at(Array *array, size_t i, double value) {
    if (array->dtype == DTYPE_F32)
        ((float *)array->data)[i] = (float)value;
    else
        ((double *)array->data)[i] = value;
}

static inline size_t rows_of(const VariantArgs *args) {
    return args->in[0].shape[0];
}
static inline size_t length_of(const VariantArgs *args) {
    return args->in[0].shape[1];
}

/* dgamma of a row; y: memory for n. */
static inline double row_gradient(const VariantArgs *args, size_t row, const Fault *fault, double *y) {
    const size_t n = length_of(args), first = row * n;
    const Array *x = &args->in[0], *gammas = &args->in[1], *dy = &args->in[2];
    const double gamma = value_at(gammas, array_count(gammas) == 1 ? 0 : row);
    double sum = 0, dx = 0;
    for (size_t i = n; i-- > 0;) y[i] = value_at(x, first + i) + (i + 1 < n ? gamma * y[i + 1] : 0);
    for (size_t i = 0; i < n; i++) {
        dx = value_at(dy, first + i) + gamma * dx;
        put_at(&args->out[0], first + i, dx);
        const bool lost = row == fault->row || (row == 0 && i >= fault->begin && i - fault->begin < fault->elements);
        if (i + 1 < n && !lost) sum += dx * y[i + 1];
    }
    return fault->times * sum;
}

static inline Status gradients(const VariantArgs *args, Fault fault) {
    const size_t n = length_of(args);
    double all = 0, *y = malloc((n + 1) * sizeof *y);
    if (!y) return status_fail(STATUS_MEMORY, "no memory for %zu numbers", n);
    Array *dgamma = &args->out[1];
    for (size_t row = 0; row < rows_of(args); row++) {
        const double sum = row_gradient(args, row, &fault, y);
        if (array_count(dgamma) > 1) put_at(dgamma, row, sum);
        all += sum;
    }
    free(y);
    if (array_count(dgamma) == 1) put_at(dgamma, 0, all);
    return STATUS_OK;
}

#endif
