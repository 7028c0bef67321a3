// Arithmetic of 16 and 8 bits, digested: one line an operation, a digest for each upper byte of the first operand, or of a float's
// bits; NaN counts as one number. usage: halves FIRST COUNT      upper bytes FIRST .. FIRST + COUNT - 1
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

typedef unsigned long long Word;
typedef __half F;
typedef __nv_bfloat16 B;

template <typename T> __device__ T number(unsigned bits) {
    const unsigned short half = (unsigned short)bits;
    T value;
    memcpy(&value, &half, sizeof value);
    return value;
}
__device__ unsigned bits_of(F x) {
    unsigned short bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & 0x7fff) > 0x7c00 ? 0x7fff : bits;
}
__device__ unsigned bits_of(B x) {
    unsigned short bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & 0x7fff) > 0x7f80 ? 0x7fff : bits;
}
__device__ unsigned bits_of(float x) {
    unsigned bits;
    memcpy(&bits, &x, sizeof bits);
    return x != x ? 0x7fffffff : bits;
}
__device__ unsigned bits_of(bool x) {
    return x;
}
__device__ float float_of(unsigned a, unsigned b) {
    const unsigned bits = a << 16 | b;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
__device__ Word digest_of(unsigned a, unsigned b, unsigned result) {
    Word x = ((Word)(a << 16 | b) + 1) * 0x9e3779b97f4a7c15ull ^ (Word)result * 0xd1342543de82ef95ull;
    x ^= x >> 31;
    x *= 0xbf58476d1ce4e5b9ull;
    return x ^ x >> 29;
}

// All pairs of an upper byte, a block each. b counts up to `ends`: 1 where there is no second operand.
template <typename Operation> __global__ void pairs(unsigned first, unsigned ends, Word *digests) {
    const unsigned a = (first + blockIdx.x) << 8 | threadIdx.x;
    Word sum = 0;
    for (unsigned b = 0; b < ends; b++) sum += digest_of(a, b, Operation::of(a, b));
    atomicAdd(&digests[blockIdx.x], sum);
}

// Triples of 256 values at the edges of exponents and fractions.
template <typename T> __device__ unsigned edge(unsigned i) {
    const bool half = (float)number<T>(0x3c00) == 1;
    const unsigned fraction_bits = half ? 10 : 7, last = (1u << fraction_bits) - 1;
    const unsigned halves[] = {0, 1, 2, 5, 10, 13, 14, 15, 16, 17, 20, 25, 28, 29, 30, 31};
    const unsigned brains[] = {0, 1, 2, 40, 100, 125, 126, 127, 128, 129, 150, 200, 252, 253, 254, 255};
    const unsigned fractions[] = {0, 1, last / 2, last / 2 + 1, last - 1, last, last / 3, last / 5 * 4};
    const unsigned exponent = (half ? halves : brains)[i / 2 % 16];
    return (i % 2) << 15 | exponent << fraction_bits | fractions[i / 32];
}
template <typename T> __global__ void triples(Word *digests) {
    const unsigned a = edge<T>(blockIdx.x), b = edge<T>(threadIdx.x);
    Word sum = 0;
    for (unsigned i = 0; i < 256; i++)
        sum += digest_of(a, b, edge<T>(i) << 16 ^ bits_of(__hfma(number<T>(a), number<T>(b), number<T>(edge<T>(i)))));
    atomicAdd(digests, sum);
}

static Word *digests;

static void print(const char *name, unsigned count) {
    if (cudaDeviceSynchronize() != cudaSuccess) exit(2);
    printf("%s", name);
    for (unsigned h = 0; h < count; h++) printf(" %08x", (unsigned)(digests[h] ^ digests[h] >> 32));
    printf("\n");
    memset(digests, 0, 256 * sizeof *digests);
}

#define OPERATION(name, T, ends, expression)                                                                                       \
    struct name##_##T {                                                                                                            \
        static __device__ unsigned of(unsigned a, unsigned b) {                                                                    \
            const T x = number<T>(a), y = number<T>(b);                                                                            \
            (void)x, (void)y;                                                                                                      \
            return bits_of(expression);                                                                                            \
        }                                                                                                                          \
    };
