/* narrow.cuh - storage types of elements: double and float, and __half and __nv_bfloat16, which are numbers to load and to store;
 * sums of these are floats.
 *
 *     SumOf<T>          the type of sums: double, and float for the others
 *     WorkOf<T>         the same, but double for float, too
 *     wide(x)           an element as such a number: exact
 *     (T)sum            the nearest element, ties to even
 *     Pack<T, N>        N elements as one load or store; pack_wide(), pack_narrow(): as numbers */
#pragma once

#include "kernel.h"
#include "variant.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <string.h>
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

/* One store to global memory. The compiler takes that of elements of two bytes apart where a path beside it stores each alone. */
template <typename T, unsigned N> static __device__ inline void pack_store(const Pack<T, N> &pack, T *to) {
#ifdef __CUDA_ARCH__
    if constexpr (sizeof(T) == 2 && sizeof(pack) == 16) {
        unsigned words[4];
        memcpy(words, &pack, sizeof words);
        asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(words[0]), "r"(words[1]), "r"(words[2]),
                     "r"(words[3])
                     : "memory");
        return;
    }
#endif
    *(Pack<T, N> *)to = pack;
}

/* Two elements of two bytes in one register. As two elements they would be two registers, which come together again. */
template <typename T> struct PairOf { using Type = __half2; };
template <> struct PairOf<__nv_bfloat16> { using Type = __nv_bfloat162; };

static __device__ inline float2 pair_wide(__half2 pair) {
    return __half22float2(pair);
}
static __device__ inline float2 pair_wide(__nv_bfloat162 pair) {
    uint32_t bits;
    memcpy(&bits, &pair, sizeof bits);
    return make_float2(__uint_as_float(bits << 16), __uint_as_float(bits & 0xffff0000)); /* two instructions, not three */
}
static __device__ inline void pair_narrow(float2 x, __half2 *pair) {
    *pair = __float22half2_rn(x);
}
static __device__ inline void pair_narrow(float2 x, __nv_bfloat162 *pair) {
    *pair = __float22bfloat162_rn(x);
}

/* A pack as numbers, and numbers as a pack. */
template <typename T, unsigned N> static __device__ inline void pack_wide(const Pack<T, N> &pack, SumOf<T> (&to)[N]) {
    if constexpr (sizeof(T) == 2 && N % 2 == 0) {
#pragma unroll
        for (unsigned k = 0; k < N; k += 2) {
            typename PairOf<T>::Type pair;
            memcpy(&pair, &pack.at[k], sizeof pair);
            const float2 both = pair_wide(pair);
            to[k] = both.x, to[k + 1] = both.y;
        }
    } else {
#pragma unroll
        for (unsigned k = 0; k < N; k++) to[k] = wide(pack.at[k]);
    }
}
template <typename T, unsigned N> static __device__ inline void pack_narrow(const SumOf<T> (&from)[N], Pack<T, N> *pack) {
    if constexpr (sizeof(T) == 2 && N % 2 == 0) {
#pragma unroll
        for (unsigned k = 0; k < N; k += 2) {
            typename PairOf<T>::Type pair;
            pair_narrow(make_float2(from[k], from[k + 1]), &pair);
            memcpy(&pack->at[k], &pair, sizeof pair);
        }
    } else {
#pragma unroll
        for (unsigned k = 0; k < N; k++) pack->at[k] = (T)from[k];
    }
}

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
