/* numbers.h - elements of arrays of floating-point numbers, as double, which holds those of every such type. */
#ifndef RUNGS_BASE_NUMBERS_H
#define RUNGS_BASE_NUMBERS_H

#include "base/array.h"
#include "base/narrow.h"

static inline bool dtype_is_narrow(DType dtype) {
    return dtype == DTYPE_F16 || dtype == DTYPE_BF16;
}

/* Of f16 or bf16. */
static inline NarrowForm narrow_form(DType dtype) {
    return dtype == DTYPE_F16 ? NARROW_F16 : NARROW_BF16;
}

/* Element i of numbers of a type: f64, f32, f16 or bf16. */
static inline double number_in(DType dtype, const void *data, size_t i) {
    switch (dtype) {
    case DTYPE_F64:
        return ((const double *)data)[i];
    case DTYPE_F16:
        return narrow_value(NARROW_F16, ((const uint16_t *)data)[i]);
    case DTYPE_BF16:
        return narrow_value(NARROW_BF16, ((const uint16_t *)data)[i]);
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
