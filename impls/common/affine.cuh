/* affine.cuh - the map y -> a y + b, of which every linear recurrence is made: y[i] = a[i] y[i-1] + b[i] is b of the composition of
 * the maps of elements 0 .. i. Composing is associative, so it may be done in any grouping, but it does not commute.
 *
 *     Affine<double> m;                       the identity: a = 1, b = 0
 *     m.merge(later);                         first m, then later: a = m.a later.a, b = later.a m.b + later.b
 *     m.of(y);                                a y + b
 *     Affine<double> start = {cut, x};        cut = affine_cut<double>(): nothing that comes before is seen, not even NaN or inf
 *
 * merge() and shuffle() are what block_scan.cuh asks for: warp_scan and block_scan_exclusive take Affine directly.
 *
 * What a recurrence does to NaN and inf, and 0 * inf = NaN is part of it, the composition does too:
 *   - Products of factors never underflow to 0 nor overflow to inf (affine_product stops at the smallest and the largest number),
 *     as inf * 0.99^100000 is inf and 0 * 1.01^100000 is 0. Limit: a small number times a product that has stopped at the largest
 *     is finite, even if the recurrence overflows there.
 *   - A factor that is 0 stays 0: inf behind it becomes NaN, step by step and composed.
 *   - A cut is the factor -0, so a factor that was read goes through affine_factor(), which makes -0 a 0. */
#pragma once

#include "common/block_scan.cuh"

#include <math.h>

template <typename T> __host__ __device__ constexpr T affine_cut() {
    return -(T)0;
}
template <typename T> __host__ __device__ bool affine_is_cut(T factor) {
    return factor == 0 && copysign((T)1, factor) < 0;
}
template <typename T> __host__ __device__ T affine_factor(T value) {
    return value + 0;
}

template <typename T> struct AffineRange;
template <> struct AffineRange<float> { static constexpr float SMALLEST = 0x1p-149f, LARGEST = 0x1.fffffep127f; };
template <> struct AffineRange<double> { static constexpr double SMALLEST = 0x1p-1074, LARGEST = 0x1.fffffffffffffp1023; };

template <typename T> __host__ __device__ T affine_product(T first, T later) {
    const T product = first * later, size = fabs(product);
    if (size > 0 && size <= AffineRange<T>::LARGEST) return product;
    if (affine_is_cut(first) || affine_is_cut(later)) return affine_cut<T>();
    if (size > AffineRange<T>::LARGEST) return copysign(AffineRange<T>::LARGEST, product);
    return first == 0 || later == 0 || size != 0 ? product + 0 : copysign(AffineRange<T>::SMALLEST, product);
}

/* factor^exponent by squaring; 1 for exponent 0. */
template <typename T> __host__ __device__ T affine_power(T factor, size_t exponent) {
    T power = 1;
    for (; exponent > 0; exponent /= 2) {
        if (exponent % 2) power = affine_product(power, factor);
        if (exponent > 1) factor = affine_product(factor, factor);
    }
    return power;
}

template <typename T> struct Affine {
    T a = 1, b = 0;

    __host__ __device__ T of(T y) const { return affine_is_cut(a) ? b : a * y + b; }
    __host__ __device__ void merge(const Affine &later) {
        b = later.of(b);
        a = affine_product(a, later.a);
    }
};

template <bool UP, typename T> __device__ Affine<T> shuffle(const Affine<T> &map, unsigned distance) {
    return {shuffle_value<UP>(map.a, distance), shuffle_value<UP>(map.b, distance)};
}
template <typename T> __device__ Affine<T> shuffle_from(const Affine<T> &map, unsigned lane) {
    return {__shfl_sync((unsigned)ALL_LANES, map.a, lane), __shfl_sync((unsigned)ALL_LANES, map.b, lane)};
}
