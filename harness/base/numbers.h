/* numbers.h - elements of arrays of floating-point numbers, as double, which holds those of every such type. */
#pragma once

#include "base/array.h"
#include "base/narrow.h"

/* Of a narrow type, or of f32. */
static inline NarrowForm narrow_form(DType dtype) {
    switch (dtype) {
    case DTYPE_F16:
        return NARROW_F16;
    case DTYPE_E4M3:
        return NARROW_E4M3;
    case DTYPE_E5M2:
        return NARROW_E5M2;
    case DTYPE_F32:
        return NARROW_F32;
    default:
        return NARROW_BF16;
    }
}

/* Element i of floating-point numbers. */
static inline double number_in(DType dtype, const void *data, size_t i) {
    switch (dtype) {
    case DTYPE_F64:
        return ((const double *)data)[i];
    case DTYPE_F16:
        return narrow_value(NARROW_F16, ((const uint16_t *)data)[i]);
    case DTYPE_BF16:
        return narrow_value(NARROW_BF16, ((const uint16_t *)data)[i]);
    case DTYPE_E4M3:
        return narrow_value(NARROW_E4M3, ((const uint8_t *)data)[i]);
    case DTYPE_E5M2:
        return narrow_value(NARROW_E5M2, ((const uint8_t *)data)[i]);
    default:
        return (double)((const float *)data)[i];
    }
}

/* As the nearest number of the type, ties to even. */
static inline void number_set(DType dtype, void *data, size_t i, double value) {
    switch (dtype) {
    case DTYPE_F64:
        ((double *)data)[i] = value;
        break;
    case DTYPE_F16:
        ((uint16_t *)data)[i] = narrow_bits(NARROW_F16, value);
        break;
    case DTYPE_BF16:
        ((uint16_t *)data)[i] = narrow_bits(NARROW_BF16, value);
        break;
    case DTYPE_E4M3:
        ((uint8_t *)data)[i] = (uint8_t)narrow_bits(NARROW_E4M3, value);
        break;
    case DTYPE_E5M2:
        ((uint8_t *)data)[i] = (uint8_t)narrow_bits(NARROW_E5M2, value);
        break;
    default:
        ((float *)data)[i] = (float)value;
    }
}

static inline double number_at(const Array *array, size_t i) {
    return number_in(array->dtype, array->data, i);
}

static inline void number_put(Array *array, size_t i, double value) {
    number_set(array->dtype, array->data, i, value);
}

/* The number of that type nearest to a double. */
static inline double number_rounded(DType dtype, double value) {
    double out[1]; /* room for one of any type */
    number_set(dtype, out, 0, value);
    return number_in(dtype, out, 0);
}
