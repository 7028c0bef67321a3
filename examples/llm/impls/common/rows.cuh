/* rows.cuh - what kernels over the rows of a matrix share: elements of f32 or bf16, which are added up in f32, and sums and maxima
 * of a warp. */
#pragma once

#include "kernel.h"
#include "variant.h"

#include <cuda_bf16.h>

static const DType ROW_TYPES[] = {DTYPE_F32, DTYPE_BF16, DTYPE_COUNT};

enum { WARP = 32 };

static __device__ inline float wide(float x) {
    return x;
}
static __device__ inline float wide(__nv_bfloat16 x) {
    return __bfloat162float(x);
}
static __device__ inline void store(float *to, float x) {
    *to = x;
}
static __device__ inline void store(__nv_bfloat16 *to, float x) {
    *to = __float2bfloat16(x);
}

static __device__ inline float warp_sum(float x) {
    for (int lanes = WARP / 2; lanes > 0; lanes /= 2) x += __shfl_xor_sync(0xffffffff, x, lanes);
    return x;
}
static __device__ inline float warp_max(float x) {
    for (int lanes = WARP / 2; lanes > 0; lanes /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, lanes));
    return x;
}

/* Calls launch with an element of the case's type. */
template <typename Launch> static inline Status with_type(const VariantArgs *args, Launch launch) {
    if (array_count(&args->out[0]) == 0) return STATUS_OK;
    return args->problem->dtype == DTYPE_BF16 ? launch(__nv_bfloat16()) : launch(float());
}
template <typename T> static inline const T *input(const VariantArgs *args, int i) {
    return (const T *)args->in[i].data;
}
template <typename T> static inline T *output(const VariantArgs *args, int i) {
    return (T *)args->out[i].data;
}
static inline unsigned blocks_of(size_t items, unsigned each) {
    return (unsigned)((items + each - 1) / each);
}
