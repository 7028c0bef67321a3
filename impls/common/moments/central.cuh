/* central.cuh - central moments of a part of a column, and what joins two parts: Pebay's formulas, for weights and any
 * order, written once.
 *
 * With A's and B's total weights a and b, d = meanB - meanA, and in terms of e = d b / (a + b), how far A's mean moves, and
 * g = d a / (a + b), how far B's does:
 *     M_p = A_p + B_p + t Q_(p-2) + sum over k from 1 to p-2 of C(p,k) ((-e)^k A_(p-k) + g^k B_(p-k))
 *     t = b d g,  Q_m = sum over i from 0 to m of g^(m-i) (-e)^i
 * t Q_(p-2) is a (-e)^p + b g^p without its cancellation. One value is a part whose moments are 0. */
#ifndef RUNGS_MOMENTS_CENTRAL_CUH
#define RUNGS_MOMENTS_CENTRAL_CUH

#include "kernel.h"

enum { MOMENTS_ORDER_MAX = 6 };

__host__ __device__ constexpr double binomial(int n, int k) {
    double value = 1;
    for (int i = 1; i <= k; i++) value = value * (n - k + i) / i;
    return value;
}

/* Smallest and largest of a part; both NaN if it holds a NaN. */
template <typename T> struct Range {
    T low = (T)__builtin_huge_val(), high = -(T)__builtin_huge_val();
    __device__ void merge(const Range &b) {
        if (b.low < low || b.low != b.low) low = b.low;
        if (b.high > high || b.high != b.high) high = b.high;
    }
};

/* A part's range while values come. min and max drop a NaN, so it is remembered apart. */
template <typename T> struct Extremes {
    Range<T> range;
    bool nan = false;

    __device__ void push(T x) {
        range.low = min(range.low, x);
        range.high = max(range.high, x);
        nan = nan || x != x;
    }
    __device__ Range<T> done() const { return nan ? Range<T>{(T)__builtin_nan(""), (T)__builtin_nan("")} : range; }
};

/* sums[p] = sum w (x - c)^p for p = 0..ORDER becomes that about c + h: the binomial theorem, in place. */
template <int ORDER, typename A> __device__ void moments_shift(A *sums, A minus_h) {
#pragma unroll
    for (int first = 1; first <= ORDER; first++) {
#pragma unroll
        for (int p = ORDER; p >= first; p--) sums[p] += minus_h * sums[p - 1];
    }
}

template <typename A, int ORDER> struct Central {
    A weight = 0, mean = 0;
    A m[ORDER - 1] = {}; /* m[p - 2] = sum w (x - mean)^p for p = 2..ORDER */

    /* From sums[p] = sum w (x - center)^p, p = 1..ORDER, which are destroyed. */
    static __device__ Central about(A center, A weight, A *sums) {
        Central part;
        if (weight == 0) return part;
        const A moved = sums[1] / weight;
        sums[0] = weight;
        moments_shift<ORDER>(sums, -moved);
        part.weight = weight;
        part.mean = center + moved;
#pragma unroll
        for (int p = 2; p <= ORDER; p++) part.m[p - 2] = sums[p];
        return part;
    }

    /* Adds a part whose mean is d away; other_m may be NULL: then it is one value. share_own and share_other: parts of the joint
     * weight. */
    template <bool ONE_VALUE> __device__ void join(A d, A other_weight, A share_own, A share_other, const A *other_m) {
        const A e = d * share_other, g = ONE_VALUE ? d - e : d * share_own, t = other_weight * d * g;
        A e_power[ORDER - 1], g_power[ORDER - 1], q[ORDER - 1];
        e_power[0] = g_power[0] = q[0] = 1;
#pragma unroll
        for (int k = 1; k <= ORDER - 2; k++) {
            e_power[k] = -e * e_power[k - 1];
            g_power[k] = g * g_power[k - 1];
            q[k] = g * q[k - 1] + e_power[k];
        }
#pragma unroll
        for (int p = ORDER; p >= 2; p--) { /* downwards: each needs the lower ones as they were */
            A sum = t * q[p - 2];
#pragma unroll
            for (int k = 1; k <= p - 2; k++) {
                sum += (A)binomial(p, k) * e_power[k] * m[p - k - 2];
                if (!ONE_VALUE) sum += (A)binomial(p, k) * g_power[k] * other_m[p - k - 2];
            }
            m[p - 2] += ONE_VALUE ? sum : sum + other_m[p - 2];
        }
        mean += e;
    }
    __device__ void merge(const Central &b) {
        if (b.weight == 0) return;
        if (weight == 0) {
            *this = b;
            return;
        }
        const A joint = weight + b.weight, inverse = 1 / joint;
        join<false>(b.mean - mean, b.weight, weight * inverse, b.weight * inverse, b.m);
        weight = joint;
    }
};

#endif
