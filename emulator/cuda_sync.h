/* cuda_sync.h - barriers, fences, warp operations, clocks. */
#ifndef RUNGS_EMULATOR_CUDA_SYNC_H
#define RUNGS_EMULATOR_CUDA_SYNC_H

#include <string.h>

static inline void __syncthreads(EmulatorSite site = emulator_here()) {
    emulator_barrier(BARRIER_PLAIN, 0, site);
}
static inline int __syncthreads_count(int predicate, EmulatorSite site = emulator_here()) {
    return emulator_barrier(BARRIER_COUNT, predicate, site);
}
static inline int __syncthreads_and(int predicate, EmulatorSite site = emulator_here()) {
    return emulator_barrier(BARRIER_AND, predicate, site);
}
static inline int __syncthreads_or(int predicate, EmulatorSite site = emulator_here()) {
    return emulator_barrier(BARRIER_OR, predicate, site);
}

static inline void __threadfence_block() {
    emulator_fence(SCOPE_BLOCK);
}
static inline void __threadfence() {
    emulator_fence(SCOPE_DEVICE);
}
static inline void __threadfence_system() {
    emulator_fence(SCOPE_DEVICE);
}
static inline void __nanosleep(unsigned) {
    emulator_pause();
}
static inline long long clock64() {
    return static_cast<long long>(emulator_clock());
}
[[noreturn]] static inline void __trap(EmulatorSite site = emulator_here()) {
    emulator_trap("__trap() was called", site);
}

static inline void __syncwarp(unsigned mask = 0xffffffffu, EmulatorSite site = emulator_here()) {
    emulator_warp(WARP_SYNC, mask, 0, 0, 32, site);
}
static inline unsigned __activemask() {
    return emulator_active_mask();
}

/* The values are bits to the engine. */
template <typename T> static inline uint64_t emulator_bits(T value) {
    static_assert(sizeof(T) <= sizeof(uint64_t));
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}
template <typename T> static inline T emulator_value(uint64_t bits) {
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#define EMULATOR_SHUFFLE(T)                                                                                                        \
    static inline T __shfl_sync(unsigned mask, T value, int lane, int width = 32, EmulatorSite site = emulator_here()) {           \
        return emulator_value<T>(emulator_warp(WARP_SHUFFLE, mask, emulator_bits(value), (unsigned)lane, (unsigned)width, site));  \
    }                                                                                                                              \
    static inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, EmulatorSite site = emulator_here()) {  \
        return emulator_value<T>(emulator_warp(WARP_SHUFFLE_UP, mask, emulator_bits(value), delta, (unsigned)width, site));        \
    }                                                                                                                              \
    static inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,                                       \
                                     EmulatorSite site = emulator_here()) {                                                        \
        return emulator_value<T>(emulator_warp(WARP_SHUFFLE_DOWN, mask, emulator_bits(value), delta, (unsigned)width, site));      \
    }                                                                                                                              \
    static inline T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, EmulatorSite site = emulator_here()) {      \
        return emulator_value<T>(                                                                                                  \
            emulator_warp(WARP_SHUFFLE_XOR, mask, emulator_bits(value), (unsigned)lanes, (unsigned)width, site));                  \
    }
EMULATOR_SHUFFLE(int)
EMULATOR_SHUFFLE(unsigned)
EMULATOR_SHUFFLE(long)
EMULATOR_SHUFFLE(unsigned long)
EMULATOR_SHUFFLE(long long)
EMULATOR_SHUFFLE(unsigned long long)
EMULATOR_SHUFFLE(float)
EMULATOR_SHUFFLE(double)
#undef EMULATOR_SHUFFLE

static inline int __all_sync(unsigned mask, int predicate, EmulatorSite site = emulator_here()) {
    return (int)emulator_warp(WARP_ALL, mask, predicate != 0, 0, 32, site);
}
static inline int __any_sync(unsigned mask, int predicate, EmulatorSite site = emulator_here()) {
    return (int)emulator_warp(WARP_ANY, mask, predicate != 0, 0, 32, site);
}
static inline unsigned __ballot_sync(unsigned mask, int predicate, EmulatorSite site = emulator_here()) {
    return (unsigned)emulator_warp(WARP_BALLOT, mask, predicate != 0, 0, 32, site);
}
template <typename T> static inline unsigned __match_any_sync(unsigned mask, T value, EmulatorSite site = emulator_here()) {
    return (unsigned)emulator_warp(WARP_MATCH_ANY, mask, emulator_bits(value), 0, 32, site);
}
template <typename T>
static inline unsigned __match_all_sync(unsigned mask, T value, int *predicate, EmulatorSite site = emulator_here()) {
    const unsigned lanes = (unsigned)emulator_warp(WARP_MATCH_ALL, mask, emulator_bits(value), 0, 32, site);
    *predicate = lanes != 0;
    return lanes;
}

static inline unsigned __reduce_add_sync(unsigned mask, unsigned value, EmulatorSite site = emulator_here()) {
    return (unsigned)emulator_warp(WARP_REDUCE_ADD, mask, value, 0, 32, site);
}
static inline int __reduce_add_sync(unsigned mask, int value, EmulatorSite site = emulator_here()) {
    return (int)(unsigned)emulator_warp(WARP_REDUCE_ADD, mask, (unsigned)value, 0, 32, site);
}
static inline unsigned __reduce_min_sync(unsigned mask, unsigned value, EmulatorSite site = emulator_here()) {
    return (unsigned)emulator_warp(WARP_REDUCE_MIN, mask, value, 0, 32, site);
}
static inline int __reduce_min_sync(unsigned mask, int value, EmulatorSite site = emulator_here()) {
    return (int)(unsigned)emulator_warp(WARP_REDUCE_MIN_SIGNED, mask, (unsigned)value, 0, 32, site);
}
static inline unsigned __reduce_max_sync(unsigned mask, unsigned value, EmulatorSite site = emulator_here()) {
    return (unsigned)emulator_warp(WARP_REDUCE_MAX, mask, value, 0, 32, site);
}
static inline int __reduce_max_sync(unsigned mask, int value, EmulatorSite site = emulator_here()) {
    return (int)(unsigned)emulator_warp(WARP_REDUCE_MAX_SIGNED, mask, (unsigned)value, 0, 32, site);
}
static inline unsigned __reduce_and_sync(unsigned mask, unsigned value, EmulatorSite site = emulator_here()) {
    return (unsigned)emulator_warp(WARP_REDUCE_AND, mask, value, 0, 32, site);
}
static inline unsigned __reduce_or_sync(unsigned mask, unsigned value, EmulatorSite site = emulator_here()) {
    return (unsigned)emulator_warp(WARP_REDUCE_OR, mask, value, 0, 32, site);
}
static inline unsigned __reduce_xor_sync(unsigned mask, unsigned value, EmulatorSite site = emulator_here()) {
    return (unsigned)emulator_warp(WARP_REDUCE_XOR, mask, value, 0, 32, site);
}

#endif
