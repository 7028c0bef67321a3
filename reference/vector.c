#include "vector.h"

#include <stdio.h>

Status vector_shapes(const Case *problem, Array *in, Array *out) {
    const size_t n = (size_t)params_int(&problem->params, "n");
    in[0] = array_1d("x", problem->dtype, n);
    out[0] = array_1d("y", problem->dtype, n);
    return STATUS_OK;
}

Status vector_set_size(Case *problem, const char *name, size_t value) {
    char text[32];
    snprintf(text, sizeof text, "%zu", value);
    return params_set(&problem->params, name, text);
}

Status vector_adopt(const Array *in, Case *problem) {
    if (in[0].rank < 0) return status_fail(STATUS_INVALID, "input 'x' is missing; a one-dimensional f32 or f64 array is expected");
    if (in[0].rank != 1) return status_fail(STATUS_INVALID, "x: one dimension is expected, not %d", in[0].rank);
    if (in[0].dtype != DTYPE_F32 && in[0].dtype != DTYPE_F64)
        return status_fail(STATUS_INVALID, "x: f32 or f64 is expected, not %s", dtype_name(in[0].dtype));
    problem->dtype = in[0].dtype;
    return vector_set_size(problem, "n", in[0].shape[0]);
}
