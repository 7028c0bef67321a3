/* cuda_atomic.h - the atomic functions of CUDA C, for the types that CUDA has them for. Each announces itself to the engine, which
 * may run other threads first, and then is a plain operation: neither instrumentation nor preemption inside. */
#ifndef RUNGS_EMULATOR_CUDA_ATOMIC_H
#define RUNGS_EMULATOR_CUDA_ATOMIC_H

#define EMULATOR_INDIVISIBLE static inline __attribute__((noinline, no_sanitize("thread", "coverage", "undefined")))

#define EMULATOR_ATOMIC_AS(name, T, result)                                                                                        \
    EMULATOR_INDIVISIBLE T name(T *address, T value, EmulatorSite site = emulator_here()) {                                        \
        emulator_atomic(address, sizeof(T), ACCESS_UPDATE, site);                                                                  \
        const T old = *address;                                                                                                    \
        *address = (result);                                                                                                       \
        return old;                                                                                                                \
    }
/* Wider and narrower scopes are carried out alike: one operating-system thread runs all blocks. */
#define EMULATOR_ATOMIC(name, T, result)                                                                                           \
    EMULATOR_ATOMIC_AS(name, T, result)                                                                                            \
    EMULATOR_ATOMIC_AS(name##_block, T, result)                                                                                    \
    EMULATOR_ATOMIC_AS(name##_system, T, result)

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
EMULATOR_ATOMIC(atomicExch, int, value)
EMULATOR_ATOMIC(atomicExch, unsigned, value)
EMULATOR_ATOMIC(atomicExch, unsigned long long, value)
EMULATOR_ATOMIC(atomicExch, float, value)

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

#define EMULATOR_CAS_AS(name, T)                                                                                                   \
    EMULATOR_INDIVISIBLE T name(T *address, T expected, T value, EmulatorSite site = emulator_here()) {                            \
        emulator_atomic(address, sizeof(T), ACCESS_UPDATE, site);                                                                  \
        const T old = *address;                                                                                                    \
        if (old == expected) *address = value;                                                                                     \
        return old;                                                                                                                \
    }
#define EMULATOR_CAS(T)                                                                                                            \
    EMULATOR_CAS_AS(atomicCAS, T)                                                                                                  \
    EMULATOR_CAS_AS(atomicCAS_block, T)                                                                                            \
    EMULATOR_CAS_AS(atomicCAS_system, T)
EMULATOR_CAS(int)
EMULATOR_CAS(unsigned)
EMULATOR_CAS(unsigned short)
EMULATOR_CAS(unsigned long long)

#undef EMULATOR_ATOMIC_AS
#undef EMULATOR_ATOMIC
#undef EMULATOR_ATOMIC_ORDERED
#undef EMULATOR_CAS_AS
#undef EMULATOR_CAS

#endif
