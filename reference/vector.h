/* vector.h - what ops from one vector x[n] to one vector y[n] of the same dtype have in common. */
#ifndef RUNGS_REFERENCE_VECTOR_H
#define RUNGS_REFERENCE_VECTOR_H

#include "op.h"

#include <math.h>

/* Op.shapes: x[n] and y[n], n from the parameter of that name. */
Status vector_shapes(const Case *problem, Array *in, Array *out);
/* Op.adopt: dtype and n from x. STATUS_INVALID unless x is there, of one dimension, f32 or f64. */
Status vector_adopt(const Array *in, Case *problem);

/* Is element i of an f32 or f64 array neither NaN nor infinite? */
static inline bool vector_finite_at(const Array *array, size_t i) {
    return array->dtype == DTYPE_F64 ? isfinite(((const double *)array->data)[i]) : isfinite(((const float *)array->data)[i]);
}

static inline bool vector_nan_at(const Array *array, size_t i) {
    return array->dtype == DTYPE_F64 ? isnan(((const double *)array->data)[i]) : isnan(((const float *)array->data)[i]);
}

#endif
