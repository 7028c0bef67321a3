/* cuda_program_math.h - arithmetic that programs use beyond that of variants: fast and directed functions, small integers four to a
 * word, half precision, and shuffles as they were before CUDA 9. */
#pragma once

#include <float.h>
#include <limits.h>

/* Names that glibc declares for itself. */
#define __sinf(a) sinf(a)
#define __cosf(a) cosf(a)
#define __tanf(a) tanf(a)
#define __log2f(a) log2f(a)
#define __log10f(a) log10f(a)
#define __exp10f(a) exp10f(a)
#define __sincosf(a, s, c) sincosf(a, s, c)
#define __exp2f(a) exp2f(a)
#define __tanhf(a) tanhf(a)

EMULATOR_FUNCTION(float, __frsqrt_rn, (float x), rsqrtf(x))
EMULATOR_FUNCTION(double, sinpi, (double x), sin(M_PI *remainder(x, 2)))
EMULATOR_FUNCTION(double, cospi, (double x), cos(M_PI *remainder(x, 2)))
EMULATOR_FUNCTION(float, sinpif, (float x), (float)sinpi(x))
EMULATOR_FUNCTION(float, cospif, (float x), (float)cospi(x))
static inline void sincospi(double x, double *s, double *c) {
    *s = sinpi(x), *c = cospi(x);
}
static inline void sincospif(float x, float *s, float *c) {
    *s = sinpif(x), *c = cospif(x);
}
EMULATOR_FUNCTION(double, rcbrt, (double x), 1 / cbrt(x))
EMULATOR_FUNCTION(float, rcbrtf, (float x), 1 / cbrtf(x))
EMULATOR_FUNCTION(double, rhypot, (double x, double y), 1 / hypot(x, y))
EMULATOR_FUNCTION(float, rhypotf, (float x, float y), 1 / hypotf(x, y))
EMULATOR_FUNCTION(double, norm3d, (double x, double y, double z), hypot(hypot(x, y), z))
EMULATOR_FUNCTION(float, norm3df, (float x, float y, float z), (float)norm3d(x, y, z))
EMULATOR_FUNCTION(double, rnorm3d, (double x, double y, double z), 1 / norm3d(x, y, z))
EMULATOR_FUNCTION(float, rnorm3df, (float x, float y, float z), (float)rnorm3d(x, y, z))
EMULATOR_FUNCTION(double, normcdf, (double x), erfc(-x *M_SQRT1_2) / 2)
EMULATOR_FUNCTION(float, normcdff, (float x), (float)normcdf(x))
EMULATOR_FUNCTION(double, erfcx, (double x), exp(x *x) * erfc(x))
EMULATOR_FUNCTION(float, erfcxf, (float x), (float)erfcx(x))
EMULATOR_FUNCTION(float, fdividef, (float a, float b), a / b)
/* By bisection: exact to the last bits, and slow. */
static inline double normcdfinv(double p) {
    double low = -39, high = 39;
    for (int i = 0; i < 70; i++) (normcdf((low + high) / 2) < p ? low : high) = (low + high) / 2;
    return p <= 0 ? -INFINITY : p >= 1 ? INFINITY : (low + high) / 2;
}
EMULATOR_FUNCTION(float, normcdfinvf, (float p), (float)normcdfinv(p))
EMULATOR_FUNCTION(double, erfinv, (double x), normcdfinv((x + 1) / 2) * M_SQRT1_2)
EMULATOR_FUNCTION(float, erfinvf, (float x), (float)erfinv(x))
EMULATOR_FUNCTION(double, erfcinv, (double x), -normcdfinv(x / 2) * M_SQRT1_2)
EMULATOR_FUNCTION(float, erfcinvf, (float x), (float)erfcinv(x))

