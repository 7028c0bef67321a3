/* cpu_eight.h - eight doubles at a time, whatever the machine's vectors are (the compiler splits them): load and store as float or
 * double, and lanes moved in reading order, which is from lane 0 to lane 7 or, backward, from 7 to 0. */
#pragma once

#include "common/cpu_vector.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wpsabi" /* these vectors are never passed between files */
#define EIGHT_INLINE static inline __attribute__((always_inline))

enum { EIGHT = 8 };
typedef double Eight __attribute__((vector_size(64)));
typedef int64_t EightMask __attribute__((vector_size(64)));
typedef float EightFloats __attribute__((vector_size(32)));
typedef uint8_t EightBytes __attribute__((vector_size(8)));

EIGHT_INLINE Eight eight_of(double value) {
    return (Eight){0} + value;
}

EIGHT_INLINE Eight eight_load(const void *from, size_t element, bool f32) {
    Eight v;
    if (f32) {
#if defined __AVX512F__
        return (Eight)_mm512_cvtps_pd(_mm256_loadu_ps((const float *)from + element));
#endif
        EightFloats floats;
        memcpy(&floats, (const float *)from + element, sizeof floats);
        return __builtin_convertvector(floats, Eight);
    }
    memcpy(&v, (const double *)from + element, sizeof v);
    return v;
}

/* past: past the caches, where the address allows it; nobody reads the element before scan_store_fence(). */
EIGHT_INLINE void eight_store(void *to, size_t element, bool f32, Eight v, bool past) {
    void *at = f32 ? (void *)((float *)to + element) : (void *)((double *)to + element);
    const EightFloats floats = __builtin_convertvector(v, EightFloats);
    (void)past;
#if defined __AVX__
    if (past && (uintptr_t)at % (f32 ? sizeof floats : sizeof v) == 0) {
        if (f32) {
            _mm256_stream_ps(at, (__m256)floats);
            return;
        }
#if defined __AVX512F__
        _mm512_stream_pd(at, (__m512d)v);
#else
        __m256d halves[2];
        memcpy(halves, &v, sizeof v);
        _mm256_stream_pd(at, halves[0]);
        _mm256_stream_pd((double *)at + EIGHT / 2, halves[1]);
#endif
        return;
    }
#endif
    memcpy(at, f32 ? (const void *)&floats : (const void *)&v, f32 ? sizeof floats : sizeof v);
}

/* All bits of a lane where its byte is 0. */
EIGHT_INLINE EightMask eight_where_zero(const uint8_t *bytes) {
    EightBytes loaded;
    memcpy(&loaded, bytes, sizeof loaded);
    return __builtin_convertvector(loaded, EightMask) == 0;
}

/* Each lane takes what is `steps` (1, 2 or 4) before it in reading order, or its lane of `none` where there is nothing. */
EIGHT_INLINE Eight eight_earlier(Eight v, Eight none, int steps, bool backward) {
    if (steps == 1)
        return backward ? __builtin_shuffle(v, none, (EightMask){1, 2, 3, 4, 5, 6, 7, 15})
                        : __builtin_shuffle(v, none, (EightMask){8, 0, 1, 2, 3, 4, 5, 6});
    if (steps == 2)
        return backward ? __builtin_shuffle(v, none, (EightMask){2, 3, 4, 5, 6, 7, 14, 15})
                        : __builtin_shuffle(v, none, (EightMask){8, 9, 0, 1, 2, 3, 4, 5});
    return backward ? __builtin_shuffle(v, none, (EightMask){4, 5, 6, 7, 12, 13, 14, 15})
                    : __builtin_shuffle(v, none, (EightMask){8, 9, 10, 11, 0, 1, 2, 3});
}

/* The last lane in reading order. */
EIGHT_INLINE double eight_last(Eight v, bool backward) {
    return backward ? v[0] : v[7];
}

/* Is every lane within [-limit, limit]? Not if one is NaN. */
EIGHT_INLINE bool eight_within(Eight v, double limit) {
    const EightMask size = (EightMask)v & INT64_MAX;
#if defined __AVX512F__
    return _mm512_cmp_pd_mask((__m512d)size, (__m512d)eight_of(limit), _CMP_NLE_UQ) == 0;
#else
    const EightMask outside = ~((Eight)size <= eight_of(limit));
    int64_t any = 0;
    for (int l = 0; l < EIGHT; l++) any |= outside[l];
    return any == 0;
#endif
}
