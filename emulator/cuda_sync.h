/* cuda_sync.h - barriers, fences, warp operations, clocks, atomics. */
#pragma once

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
EMULATOR_FUNCTION(unsigned, __activemask, (), emulator_active_mask())

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

#define EMULATOR_SHUFFLE_AS(T, name, op, Operand)                                                                                  \
    static inline T name(unsigned mask, T value, Operand operand, int width = 32, EmulatorSite site = emulator_here()) {           \
        return emulator_value<T>(emulator_warp(op, mask, emulator_bits(value), (unsigned)operand, (unsigned)width, site));         \
    }
#define EMULATOR_SHUFFLE(T)                                                                                                        \
    EMULATOR_SHUFFLE_AS(T, __shfl_sync, WARP_SHUFFLE, int)                                                                         \
    EMULATOR_SHUFFLE_AS(T, __shfl_up_sync, WARP_SHUFFLE_UP, unsigned)                                                              \
    EMULATOR_SHUFFLE_AS(T, __shfl_down_sync, WARP_SHUFFLE_DOWN, unsigned)                                                          \
    EMULATOR_SHUFFLE_AS(T, __shfl_xor_sync, WARP_SHUFFLE_XOR, int)
EMULATOR_SHUFFLE(int)
EMULATOR_SHUFFLE(unsigned)
EMULATOR_SHUFFLE(long)
EMULATOR_SHUFFLE(unsigned long)
EMULATOR_SHUFFLE(long long)
EMULATOR_SHUFFLE(unsigned long long)
EMULATOR_SHUFFLE(float)
EMULATOR_SHUFFLE(double)
#undef EMULATOR_SHUFFLE
#undef EMULATOR_SHUFFLE_AS

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

#define EMULATOR_REDUCE(T, name, op)                                                                                               \
    static inline T name(unsigned mask, T value, EmulatorSite site = emulator_here()) {                                            \
        return (T)(unsigned)emulator_warp(op, mask, (unsigned)value, 0, 32, site);                                                 \
    }
EMULATOR_REDUCE(unsigned, __reduce_add_sync, WARP_REDUCE_ADD)
EMULATOR_REDUCE(int, __reduce_add_sync, WARP_REDUCE_ADD)
EMULATOR_REDUCE(unsigned, __reduce_min_sync, WARP_REDUCE_MIN)
EMULATOR_REDUCE(int, __reduce_min_sync, WARP_REDUCE_MIN_SIGNED)
EMULATOR_REDUCE(unsigned, __reduce_max_sync, WARP_REDUCE_MAX)
EMULATOR_REDUCE(int, __reduce_max_sync, WARP_REDUCE_MAX_SIGNED)
EMULATOR_REDUCE(unsigned, __reduce_and_sync, WARP_REDUCE_AND)
EMULATOR_REDUCE(unsigned, __reduce_or_sync, WARP_REDUCE_OR)
EMULATOR_REDUCE(unsigned, __reduce_xor_sync, WARP_REDUCE_XOR)
#undef EMULATOR_REDUCE

/* The atomic functions, for the types that CUDA has them for. Each announces itself to the engine, which may run other threads
 * first, and then is a plain operation: neither instrumentation nor preemption inside. */
#define EMULATOR_INDIVISIBLE static inline __attribute__((noinline, no_sanitize("thread", "coverage", "undefined")))

#define EMULATOR_ATOMIC_AS(name, T, access, scope, result)                                                                         \
    EMULATOR_INDIVISIBLE T name(T *address, T value, EmulatorSite site = emulator_here()) {                                        \
        emulator_atomic(address, sizeof(T), access, scope, site);                                                                  \
        const T old = *address;                                                                                                    \
        *address = (result);                                                                                                       \
        return old;                                                                                                                \
    }
