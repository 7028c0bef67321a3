/* cuda_program_ptx.h - what cmake/ptx.py writes for inline PTX. Registers are the operands' own types: values go in and out by
 * their bits. */
#pragma once

#include <cuda_pipeline.h>

#include <cstdint>
#include <cstring>

template <typename T, typename Register> static inline T emulator_ptx_get(const Register &from) {
    T value = {};
    memcpy(&value, &from, sizeof value < sizeof from ? sizeof value : sizeof from);
    return value;
}

template <typename T, typename Register> static inline void emulator_ptx_put(Register &to, T value) {
    Register bits = {};
    memcpy(&bits, &value, sizeof bits < sizeof value ? sizeof bits : sizeof value);
    to = bits;
}

/* Addresses of shared memory in 32 bits are the low half of real ones: those of static variables lie in this module's image, others
 * near the block's dynamic memory. */
extern "C" char __ehdr_start __attribute__((visibility("hidden")));
extern "C" char _end __attribute__((visibility("hidden")));
static inline char *emulator_ptx_near(const void *base, uint32_t low) {
    return (char *)base + (int32_t)(low - (uint32_t)(uintptr_t)base);
}
static inline char *emulator_ptx_shared(uint32_t low) {
    char *variable = emulator_ptx_near(&__ehdr_start, low);
    return variable >= &__ehdr_start && variable < &_end ? variable : emulator_ptx_near(emulator_dynamic_shared(), low);
}
template <typename Register> static inline char *emulator_ptx_address(const Register &from) {
    if constexpr (sizeof from == 4)
        return emulator_ptx_shared(emulator_ptx_get<uint32_t>(from));
    else
        return emulator_ptx_get<char *>(from);
}

static inline size_t __cvta_generic_to_shared(const void *pointer) {
    return (size_t)pointer;
}
static inline size_t __cvta_generic_to_global(const void *pointer) {
    return (size_t)pointer;
}
static inline void *__cvta_shared_to_generic(size_t address) {
    return address >> 32 ? (void *)address : emulator_ptx_shared((uint32_t)address);
}

static inline unsigned emulator_ptx_warp_id() {
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) / 32;
}

static inline void emulator_ptx_copy(char *to, const char *from, unsigned bytes, unsigned used,
                                     EmulatorSite site = emulator_here()) {
    __pipeline_memcpy_async(to, from, bytes, bytes - used, site);
}

/* ldmatrix: the row addresses of matrix i are those of lanes 8 i to 8 i + 7; a lane gets two neighbours of row lane / 4, or with
 * `transposed` of a column. */
static inline uint32_t emulator_ptx_matrix(const char *row, unsigned matrix, bool transposed, EmulatorSite site = emulator_here()) {
    const unsigned lane = emulator_lane();
    const long long mine = (long long)(intptr_t)row;
    if (!transposed) {
        const char *from = (const char *)(intptr_t)__shfl_sync(~0u, mine, (int)(8 * matrix + lane / 4), 32, site);
        return *(const uint32_t *)(from + 4 * (lane % 4));
    }
    const char *first = (const char *)(intptr_t)__shfl_sync(~0u, mine, (int)(8 * matrix + 2 * (lane % 4)), 32, site);
    const char *second = (const char *)(intptr_t)__shfl_sync(~0u, mine, (int)(8 * matrix + 2 * (lane % 4) + 1), 32, site);
    const uint32_t low = *(const uint16_t *)(first + 2 * (lane / 4)), high = *(const uint16_t *)(second + 2 * (lane / 4));
    return low | high << 16;
}

struct EmulatorPtxHalf {
    static constexpr int PACKED = 2;
    static float at(uint32_t bits, int i) { return __half2float(emulator_ptx_get<__half>((uint16_t)(bits >> (16 * i)))); }
};
struct EmulatorPtxBfloat {
    static constexpr int PACKED = 2;
    static float at(uint32_t bits, int i) {
        return __bfloat162float(emulator_ptx_get<__nv_bfloat16>((uint16_t)(bits >> (16 * i))));
    }
};
struct EmulatorPtxTf32 {
    static constexpr int PACKED = 1;
    static float at(uint32_t bits, int) { return emulator_ptx_get<float>(bits & 0xffffe000u); }
};

/* mma.m16n8: c += a b, rows lane / 4 and 8 more, columns 2 (lane % 4) and one more; in a and b a lane has PACKED neighbours along k
 * at PACKED (lane % 4), and the same half of k further on. Products are exact; how hardware rounds their sums is its own matter. */
template <typename Type>
static inline void emulator_ptx_mma(float c[4], const uint32_t a[4], const uint32_t b[2], EmulatorSite site = emulator_here()) {
    const int lane = (int)emulator_lane();
    double sum[4] = {c[0], c[1], c[2], c[3]};
    for (int part = 0; part < 4; part++) {
        uint32_t left[4], right[2][2];
        for (int i = 0; i < 4; i++) left[i] = __shfl_sync(~0u, a[i], lane / 4 * 4 + part, 32, site);
        for (int column = 0; column < 2; column++)
            for (int i = 0; i < 2; i++) right[column][i] = __shfl_sync(~0u, b[i], (2 * (lane % 4) + column) * 4 + part, 32, site);
        for (int i = 0; i < 4; i++)
            for (int half = 0; half < 2; half++)
                for (int k = 0; k < Type::PACKED; k++)
                    sum[i] += (double)Type::at(left[2 * half + i / 2], k) * (double)Type::at(right[i % 2][half], k);
    }
    for (int i = 0; i < 4; i++) c[i] = (float)sum[i];
}
