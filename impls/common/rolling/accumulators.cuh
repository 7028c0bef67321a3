/* accumulators.cuh - partial aggregates of a run of elements, one type per kind of aggregate.
 *
 * Each has: identity (a value-initialised object), push(x), merge(other), finish<AGG>(w). None subtracts, so an inf or NaN
 * is in the result exactly if it is in the run. collect() aggregates a run met for the first time. */
#ifndef RUNGS_ROLLING_ACCUMULATORS_CUH
#define RUNGS_ROLLING_ACCUMULATORS_CUH

#include "common/rolling/case.cuh"

template <typename T> struct Sum {
    T sum = 0;
    __device__ void push(T x) { sum += x; }
    __device__ void merge(const Sum &other) { sum += other.sum; }
    template <typename Cursor> __device__ static Sum collect(Cursor cursor, size_t count) {
        Sum all;
        for (size_t k = 0; k < count; k++) all.push(cursor.next());
        return all;
    }
    template <Aggregate AGG> __device__ T finish(T window) const { return AGG == AGG_MEAN ? sum / window : sum; }
};

/* NaN wins over every number, as in the definition; fmin would drop it. */
template <typename T, bool IS_MIN> struct Extreme {
    T value = IS_MIN ? (T)__builtin_huge_val() : -(T)__builtin_huge_val();
    __device__ void push(T x) {
        if ((IS_MIN ? x < value : x > value) || x != x) value = x;
    }
    __device__ void merge(const Extreme &other) { push(other.value); }
    template <typename Cursor> __device__ static Extreme collect(Cursor cursor, size_t count) {
        Extreme all;
        for (size_t k = 0; k < count; k++) all.push(cursor.next());
        return all;
    }
    template <Aggregate AGG> __device__ T finish(T) const { return value; }
};

/* Count, mean and sum of squared deviations from it: Welford's push, Chan's merge. The count is a T: with the loops unrolled it and
 * its reciprocals are constants. A first inf makes m2 = inf - inf = NaN, and NaN it stays. */
template <typename T> struct Moments {
    T count = 0, mean = 0, m2 = 0;
    __device__ void push(T x) {
        count += 1;
        const T delta = x - mean;
        mean += delta * (1 / count);
        m2 += delta * (x - mean);
    }
    /* Either side may be empty: then its share is 0, and delta * 0 * delta cannot overflow as delta * delta would. */
    __device__ void merge(const Moments &other) {
        const T total = count + other.count;
        const T share = total > 0 ? other.count / total : 0;
        const T delta = other.mean - mean;
        mean += delta * share;
        m2 += other.m2 + delta * (count * share) * delta;
        count = total;
    }
    /* Two passes: first the mean, then squares about it, corrected for the rounding of the mean. */
    template <typename Cursor> __device__ static Moments collect(Cursor cursor, size_t count) {
        if (count == 0) return {};
        const Cursor begin = cursor;
        T sum = 0, squares = 0, rest = 0;
        for (size_t k = 0; k < count; k++) sum += cursor.next();
        const T total = (T)count, mean = sum / total;
        cursor = begin;
        for (size_t k = 0; k < count; k++) {
            const T delta = cursor.next() - mean;
            squares += delta * delta;
            rest += delta;
        }
        const T m2 = squares - rest * (rest / total);
        return {total, mean + rest / total, m2 < 0 ? 0 : m2};
    }
    /* A window of one element has no spread to speak of: 0 / 0. */
    template <Aggregate AGG> __device__ T finish(T window) const {
        const T variance = m2 / (window - 1);
        return AGG == AGG_VAR ? variance : sqrt(variance);
    }
};

template <typename T, Aggregate AGG> struct AccumulatorOf { using Type = Sum<T>; };
template <typename T> struct AccumulatorOf<T, AGG_VAR> { using Type = Moments<T>; };
template <typename T> struct AccumulatorOf<T, AGG_STD> { using Type = Moments<T>; };
template <typename T> struct AccumulatorOf<T, AGG_MIN> { using Type = Extreme<T, true>; };
template <typename T> struct AccumulatorOf<T, AGG_MAX> { using Type = Extreme<T, false>; };
template <typename T, Aggregate AGG> using Accumulator = typename AccumulatorOf<T, AGG>::Type;

/* A whole window, as the direct variants take it. The compiler unrolls the loop by four; ROLLED keeps one element a step, to see
 * what that is worth (on an H200, w = 3000: naive is 1.2x faster so, shared 1.1x slower). Only for aggregates that need one pass.
 */
template <typename A, bool ROLLED, typename Cursor> static __device__ A collect_window(Cursor cursor, size_t count) {
    if constexpr (!ROLLED) return A::collect(cursor, count);
    A all;
#pragma unroll 1
    for (size_t k = 0; k < count; k++) all.push(cursor.next());
    return all;
}

/* The tunable of that choice, and what it cannot do. */
#define ROLLED_TUNABLE                                                                                                             \
    { "rolled", "1: one element a loop step; 0: the compiler unrolls", PARAM_INT, "0", 0, 1, NULL }

static inline bool rolled_supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (params_int(args->tunables, "rolled") == 0 || !aggregate_is_spread((Aggregate)rolling_aggregate(args))) return true;
    return variant_refuse(reason, "rolled=1 is for mean, sum, min and max: var and std take two passes");
}

#endif
