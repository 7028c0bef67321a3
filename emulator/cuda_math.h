/* cuda_math.h - arithmetic and bit functions that device code has without including anything. Rounding is IEEE's and as written:
 * nothing is contracted, so results differ from the device's where nvcc makes an fma. */
#pragma once

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EMULATOR_FUNCTION(result, name, parameters, value)                                                                         \
    static inline result name parameters {                                                                                         \
        return value;                                                                                                              \
    }

#define EMULATOR_MIN_MAX(R, A, B)                                                                                                  \
    EMULATOR_FUNCTION(R, min, (A a, B b), (R)a < (R)b ? (R)a : (R)b)                                                               \
    EMULATOR_FUNCTION(R, max, (A a, B b), (R)a > (R)b ? (R)a : (R)b)
EMULATOR_MIN_MAX(int, int, int)
EMULATOR_MIN_MAX(unsigned, unsigned, unsigned)
EMULATOR_MIN_MAX(unsigned, int, unsigned)
EMULATOR_MIN_MAX(unsigned, unsigned, int)
EMULATOR_MIN_MAX(long, long, long)
EMULATOR_MIN_MAX(unsigned long, unsigned long, unsigned long)
EMULATOR_MIN_MAX(unsigned long, long, unsigned long)
EMULATOR_MIN_MAX(unsigned long, unsigned long, long)
EMULATOR_MIN_MAX(long long, long long, long long)
EMULATOR_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
EMULATOR_MIN_MAX(unsigned long long, long long, unsigned long long)
EMULATOR_MIN_MAX(unsigned long long, unsigned long long, long long)
#undef EMULATOR_MIN_MAX
/* Of floats they are fmin and fmax: a NaN loses. */
EMULATOR_FUNCTION(float, min, (float a, float b), fminf(a, b))
EMULATOR_FUNCTION(float, max, (float a, float b), fmaxf(a, b))
EMULATOR_FUNCTION(double, min, (double a, double b), fmin(a, b))
EMULATOR_FUNCTION(double, max, (double a, double b), fmax(a, b))
EMULATOR_FUNCTION(double, rsqrt, (double x), 1 / sqrt(x))
EMULATOR_FUNCTION(float, rsqrtf, (float x), (float)(1 / sqrt((double)x)))
EMULATOR_FUNCTION(float, rsqrt, (float x), rsqrtf(x))
static inline float __saturatef(float x) {
    return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f;
}

