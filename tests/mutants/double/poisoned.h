/* poisoned.h - for mutants that look for it: does memory hold a pattern of base/poison.h? */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifndef __CUDACC__
#define __host__
#define __device__
#endif

__host__ __device__ static inline bool is_poisoned(const void *word) {
    const uint32_t bits = *(const uint32_t *)word;
    return bits == UINT32_C(0xFFFFFFFF) || bits == UINT32_C(0x7B7B7B7B) || bits == UINT32_C(0xFBFBFBFB);
}
