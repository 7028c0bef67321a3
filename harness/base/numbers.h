/* numbers.h - elements of arrays of floating-point numbers, as double, which holds those of every such type. */
#ifndef RUNGS_BASE_NUMBERS_H
#define RUNGS_BASE_NUMBERS_H

#include "base/array.h"
#include "base/narrow.h"

/* Element i of an array of f64, f32, f16 or bf16. */
static inline double number_at(const Array *array, size_t i) {
    switch (array->dtype) {
    case DTYPE_F64:
        return ((const double *)array->data)[i];
    case DTYPE_F16:
        return narrow_value(NARROW_F16, ((const uint16_t *)array->data)[i]);
    case DTYPE_BF16:
        return narrow_value(NARROW_BF16, ((const uint16_t *)array->data)[i]);
    default:
        return (double)((const float *)array->data)[i];
    }
}

/* As the nearest number of the array's type, ties to even. */
static inline void number_put(Array *array, size_t i, double value) {
    switch (array->dtype) {
    case DTYPE_F64:
        ((double *)array->data)[i] = value;
        break;
    case DTYPE_F16:
        ((uint16_t *)array->data)[i] = narrow_bits(NARROW_F16, value);
        break;
    case DTYPE_BF16:
        ((uint16_t *)array->data)[i] = narrow_bits(NARROW_BF16, value);
        break;
    default:
        ((float *)array->data)[i] = (float)value;
    }
}

/* The number of that type nearest to a double. */
static inline double number_rounded(DType dtype, double value) {
    switch (dtype) {
    case DTYPE_F32:
        return (double)(float)value;
    case DTYPE_F16:
        return narrow_value(NARROW_F16, narrow_bits(NARROW_F16, value));
    case DTYPE_BF16:
        return narrow_value(NARROW_BF16, narrow_bits(NARROW_BF16, value));
    default:
        return value;
    }
}

#endif