/* Rounded down, up and to zero: from the result in a wider type, which holds sums and products of floats nearly exactly. */
template <typename T, typename Wide> static inline T emulator_round(Wide exact, int direction) {
    const T near = (T)exact;
    if (direction < 0 && near > exact) return std::nextafter(near, (T)-INFINITY);
    if (direction > 0 && near < exact) return std::nextafter(near, (T)INFINITY);
    return near;
}
#define EMULATOR_DIRECTED(suffix, direction)                                                                                       \
    EMULATOR_FUNCTION(float, __fadd_##suffix, (float a, float b), emulator_directed<float>((double)a + b, direction))              \
    EMULATOR_FUNCTION(float, __fsub_##suffix, (float a, float b), emulator_directed<float>((double)a - b, direction))              \
    EMULATOR_FUNCTION(float, __fmul_##suffix, (float a, float b), emulator_directed<float>((double)a * b, direction))              \
    EMULATOR_FUNCTION(float, __fdiv_##suffix, (float a, float b), emulator_directed<float>((double)a / b, direction))              \
    EMULATOR_FUNCTION(float, __fmaf_##suffix, (float a, float b, float c), emulator_directed<float>((double)a * b + c, direction)) \
    EMULATOR_FUNCTION(double, __dadd_##suffix, (double a, double b), emulator_directed<double>((long double)a + b, direction))     \
    EMULATOR_FUNCTION(double, __dsub_##suffix, (double a, double b), emulator_directed<double>((long double)a - b, direction))     \
    EMULATOR_FUNCTION(double, __dmul_##suffix, (double a, double b), emulator_directed<double>((long double)a * b, direction))     \
    EMULATOR_FUNCTION(double, __ddiv_##suffix, (double a, double b), emulator_directed<double>((long double)a / b, direction))     \
    EMULATOR_FUNCTION(float, __double2float_##suffix, (double a), emulator_directed<float>(a, direction))                          \
    EMULATOR_FUNCTION(float, __int2float_##suffix, (int a), emulator_directed<float>((double)a, direction))                        \
    EMULATOR_FUNCTION(float, __uint2float_##suffix, (unsigned a), emulator_directed<float>((double)a, direction))                  \
    EMULATOR_FUNCTION(float, __ll2float_##suffix, (long long a), emulator_directed<float>((long double)a, direction))              \
    EMULATOR_FUNCTION(float, __ull2float_##suffix, (unsigned long long a), emulator_directed<float>((long double)a, direction))    \
    EMULATOR_FUNCTION(double, __ll2double_##suffix, (long long a), emulator_directed<double>((long double)a, direction))           \
    EMULATOR_FUNCTION(double, __ull2double_##suffix, (unsigned long long a), emulator_directed<double>((long double)a, direction))
/* direction 2: to zero */
template <typename T, typename Wide> static inline T emulator_directed(Wide exact, int direction) {
    return emulator_round<T>(exact, direction == 2 ? (exact > 0 ? -1 : 1) : direction);
}
EMULATOR_DIRECTED(rd, -1)
EMULATOR_DIRECTED(ru, 1)
EMULATOR_DIRECTED(rz, 2)
#undef EMULATOR_DIRECTED
EMULATOR_FUNCTION(float, __double2float_rn, (double a), (float)a)

/* Conversions saturate, and a NaN becomes 0. */
template <typename To, typename From> static inline To emulator_to_integer(From x) {
    if (!(x == x)) return 0;
    if (x >= -(From)std::numeric_limits<To>::min() && std::is_signed<To>::value) return std::numeric_limits<To>::max();
    if (!std::is_signed<To>::value && x >= (From)2 * (From)(std::numeric_limits<To>::max() / 2 + 1))
        return std::numeric_limits<To>::max();
    return x <= (From)std::numeric_limits<To>::min() ? std::numeric_limits<To>::min() : (To)x;
}
#define EMULATOR_CONVERT(from, From, name, To)                                                                                     \
    EMULATOR_FUNCTION(To, __##from##2##name##_rd, (From x), emulator_to_integer<To>(std::floor(x)))                                \
    EMULATOR_FUNCTION(To, __##from##2##name##_ru, (From x), emulator_to_integer<To>(std::ceil(x)))
#define EMULATOR_CONVERT_ALL(from, From, name, To)                                                                                 \
    EMULATOR_CONVERT(from, From, name, To)                                                                                         \
    EMULATOR_FUNCTION(To, __##from##2##name##_rn, (From x), emulator_to_integer<To>(std::rint(x)))                                 \
    EMULATOR_FUNCTION(To, __##from##2##name##_rz, (From x), emulator_to_integer<To>(x))
EMULATOR_CONVERT(float, float, int, int)
EMULATOR_CONVERT(double, double, int, int)
EMULATOR_CONVERT_ALL(float, float, uint, unsigned)
EMULATOR_CONVERT_ALL(float, float, ll, long long)
EMULATOR_CONVERT_ALL(float, float, ull, unsigned long long)
EMULATOR_CONVERT_ALL(double, double, uint, unsigned)
EMULATOR_CONVERT_ALL(double, double, ll, long long)
EMULATOR_CONVERT_ALL(double, double, ull, unsigned long long)
#undef EMULATOR_CONVERT_ALL
#undef EMULATOR_CONVERT
EMULATOR_FUNCTION(float, __int2float_rn, (int x), (float)x)
EMULATOR_FUNCTION(float, __uint2float_rn, (unsigned x), (float)x)
EMULATOR_FUNCTION(float, __ll2float_rn, (long long x), (float)x)
EMULATOR_FUNCTION(float, __ull2float_rn, (unsigned long long x), (float)x)
EMULATOR_FUNCTION(double, __int2double_rn, (int x), x)
EMULATOR_FUNCTION(double, __uint2double_rn, (unsigned x), x)
EMULATOR_FUNCTION(double, __ll2double_rn, (long long x), (double)x)
EMULATOR_FUNCTION(double, __ull2double_rn, (unsigned long long x), (double)x)

EMULATOR_FUNCTION(int, __mul24, (int a, int b), (int)((unsigned)(a << 8 >> 8) * (unsigned)(b << 8 >> 8)))
EMULATOR_FUNCTION(unsigned, __umul24, (unsigned a, unsigned b), (a & 0xffffff) * (b & 0xffffff))
EMULATOR_FUNCTION(long long, __mul64hi, (long long a, long long b), (long long)(((__int128)a * b) >> 64))
EMULATOR_FUNCTION(int, __hadd, (int a, int b), (int)(((long long)a + b) >> 1))
EMULATOR_FUNCTION(int, __rhadd, (int a, int b), (int)(((long long)a + b + 1) >> 1))
EMULATOR_FUNCTION(unsigned, __uhadd, (unsigned a, unsigned b), (unsigned)(((unsigned long long)a + b) >> 1))
EMULATOR_FUNCTION(unsigned, __urhadd, (unsigned a, unsigned b), (unsigned)(((unsigned long long)a + b + 1) >> 1))
EMULATOR_FUNCTION(unsigned, __usad, (unsigned a, unsigned b, unsigned c), (a > b ? a - b : b - a) + c)
EMULATOR_FUNCTION(unsigned, __sad, (int a, int b, unsigned c), (a > b ? (unsigned)a - (unsigned)b : (unsigned)b - (unsigned)a) + c)
static inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
#define __brkpt() __trap()
#define __prof_trigger(x) ((void)0)

/* Each lane of a word by itself: 4 of 8 bits, or 2 of 16. */
template <typename Lane, typename Function> static inline unsigned emulator_lanes(unsigned a, unsigned b, Function function) {
    const int bits = 8 * sizeof(Lane);
    unsigned result = 0;
    for (int i = 0; i < 32; i += bits)
        result |= ((unsigned)function((long long)(Lane)(a >> i), (long long)(Lane)(b >> i)) & ((1u << bits) - 1)) << i;
    return result;
}
template <typename Lane> static inline long long emulator_clamp(long long x) {
    return std::min<long long>(std::max<long long>(x, std::numeric_limits<Lane>::min()), std::numeric_limits<Lane>::max());
}
#define EMULATOR_LANES(name, Lane, value)                                                                                          \
    EMULATOR_FUNCTION(unsigned, name, (unsigned a, unsigned b),                                                                    \
                      emulator_lanes<Lane>(a, b, [](long long x, long long y) { return (void)y, (value); }))
#define EMULATOR_LANES_UNARY(name, Lane, value)                                                                                    \
    EMULATOR_FUNCTION(unsigned, name, (unsigned a), emulator_lanes<Lane>(a, a, [](long long x, long long) { return (value); }))
#define EMULATOR_COMPARE(name, suffix, Lane, relation)                                                                             \
    EMULATOR_LANES(__vset##name##suffix, Lane, (x relation y ? 1 : 0))                                                             \
    EMULATOR_LANES(__vcmp##name##suffix, Lane, (x relation y ? -1 : 0))
#define EMULATOR_SIMD(n, S, U)                                                                                                     \
    EMULATOR_LANES(__vadd##n, U, x + y)                                                                                            \
    EMULATOR_LANES(__vsub##n, U, x - y)                                                                                            \
    EMULATOR_LANES(__vaddss##n, S, emulator_clamp<S>(x + y))                                                                       \
    EMULATOR_LANES(__vaddus##n, U, emulator_clamp<U>(x + y))                                                                       \
    EMULATOR_LANES(__vsubss##n, S, emulator_clamp<S>(x - y))                                                                       \
    EMULATOR_LANES(__vsubus##n, U, emulator_clamp<U>(x - y))                                                                       \
    EMULATOR_LANES(__vavgs##n, S, (x + y + (x + y >= 0)) >> 1)                                                                     \
    EMULATOR_LANES(__vavgu##n, U, (x + y + 1) >> 1)                                                                                \
    EMULATOR_LANES(__vhaddu##n, U, (x + y) >> 1)                                                                                   \
    EMULATOR_LANES(__vmins##n, S, x < y ? x : y)                                                                                   \
    EMULATOR_LANES(__vminu##n, U, x < y ? x : y)                                                                                   \
    EMULATOR_LANES(__vmaxs##n, S, x > y ? x : y)                                                                                   \
    EMULATOR_LANES(__vmaxu##n, U, x > y ? x : y)                                                                                   \
    EMULATOR_LANES(__vabsdiffs##n, S, x > y ? x - y : y - x)                                                                       \
    EMULATOR_LANES(__vabsdiffu##n, U, x > y ? x - y : y - x)                                                                       \
    EMULATOR_LANES_UNARY(__vabs##n, S, x < 0 ? -x : x)                                                                             \
    EMULATOR_LANES_UNARY(__vabsss##n, S, emulator_clamp<S>(x < 0 ? -x : x))                                                        \
    EMULATOR_LANES_UNARY(__vneg##n, S, -x)                                                                                         \
    EMULATOR_LANES_UNARY(__vnegss##n, S, emulator_clamp<S>(-x))                                                                    \
    EMULATOR_COMPARE(ne, n, U, !=)                                                                                                 \
    EMULATOR_COMPARE(lts, n, S, <)                                                                                                 \
    EMULATOR_COMPARE(ltu, n, U, <)                                                                                                 \
    EMULATOR_COMPARE(les, n, S, <=)                                                                                                \
    EMULATOR_COMPARE(leu, n, U, <=)                                                                                                \
    EMULATOR_COMPARE(gts, n, S, >)                                                                                                 \
    EMULATOR_COMPARE(gtu, n, U, >)                                                                                                 \
    EMULATOR_COMPARE(ges, n, S, >=)                                                                                                \
    EMULATOR_COMPARE(geu, n, U, >=)                                                                                                \
    EMULATOR_LANES(__vseteq##n, U, (x == y ? 1 : 0))                                                                               \
    static inline unsigned __vsads##n(unsigned a, unsigned b) {                                                                    \
        return emulator_sum<U>(__vabsdiffs##n(a, b));                                                                              \
    }                                                                                                                              \
    static inline unsigned __vsadu##n(unsigned a, unsigned b) {                                                                    \
        return emulator_sum<U>(__vabsdiffu##n(a, b));                                                                              \
    }
template <typename Lane> static inline unsigned emulator_sum(unsigned a) {
    unsigned sum = 0;
    for (int i = 0; i < 32; i += 8 * (int)sizeof(Lane)) sum += (Lane)(a >> i);
    return sum;
}
EMULATOR_SIMD(2, int16_t, uint16_t)
EMULATOR_SIMD(4, int8_t, uint8_t)
EMULATOR_LANES(__vcmpeq2, uint16_t, (x == y ? -1 : 0))
#undef EMULATOR_SIMD
#undef EMULATOR_COMPARE

#define EMULATOR_DOT(T, A, B)                                                                                                      \
    static inline T __dp4a(T a, T b, T sum) {                                                                                      \
        for (int i = 0; i < 32; i += 8) sum += (A)(a >> i) * (B)(b >> i);                                                          \
        return sum;                                                                                                                \
    }                                                                                                                              \
    static inline T __dp2a_lo(T a, T b, T sum) {                                                                                   \
        for (int i = 0; i < 2; i++) sum += (A##_wide)(a >> (16 * i)) * (B)(b >> (8 * i));                                          \
        return sum;                                                                                                                \
    }                                                                                                                              \
    static inline T __dp2a_hi(T a, T b, T sum) {                                                                                   \
        return __dp2a_lo(a, b >> 16, sum);                                                                                         \
    }
typedef int8_t emulator_s8;
typedef uint8_t emulator_u8;
typedef int16_t emulator_s8_wide;
typedef uint16_t emulator_u8_wide;
EMULATOR_DOT(int, emulator_s8, emulator_s8)
EMULATOR_DOT(unsigned, emulator_u8, emulator_u8)
#undef EMULATOR_DOT
static inline int __dp4a(char4 a, char4 b, int sum) {
    return sum + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}
static inline unsigned __dp4a(uchar4 a, uchar4 b, unsigned sum) {
    return sum + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

/* Without a mask all lanes that the block has in this warp take part. */
static inline unsigned emulator_all_lanes() {
    const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const unsigned left = blockDim.x * blockDim.y * blockDim.z - thread / 32 * 32;
    return left >= 32 ? 0xffffffffu : (1u << left) - 1;
}
#define EMULATOR_OLD_SHUFFLE(name)                                                                                                 \
    template <typename T> static inline T name(T value, int operand, int width = 32, EmulatorSite site = emulator_here()) {        \
        return name##_sync(emulator_all_lanes(), value, operand, width, site);                                                     \
    }
EMULATOR_OLD_SHUFFLE(__shfl)
EMULATOR_OLD_SHUFFLE(__shfl_up)
EMULATOR_OLD_SHUFFLE(__shfl_down)
EMULATOR_OLD_SHUFFLE(__shfl_xor)
#undef EMULATOR_OLD_SHUFFLE
static inline int __all(int predicate, EmulatorSite site = emulator_here()) {
    return __all_sync(emulator_all_lanes(), predicate, site);
}
static inline int __any(int predicate, EmulatorSite site = emulator_here()) {
    return __any_sync(emulator_all_lanes(), predicate, site);
}
static inline unsigned __ballot(int predicate, EmulatorSite site = emulator_here()) {
    return __ballot_sync(emulator_all_lanes(), predicate, site);
}

/* ---- Half precision: what the toolkit's headers leave to a device compiler. An operation is rounded once. */

/* p + c for a number that is rounded to fewer digits then: of an inexact sum the neighbour with an odd last bit, so that no
 * rounding takes it for a tie (Boldo and Melquiond 2008). A product of two numbers of 16 bits is exact. */
static inline double emulator_odd_sum(double p, double c) {
    const double sum = p + c, part = sum - p, error = (p - (sum - part)) + (c - part);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if (!(fabs(sum) < INFINITY) || error == 0 || bits % 2 == 1) return sum;
    bits = (error > 0) == (sum > 0) ? bits + 1 : bits - 1;
    double odd;
    memcpy(&odd, &bits, sizeof odd);
    return odd;
}
static inline __half emulator___float2half(double x) {
    return __double2half(x);
}
static inline __nv_bfloat16 emulator___float2bfloat16(double x) {
    return __double2bfloat16(x);
}
#define EMULATOR_HALF_UNARY(H, H2, to, from, name, value)                                                                          \
    static inline H h##name(H h) {                                                                                                 \
        const float x = to(h);                                                                                                     \
        return from(value);                                                                                                        \
    }                                                                                                                              \
    EMULATOR_FUNCTION(H2, h2##name, (H2 h), (H2(h##name(h.x), h##name(h.y))))
#define EMULATOR_HALF_SHUFFLE(H, name, Operand)                                                                                    \
    static inline H name(unsigned mask, H value, Operand operand, int width = 32, EmulatorSite site = emulator_here()) {           \
        uint32_t bits = 0;                                                                                                         \
        memcpy(&bits, &value, sizeof value);                                                                                       \
        bits = name(mask, bits, operand, width, site);                                                                             \
        memcpy(&value, &bits, sizeof value);                                                                                       \
        return value;                                                                                                              \
    }
#define EMULATOR_HALF_SHARED(H)                                                                                                    \
    EMULATOR_HALF_SHUFFLE(H, __shfl_sync, int)                                                                                     \
    EMULATOR_HALF_SHUFFLE(H, __shfl_up_sync, unsigned)                                                                             \
    EMULATOR_HALF_SHUFFLE(H, __shfl_down_sync, unsigned)                                                                           \
    EMULATOR_HALF_SHUFFLE(H, __shfl_xor_sync, int)                                                                                 \
    EMULATOR_INDIVISIBLE H atomicAdd(H *address, H value, EmulatorSite site = emulator_here()) {                                   \
        emulator_atomic(address, sizeof(H), ACCESS_UPDATE, SCOPE_DEVICE, site);                                                    \
        const H old = *address;                                                                                                    \
        *address = old + value;                                                                                                    \
        return old;                                                                                                                \
    }
#define EMULATOR_HALF(H, H2, to, from)                                                                                             \
    EMULATOR_HALF_SHARED(H)                                                                                                        \
    EMULATOR_HALF_SHARED(H2)                                                                                                       \
    EMULATOR_FUNCTION(H, __hfma, (H a, H b, H c), emulator_##from(emulator_odd_sum((double)to(a) * (double)to(b), (double)to(c)))) \
    EMULATOR_FUNCTION(H, __hfma_sat, (H a, H b, H c), from(__saturatef(to(__hfma(a, b, c)))))                                      \
    EMULATOR_FUNCTION(H, __hfma_relu, (H a, H b, H c), from(fmaxf(to(__hfma(a, b, c)), 0)))                                        \
    EMULATOR_FUNCTION(H2, __hfma2, (H2 a, H2 b, H2 c), (H2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y))))                         \
    EMULATOR_FUNCTION(H2, __hfma2_sat, (H2 a, H2 b, H2 c), (H2(__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y))))             \
    EMULATOR_FUNCTION(H2, __hfma2_relu, (H2 a, H2 b, H2 c), (H2(__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y))))          \
    EMULATOR_HALF_UNARY(H, H2, to, from, sqrt, sqrtf(x))                                                                           \
    EMULATOR_HALF_UNARY(H, H2, to, from, rsqrt, rsqrtf(x))                                                                         \
    EMULATOR_HALF_UNARY(H, H2, to, from, rcp, 1 / x)                                                                               \
    EMULATOR_HALF_UNARY(H, H2, to, from, exp, expf(x))                                                                             \
    EMULATOR_HALF_UNARY(H, H2, to, from, exp2, exp2f(x))                                                                           \
    EMULATOR_HALF_UNARY(H, H2, to, from, exp10, exp10f(x))                                                                         \
    EMULATOR_HALF_UNARY(H, H2, to, from, log, logf(x))                                                                             \
    EMULATOR_HALF_UNARY(H, H2, to, from, log2, log2f(x))                                                                           \
    EMULATOR_HALF_UNARY(H, H2, to, from, log10, log10f(x))                                                                         \
    EMULATOR_HALF_UNARY(H, H2, to, from, sin, sinf(x))                                                                             \
    EMULATOR_HALF_UNARY(H, H2, to, from, cos, cosf(x))                                                                             \
    EMULATOR_HALF_UNARY(H, H2, to, from, tanh, tanhf(x))                                                                           \
    EMULATOR_HALF_UNARY(H, H2, to, from, tanh_approx, tanhf(x))                                                                    \
    EMULATOR_HALF_UNARY(H, H2, to, from, ceil, ceilf(x))                                                                           \
    EMULATOR_HALF_UNARY(H, H2, to, from, floor, floorf(x))                                                                         \
    EMULATOR_HALF_UNARY(H, H2, to, from, trunc, truncf(x))                                                                         \
    EMULATOR_HALF_UNARY(H, H2, to, from, rint, rintf(x))
EMULATOR_HALF(__half, __half2, __half2float, __float2half)
EMULATOR_HALF(__nv_bfloat16, __nv_bfloat162, __bfloat162float, __float2bfloat16)
/* To integers, but to zero, which host code has. */
#define EMULATOR_FROM_HALF(half, H, to, name, To, nan)                                                                             \
    EMULATOR_FUNCTION(To, half##2##name##_rd, (H h), (h == h ? emulator_to_integer<To>(floorf(to(h))) : nan))                      \
    EMULATOR_FUNCTION(To, half##2##name##_ru, (H h), (h == h ? emulator_to_integer<To>(ceilf(to(h))) : nan))                       \
    EMULATOR_FUNCTION(To, half##2##name##_rn, (H h), (h == h ? emulator_to_integer<To>(rintf(to(h))) : nan))
#define EMULATOR_FROM_HALF_ALL(half, H, to)                                                                                        \
    EMULATOR_FROM_HALF(half, H, to, int, int, 0)                                                                                   \
    EMULATOR_FROM_HALF(half, H, to, uint, unsigned, 0)                                                                             \
    EMULATOR_FROM_HALF(half, H, to, short, short, 0)                                                                               \
    EMULATOR_FROM_HALF(half, H, to, ushort, unsigned short, 0)                                                                     \
    EMULATOR_FROM_HALF(half, H, to, ll, long long, LLONG_MIN)                                                                      \
    EMULATOR_FROM_HALF(half, H, to, ull, unsigned long long, 1ULL << 63)
EMULATOR_FROM_HALF_ALL(__half, __half, __half2float)
EMULATOR_FROM_HALF_ALL(__bfloat16, __nv_bfloat16, __bfloat162float)
#undef EMULATOR_FROM_HALF_ALL
#undef EMULATOR_FROM_HALF
#undef EMULATOR_HALF
#undef EMULATOR_HALF_SHARED
#undef EMULATOR_HALF_SHUFFLE
#undef EMULATOR_HALF_UNARY

/* ---- Atomic functions with an order and a scope, as nvcc has them built in. All are carried out as the strongest. */
enum {
    __NV_ATOMIC_RELAXED,
    __NV_ATOMIC_CONSUME,
    __NV_ATOMIC_ACQUIRE,
    __NV_ATOMIC_RELEASE,
    __NV_ATOMIC_ACQ_REL,
    __NV_ATOMIC_SEQ_CST
};
enum {
    __NV_THREAD_SCOPE_THREAD,
    __NV_THREAD_SCOPE_BLOCK,
    __NV_THREAD_SCOPE_CLUSTER,
    __NV_THREAD_SCOPE_DEVICE,
    __NV_THREAD_SCOPE_SYSTEM
};
template <typename T>
EMULATOR_INDIVISIBLE T __nv_atomic_load_n(const T *address, int, int = 0, EmulatorSite site = emulator_here()) {
    emulator_atomic(address, sizeof(T), ACCESS_LOAD, SCOPE_DEVICE, site);
    return *address;
}
template <typename T, typename V>
EMULATOR_INDIVISIBLE void __nv_atomic_store_n(T *address, V value, int, int = 0, EmulatorSite site = emulator_here()) {
    emulator_atomic(address, sizeof(T), ACCESS_STORE, SCOPE_DEVICE, site);
    *address = static_cast<T>(value);
}
#define EMULATOR_NV_ATOMIC_AS(name, access, result)                                                                                \
    template <typename T, typename V>                                                                                              \
    EMULATOR_INDIVISIBLE T __nv_atomic_##name(T *address, V given, int, int = 0, EmulatorSite site = emulator_here()) {            \
        emulator_atomic(address, sizeof(T), access, SCOPE_DEVICE, site);                                                           \
        const T old = *address, value = static_cast<T>(given);                                                                     \
        *address = static_cast<T>(result);                                                                                         \
        return old;                                                                                                                \
    }
#define EMULATOR_NV_ATOMIC(name, result) EMULATOR_NV_ATOMIC_AS(name, ACCESS_UPDATE, result)
EMULATOR_NV_ATOMIC_AS(exchange_n, ACCESS_EXCHANGE, ((void)old, value))
EMULATOR_NV_ATOMIC(fetch_add, old + value)
EMULATOR_NV_ATOMIC(fetch_sub, old - value)
EMULATOR_NV_ATOMIC(fetch_min, value < old ? value : old)
EMULATOR_NV_ATOMIC(fetch_max, value > old ? value : old)
EMULATOR_NV_ATOMIC(fetch_and, old &value)
EMULATOR_NV_ATOMIC(fetch_or, old | value)
EMULATOR_NV_ATOMIC(fetch_xor, old ^ value)
#undef EMULATOR_NV_ATOMIC
#undef EMULATOR_NV_ATOMIC_AS
template <typename T>
EMULATOR_INDIVISIBLE bool __nv_atomic_compare_exchange_n(T *address, T *expected, T value, bool, int, int, int = 0,
                                                         EmulatorSite site = emulator_here()) {
    emulator_atomic(address, sizeof(T), ACCESS_UPDATE, SCOPE_DEVICE, site);
    const T old = *address;
    if (old == *expected) return *address = value, true;
    *expected = old;
    return false;
}