/* Scopes matter to the race detector alone: one operating-system thread runs all blocks. */
#define EMULATOR_ATOMIC_OF(name, T, access, result)                                                                                \
    EMULATOR_ATOMIC_AS(name, T, access, SCOPE_DEVICE, result)                                                                      \
    EMULATOR_ATOMIC_AS(name##_block, T, access, SCOPE_BLOCK, result)                                                               \
    EMULATOR_ATOMIC_AS(name##_system, T, access, SCOPE_DEVICE, result)
#define EMULATOR_ATOMIC(name, T, result) EMULATOR_ATOMIC_OF(name, T, ACCESS_UPDATE, result)

/* Signed sums wrap around on the device. */
EMULATOR_ATOMIC(atomicAdd, int, (int)((unsigned)old + (unsigned)value))
EMULATOR_ATOMIC(atomicAdd, unsigned, old + value)
EMULATOR_ATOMIC(atomicAdd, unsigned long long, old + value)
EMULATOR_ATOMIC(atomicAdd, float, old + value)
EMULATOR_ATOMIC(atomicAdd, double, old + value)
EMULATOR_ATOMIC(atomicSub, int, (int)((unsigned)old - (unsigned)value))
EMULATOR_ATOMIC(atomicSub, unsigned, old - value)
EMULATOR_ATOMIC(atomicInc, unsigned, old >= value ? 0 : old + 1)
EMULATOR_ATOMIC(atomicDec, unsigned, old == 0 || old > value ? value : old - 1)
EMULATOR_ATOMIC_OF(atomicExch, int, ACCESS_EXCHANGE, value)
EMULATOR_ATOMIC_OF(atomicExch, unsigned, ACCESS_EXCHANGE, value)
EMULATOR_ATOMIC_OF(atomicExch, unsigned long long, ACCESS_EXCHANGE, value)
EMULATOR_ATOMIC_OF(atomicExch, float, ACCESS_EXCHANGE, value)

#define EMULATOR_ATOMIC_ORDERED(T)                                                                                                 \
    EMULATOR_ATOMIC(atomicMin, T, value < old ? value : old)                                                                       \
    EMULATOR_ATOMIC(atomicMax, T, value > old ? value : old)                                                                       \
    EMULATOR_ATOMIC(atomicAnd, T, (T)(old & value))                                                                                \
    EMULATOR_ATOMIC(atomicOr, T, (T)(old | value))                                                                                 \
    EMULATOR_ATOMIC(atomicXor, T, (T)(old ^ value))
EMULATOR_ATOMIC_ORDERED(int)
EMULATOR_ATOMIC_ORDERED(unsigned)
EMULATOR_ATOMIC_ORDERED(long long)
EMULATOR_ATOMIC_ORDERED(unsigned long long)

#define EMULATOR_CAS_AS(name, T, scope)                                                                                            \
    EMULATOR_INDIVISIBLE T name(T *address, T expected, T value, EmulatorSite site = emulator_here()) {                            \
        emulator_atomic(address, sizeof(T), ACCESS_UPDATE, scope, site);                                                           \
        const T old = *address;                                                                                                    \
        if (old == expected) *address = value;                                                                                     \
        return old;                                                                                                                \
    }
#define EMULATOR_CAS(T)                                                                                                            \
    EMULATOR_CAS_AS(atomicCAS, T, SCOPE_DEVICE)                                                                                    \
    EMULATOR_CAS_AS(atomicCAS_block, T, SCOPE_BLOCK)                                                                               \
    EMULATOR_CAS_AS(atomicCAS_system, T, SCOPE_DEVICE)
EMULATOR_CAS(int)
EMULATOR_CAS(unsigned)
EMULATOR_CAS(unsigned short)
EMULATOR_CAS(unsigned long long)

#undef EMULATOR_ATOMIC_AS
#undef EMULATOR_ATOMIC_OF
#undef EMULATOR_ATOMIC
#undef EMULATOR_ATOMIC_ORDERED
#undef EMULATOR_CAS_AS
#undef EMULATOR_CAS
