/* vector.h - what ops have in common: ops from one vector x[n] to one vector y[n] of the same
 * dtype. */
#pragma once

#include "base/numbers.h"
#include "op.h"

#include <math.h>

/* Op.shapes: x[n] and y[n], n from the parameter of that name. */
Status vector_shapes(const Case *problem, Array *in, Array *out);
/* Op.adopt: dtype and n from x. STATUS_INVALID unless x is there, of one dimension, of floating-point
 * numbers. */
Status vector_adopt(const Array *in, Case *problem);

/* params_int(), params_set() of a number of elements. */
static inline size_t vector_size(const Case *problem, const char *name) {
    return (size_t)params_int(&problem->params, name);
}
Status vector_set_size(Case *problem, const char *name, size_t value);
/* STATUS_INVALID unless the array is of floating-point numbers, and of the dtype of `like`, the input x (NULL: any). */
Status vector_expect_floats(const Array *array, const char *name, const Array *like);
/* f64, f32, f16, bf16. */
extern const DType VECTOR_DTYPES[];
/* f32, f64. */
extern const DType VECTOR_ACCUMULATES[];
/* u8: 1 where a segment begins, some 257 elements apart, else 0. */
Status vector_generate_mask(const Case *problem, uint64_t stream, Array *mask);

/* Element i of floats or doubles. */
static inline double vector_load(const void *data, bool f32, size_t i) {
    return f32 ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

/* A NaN on the left gives what is on the right. */
static inline double larger(double a, double b) {
    return a > b ? a : b;
}

static inline size_t fewer(size_t a, size_t b) {
    return a < b ? a : b;
}
