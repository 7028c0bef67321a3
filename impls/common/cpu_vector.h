/* cpu_vector.h - vectors as wide as the machine has them, for cpu_best: types, shuffle indices, the few operations that GCC's
 * vector extension lacks, stores past the caches. 64 bytes with AVX-512, 32 with AVX, 16 elsewhere. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined __SSE2__
#include <immintrin.h>
#endif

#define ALWAYS_INLINE static inline __attribute__((always_inline))

typedef enum ScanKind { SCAN_SUM, SCAN_MOMENTS, SCAN_MIN, SCAN_MAX } ScanKind;

#ifdef __AVX512F__
enum { SCAN_BYTES = 64 };
#define SCAN_LANES_f64 8
#define SCAN_LANES_f32 16
#elif defined __AVX__
enum { SCAN_BYTES = 32 };
#define SCAN_LANES_f64 4
#define SCAN_LANES_f32 8
#else
enum { SCAN_BYTES = 16 };
#define SCAN_LANES_f64 2
#define SCAN_LANES_f32 4
#endif

typedef float Vector_f32 __attribute__((vector_size(SCAN_BYTES)));
typedef double Vector_f64 __attribute__((vector_size(SCAN_BYTES)));
typedef int32_t Lanes_f32 __attribute__((vector_size(SCAN_BYTES)));
typedef int64_t Lanes_f64 __attribute__((vector_size(SCAN_BYTES)));

/* Shuffle indices over (identity, v): lane i takes lane i - s of v, or i + s, or the identity beyond the edge. */
#define SCAN_UP(i, s, n) ((i) < (s) ? (i) : (n) + (i) - (s))
#define SCAN_DOWN(i, s, n) ((i) + (s) < (n) ? (n) + (i) + (s) : (i))
#define SCAN_LAST(i, s, n) ((n)-1)
#define SCAN_FIRST(i, s, n) 0
/* Over (a, b): the even or the odd groups of s lanes, in turn of a and of b. SELF: the lane's number. */
#define SCAN_SELF(i, s, n) (i)
#define SCAN_EVEN(i, s, n) ((i) & (s) ? (n) + (i) - (s) : (i))
#define SCAN_ODD(i, s, n) ((i) & (s) ? (n) + (i) : (i) + (s))
#define SCAN_LIST_2(F, s)                                                                                                          \
    { F(0, s, 2), F(1, s, 2) }
#define SCAN_LIST_4(F, s)                                                                                                          \
    { F(0, s, 4), F(1, s, 4), F(2, s, 4), F(3, s, 4) }
#define SCAN_LIST_8(F, s)                                                                                                          \
    { F(0, s, 8), F(1, s, 8), F(2, s, 8), F(3, s, 8), F(4, s, 8), F(5, s, 8), F(6, s, 8), F(7, s, 8) }
#define SCAN_LIST_16(F, s)                                                                                                         \
    {                                                                                                                              \
        F(0, s, 16), F(1, s, 16), F(2, s, 16), F(3, s, 16), F(4, s, 16), F(5, s, 16), F(6, s, 16), F(7, s, 16), F(8, s, 16),       \
            F(9, s, 16), F(10, s, 16), F(11, s, 16), F(12, s, 16), F(13, s, 16), F(14, s, 16), F(15, s, 16)                        \
    }