#define EMULATOR_ARITHMETIC(T, prefix, fma_name, sqrt_name)                                                                        \
    EMULATOR_FUNCTION(T, __##prefix##add_rn, (T a, T b), a + b)                                                                    \
    EMULATOR_FUNCTION(T, __##prefix##sub_rn, (T a, T b), a - b)                                                                    \
    EMULATOR_FUNCTION(T, __##prefix##mul_rn, (T a, T b), (a * b))                                                                  \
    EMULATOR_FUNCTION(T, __##prefix##div_rn, (T a, T b), a / b)                                                                    \
    EMULATOR_FUNCTION(T, __##prefix##sqrt_rn, (T a), sqrt_name(a))                                                                 \
    EMULATOR_FUNCTION(T, __##prefix##rcp_rn, (T a), 1 / a)                                                                         \
    EMULATOR_FUNCTION(T, __##fma_name##_rn, (T a, T b, T c), fma_name(a, b, c))
EMULATOR_ARITHMETIC(double, d, fma, sqrt)
EMULATOR_ARITHMETIC(float, f, fmaf, sqrtf)
#undef EMULATOR_ARITHMETIC
EMULATOR_FUNCTION(float, __fdividef, (float a, float b), a / b)
/* glibc declares these names for itself, so they cannot be functions. */
#define __expf(a) expf(a)
#define __logf(a) logf(a)
#define __powf(a, b) powf(a, b)

template <typename To, typename From> static inline To emulator_reinterpret(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
EMULATOR_FUNCTION(long long, __double_as_longlong, (double x), emulator_reinterpret<long long>(x))
EMULATOR_FUNCTION(double, __longlong_as_double, (long long x), emulator_reinterpret<double>(x))
EMULATOR_FUNCTION(int, __float_as_int, (float x), emulator_reinterpret<int>(x))
EMULATOR_FUNCTION(unsigned, __float_as_uint, (float x), emulator_reinterpret<unsigned>(x))
EMULATOR_FUNCTION(float, __int_as_float, (int x), emulator_reinterpret<float>(x))
EMULATOR_FUNCTION(float, __uint_as_float, (unsigned x), emulator_reinterpret<float>(x))
EMULATOR_FUNCTION(int, __double2hiint, (double x), (int)(emulator_reinterpret<uint64_t>(x) >> 32))
EMULATOR_FUNCTION(int, __double2loint, (double x), (int)(uint32_t)emulator_reinterpret<uint64_t>(x))
static inline double __hiloint2double(int high, int low) {
    return emulator_reinterpret<double>((uint64_t)(uint32_t)high << 32 | (uint32_t)low);
}
EMULATOR_FUNCTION(int, __double2int_rz, (double x), (int)x)
EMULATOR_FUNCTION(int, __double2int_rn, (double x), (int)rint(x))
EMULATOR_FUNCTION(int, __float2int_rz, (float x), (int)x)
EMULATOR_FUNCTION(int, __float2int_rn, (float x), (int)rintf(x))
EMULATOR_FUNCTION(int, __popc, (unsigned x), __builtin_popcount(x))
EMULATOR_FUNCTION(int, __popcll, (unsigned long long x), __builtin_popcountll(x))
EMULATOR_FUNCTION(int, __clz, (int x), x ? __builtin_clz((unsigned)x) : 32)
EMULATOR_FUNCTION(int, __clzll, (long long x), x ? __builtin_clzll((unsigned long long)x) : 64)
EMULATOR_FUNCTION(int, __ffs, (int x), __builtin_ffs(x))
EMULATOR_FUNCTION(int, __ffsll, (long long x), __builtin_ffsll(x))
static inline unsigned __brev(unsigned x) {
    unsigned reversed = 0;
    for (int i = 0; i < 32; i++) reversed |= (x >> i & 1) << (31 - i);
    return reversed;
}
static inline unsigned long long __brevll(unsigned long long x) {
    return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
    const uint64_t bytes = (uint64_t)b << 32 | a;
    unsigned result = 0;
    for (int i = 0; i < 4; i++) {
        const unsigned choice = selector >> (4 * i), byte = (unsigned)(bytes >> (8 * (choice & 7))) & 0xff;
        result |= (choice & 8 ? (byte & 0x80 ? 0xffu : 0u) : byte) << (8 * i);
    }
    return result;
}
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)((((uint64_t)high << 32 | low) << (shift & 31)) >> 32);
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((uint64_t)high << 32 | low) >> (shift & 31));
}
static inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((uint64_t)high << 32 | low) >> (shift < 32 ? shift : 32));
}
EMULATOR_FUNCTION(int, __mulhi, (int a, int b), (int)(((long long)a * b) >> 32))
EMULATOR_FUNCTION(unsigned, __umulhi, (unsigned a, unsigned b), (unsigned)(((unsigned long long)a * b) >> 32))
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
static inline unsigned __vcmpeq4(unsigned a, unsigned b) {
    unsigned result = 0;
    for (int i = 0; i < 32; i += 8) result |= ((a ^ b) >> i & 0xff) == 0 ? 0xffu << i : 0;
    return result;
}

/* Loads and stores with hints about caches, which there are none of here. */
#define EMULATOR_LOAD(name)                                                                                                        \
    template <typename T> static inline __attribute__((always_inline)) T name(const T *address) {                                  \
        emulator_check_alignment(address, alignof(T));                                                                             \
        return *address;                                                                                                           \
    }
#define EMULATOR_STORE(name)                                                                                                       \
    template <typename T> static inline __attribute__((always_inline)) void name(T *address, T value) {                            \
        emulator_check_alignment(address, alignof(T));                                                                             \
        *address = value;                                                                                                          \
    }
EMULATOR_LOAD(__ldg)
EMULATOR_LOAD(__ldca)
EMULATOR_LOAD(__ldcg)
EMULATOR_LOAD(__ldcs)
EMULATOR_LOAD(__ldlu)
EMULATOR_STORE(__stwb)
EMULATOR_STORE(__stcg)
EMULATOR_STORE(__stcs)
EMULATOR_STORE(__stwt)
#undef EMULATOR_LOAD
#undef EMULATOR_STORE
template <typename T> static inline __attribute__((always_inline)) T __ldcv(const T *address) {
    return *const_cast<const volatile T *>(address);
}
