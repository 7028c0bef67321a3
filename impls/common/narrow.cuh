/* narrow.cuh - storage types of elements: double and float, and __half and __nv_bfloat16, which are numbers to load and to store;
 * sums of these are floats.
 *
 *     SumOf<T>          the type of sums: double, and float for the others
 *     WorkOf<T>         the same, but double for float, too
 *     wide(x)           an element as such a number: exact
 *     (T)sum            the nearest element, ties to even
 *     Pack<T, N>        N elements as one load or store */
#pragma once

#include "kernel.h"
#include "variant.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <type_traits>

template <typename T> struct Stored { using Sum = float; };
template <> struct Stored<double> { using Sum = double; };
template <typename T> using SumOf = typename Stored<T>::Sum;
template <typename T> using WorkOf = std::conditional_t<(sizeof(T) < sizeof(SumOf<T>)), SumOf<T>, double>;

static __host__ __device__ inline double wide(double x) {
    return x;
}
static __host__ __device__ inline float wide(float x) {
    return x;
}
static __host__ __device__ inline float wide(__half x) {
    return __half2float(x);
}
static __host__ __device__ inline float wide(__nv_bfloat16 x) {
    return __bfloat162float(x);
}

template <typename T, unsigned N> struct alignas(sizeof(T) * N) Pack { T at[N]; };

/* call.operator()<T>() for the dtype of the case. */
template <typename Call> static Status with_storage(const VariantArgs *args, Call call) {
    switch (args->problem->dtype) {
    case DTYPE_F64:
        return call.template operator()<double>();
    case DTYPE_F16:
        return call.template operator()<__half>();
    case DTYPE_BF16:
        return call.template operator()<__nv_bfloat16>();
    default:
        return call.template operator()<float>();
    }
}

/* .dtypes of a variant that takes all of these. */
static const DType STORAGE_TYPES[] = {DTYPE_F64, DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_COUNT};
