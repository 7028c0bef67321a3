/* square_roots.cuh - many square roots at once. sqrt() of a double branches, which keeps the roots of an unrolled loop from running
 * side by side; here one branch decides for all of them. */
#pragma once

#include "kernel.h"

/* From 2^-969 on, below infinity: nothing that a root meets on the way leaves the range of normal numbers. By the upper half. */
static __device__ inline bool root_is_plain(double value) {
    const unsigned upper = (unsigned)((unsigned long long)__double_as_longlong(value) >> 32);
    return upper - 0x03600000u < 0x7ff00000u - 0x03600000u;
}

/* Of a plain number, to a unit in the last place of T: the processor's estimate (2^-20) times 1 / sqrt(1 - miss), of which floats
 * take two terms and doubles three. */
template <typename T> static __device__ inline T root_of_plain(double value) {
    double inverse;
#ifdef __CUDA_ARCH__
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(inverse) : "d"(value));
#else
    inverse = 1 / sqrt(value);
#endif
    const double root = value * inverse, miss = fma(-root, inverse, 1.0);
    const double terms = sizeof(T) == sizeof(double) ? fma(0.375, miss, 0.5) : 0.5;
    return (T)fma(root * miss, terms, root);
}

/* roots[k] = sqrt(values[k]); 0 for values below 0, which are roundings of 0. The arrays are registers: all loops are unrolled. */
template <unsigned K, typename T> static __device__ inline void square_roots(const double (&values)[K], T (&roots)[K]) {
    bool plain = true;
#pragma unroll
    for (unsigned k = 0; k < K; k++) plain = root_is_plain(values[k]) && plain;
    if (plain) {
#pragma unroll
        for (unsigned k = 0; k < K; k++) roots[k] = root_of_plain<T>(values[k]);
    } else {
#pragma unroll
        for (unsigned k = 0; k < K; k++) roots[k] = (T)sqrt(values[k] < 0 ? 0 : values[k]);
    }
}

/* Of floats: one instruction a root, to 2^-23, without a branch. */
template <unsigned K> static __device__ inline void square_roots(const float (&values)[K], float (&roots)[K]) {
#pragma unroll
    for (unsigned k = 0; k < K; k++) {
#ifdef __CUDA_ARCH__
        asm("sqrt.approx.f32 %0, %1;" : "=f"(roots[k]) : "f"(values[k] < 0 ? 0 : values[k]));
#else
        roots[k] = sqrtf(values[k] < 0 ? 0 : values[k]);
#endif
    }
}
