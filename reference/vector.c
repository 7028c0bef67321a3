#include "vector.h"

#include "base/rng.h"

#include <stdio.h>

const DType VECTOR_DTYPES[] = {DTYPE_F64, DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_COUNT};
const DType VECTOR_ACCUMULATES[] = {DTYPE_F32, DTYPE_F64, DTYPE_COUNT};

Status vector_shapes(const Case *problem, Array *in, Array *out) {
    const size_t n = vector_size(problem, "n");
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
    if (in[0].rank < 0)
        return status_fail(STATUS_INVALID, "input 'x' is missing; a one-dimensional array of floating-point numbers is expected");
    if (in[0].rank != 1) return status_fail(STATUS_INVALID, "x: one dimension is expected, not %d", in[0].rank);
    TRY(vector_expect_floats(&in[0], "x", NULL));
    problem->dtype = in[0].dtype;
    return vector_set_size(problem, "n", in[0].shape[0]);
}

Status vector_expect_floats(const Array *array, const char *name, const Array *like) {
    if (!dtype_is_real(array->dtype))
        return status_fail(STATUS_INVALID, "%s: floating-point numbers are expected, not %s", name, dtype_name(array->dtype));
    if (like && array->dtype != like->dtype)
        return status_fail(STATUS_INVALID, "%s: %s is expected, %s, not %s", name, dtype_name(like->dtype),
                           like->name[0] ? "as x has it" : "the type of sums", dtype_name(array->dtype));
    return STATUS_OK;
}

Status vector_generate_mask(const Case *problem, uint64_t stream, Array *mask) {
    const uint64_t key = rng_at(problem->seed, stream);
    const size_t count = array_count(mask);
    unsigned char *marks = mask->data;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count; i++) marks[i] = rng_at(key, i) % 257 == 0;
    return STATUS_OK;
}