#define EACH_TYPE(OP, name, ends, expression) OP(name, F, ends, expression) OP(name, B, ends, expression)
#define OPERATIONS(OP)                                                                                                             \
    EACH_TYPE(OP, add, 65536, __hadd(x, y))                                                                                        \
    EACH_TYPE(OP, sub, 65536, __hsub(x, y))                                                                                        \
    EACH_TYPE(OP, mul, 65536, __hmul(x, y))                                                                                        \
    EACH_TYPE(OP, div, 65536, __hdiv(x, y))                                                                                        \
    EACH_TYPE(OP, min, 65536, __hmin(x, y))                                                                                        \
    EACH_TYPE(OP, max, 65536, __hmax(x, y))                                                                                        \
    EACH_TYPE(OP, less, 65536, __hlt(x, y))                                                                                        \
    EACH_TYPE(OP, fma_of_two, 65536, __hfma(x, y, x))                                                                              \
    EACH_TYPE(OP, negated, 1, __hneg(x))                                                                                           \
    EACH_TYPE(OP, absolute, 1, __habs(x))                                                                                          \
    EACH_TYPE(OP, root, 1, hsqrt(x))                                                                                               \
    EACH_TYPE(OP, reciprocal, 1, hrcp(x))                                                                                          \
    EACH_TYPE(OP, reciprocal_root, 1, hrsqrt(x))                                                                                   \
    EACH_TYPE(OP, exponential, 1, hexp(x))                                                                                         \
    EACH_TYPE(OP, exponential2, 1, hexp2(x))                                                                                       \
    EACH_TYPE(OP, logarithm, 1, hlog(x))                                                                                           \
    EACH_TYPE(OP, up, 1, hceil(x))                                                                                                 \
    EACH_TYPE(OP, down, 1, hfloor(x))                                                                                              \
    EACH_TYPE(OP, cut, 1, htrunc(x))                                                                                               \
    EACH_TYPE(OP, whole, 1, hrint(x))                                                                                              \
    OP(wide, F, 1, __half2float(x))                                                                                                \
    OP(wide, B, 1, __bfloat162float(x))                                                                                            \
    OP(rounded, F, 65536, __float2half_rn(float_of(a, b)))                                                                         \
    OP(rounded, B, 65536, __float2bfloat16_rn(float_of(a, b)))
OPERATIONS(OPERATION)

#define EIGHT(name, kind, how)                                                                                                     \
    struct name {                                                                                                                  \
        static __device__ unsigned of(unsigned a, unsigned b) {                                                                    \
            const unsigned bits = __nv_cvt_float_to_fp8(float_of(a, b), how, kind);                                                \
            return kind == __NV_E4M3 ? bits : (bits & 0x7f) > 0x7c ? 0x7f : bits;                                                  \
        }                                                                                                                          \
    };
#define EIGHTS(OP)                                                                                                                 \
    OP(e4m3_saturated, __NV_E4M3, __NV_SATFINITE)                                                                                  \
    OP(e5m2_saturated, __NV_E5M2, __NV_SATFINITE)                                                                                  \
    OP(e4m3_rounded, __NV_E4M3, __NV_NOSAT)                                                                                        \
    OP(e5m2_rounded, __NV_E5M2, __NV_NOSAT)
EIGHTS(EIGHT)
struct from_e4m3 {
    static __device__ unsigned of(unsigned a, unsigned) {
        return bits_of(F(__nv_cvt_fp8_to_halfraw((unsigned char)a, a & 0x100 ? __NV_E5M2 : __NV_E4M3)));
    }
};

int main(int argc, char **argv) {
    const unsigned first = argc > 1 ? (unsigned)atoi(argv[1]) : 0, count = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    if (first + count > 256 || cudaMallocManaged(&digests, 256 * sizeof *digests) != cudaSuccess) return 2;
    memset(digests, 0, 256 * sizeof *digests);
#define RUN(name, T, ends, expression)                                                                                             \
    pairs<name##_##T><<<count, 256>>>(first, ends, digests);                                                                       \
    print(#name "_" #T, count);
    OPERATIONS(RUN)
#define RUN_EIGHT(name, kind, how)                                                                                                 \
    pairs<name><<<count, 256>>>(first, 65536, digests);                                                                            \
    print(#name, count);
    EIGHTS(RUN_EIGHT)
    pairs<from_e4m3><<<count, 256>>>(first, 1, digests);
    print("from_fp8", count);
    triples<F><<<256, 256>>>(digests);
    print("fma_of_three_F", 1);
    triples<B><<<256, 256>>>(digests);
    print("fma_of_three_B", 1);
    return 0;
}