/* The lesser or greater of each lane; the second where either is NaN. */
#if defined __AVX512F__
#define vector_min_f64(a, b) ((Vector_f64)_mm512_min_pd((__m512d)(a), (__m512d)(b)))
#define vector_max_f64(a, b) ((Vector_f64)_mm512_max_pd((__m512d)(a), (__m512d)(b)))
#define vector_min_f32(a, b) ((Vector_f32)_mm512_min_ps((__m512)(a), (__m512)(b)))
#define vector_max_f32(a, b) ((Vector_f32)_mm512_max_ps((__m512)(a), (__m512)(b)))
#elif defined __AVX__
#define vector_min_f64(a, b) ((Vector_f64)_mm256_min_pd((__m256d)(a), (__m256d)(b)))
#define vector_max_f64(a, b) ((Vector_f64)_mm256_max_pd((__m256d)(a), (__m256d)(b)))
#define vector_min_f32(a, b) ((Vector_f32)_mm256_min_ps((__m256)(a), (__m256)(b)))
#define vector_max_f32(a, b) ((Vector_f32)_mm256_max_ps((__m256)(a), (__m256)(b)))
#else
#define SCAN_SELECT(type, a, op, b) ((Vector_##type)(((Lanes_##type)(a) & ((a)op(b))) | ((Lanes_##type)(b) & ~((a)op(b)))))
#define vector_min_f64(a, b) SCAN_SELECT(f64, a, <, b)
#define vector_max_f64(a, b) SCAN_SELECT(f64, a, >, b)
#define vector_min_f32(a, b) SCAN_SELECT(f32, a, <, b)
#define vector_max_f32(a, b) SCAN_SELECT(f32, a, >, b)
#endif

#if defined __AVX512F__
#define vector_sqrt_f64(v) ((Vector_f64)_mm512_sqrt_pd((__m512d)(v)))
#define vector_sqrt_f32(v) ((Vector_f32)_mm512_sqrt_ps((__m512)(v)))
#elif defined __AVX__
#define vector_sqrt_f64(v) ((Vector_f64)_mm256_sqrt_pd((__m256d)(v)))
#define vector_sqrt_f32(v) ((Vector_f32)_mm256_sqrt_ps((__m256)(v)))
#else
static inline Vector_f64 vector_sqrt_f64(Vector_f64 v) {
    for (int i = 0; i < SCAN_LANES_f64; i++) v[i] = sqrt(v[i]);
    return v;
}
static inline Vector_f32 vector_sqrt_f32(Vector_f32 v) {
    for (int i = 0; i < SCAN_LANES_f32; i++) v[i] = sqrtf(v[i]);
    return v;
}
#endif

enum { SCAN_PAST_CACHES = 16 << 20 /* bytes: an output from here on does not stay in a cache */ };

/* Stores past the caches, 64 bytes at a time, where both sides are aligned to 16; an ordinary copy elsewhere. */
static inline void scan_store(void *to, const void *from, size_t bytes, bool past_caches) {
#ifdef __SSE2__
    if (past_caches && ((uintptr_t)to | (uintptr_t)from | bytes) % 16 == 0) {
        for (size_t b = 0; b < bytes; b += 16)
            _mm_stream_si128((__m128i *)((char *)to + b), _mm_load_si128((const __m128i *)((const char *)from + b)));
        return;
    }
#endif
    (void)past_caches;
    memcpy(to, from, bytes);
}

/* One vector, past the caches if so asked; then `to` is aligned to it. */
ALWAYS_INLINE void scan_put(void *to, const void *vector, bool past_caches) {
#if defined __AVX512F__
    if (past_caches) {
        _mm512_stream_si512(to, _mm512_loadu_si512(vector));
        return;
    }
#elif defined __AVX__
    if (past_caches) {
        _mm256_stream_si256(to, _mm256_loadu_si256(vector));
        return;
    }
#elif defined __SSE2__
    if (past_caches) {
        _mm_stream_si128(to, _mm_loadu_si128(vector));
        return;
    }
#endif
    (void)past_caches;
    memcpy(to, vector, SCAN_BYTES);
}

/* After the last store past the caches of a thread. */
static inline void scan_store_fence(void) {
#ifdef __SSE2__
    _mm_sfence();
#endif
}

#define SCAN_PASTE_(a, b) a##_##b
#define SCAN_PASTE(a, b) SCAN_PASTE_(a, b)
#define SCAN_CALL_(macro, ...) macro(__VA_ARGS__)
