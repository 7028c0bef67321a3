/* What -fsanitize=thread makes of a kernel's accesses: calls of these. ThreadSanitizer's own runtime is not linked. */
#include "emulator/race.h"

#include <string.h>

extern const bool race_hooks_linked;
const bool race_hooks_linked = true;

static void step(const void *pc) {
    if (--emulator_countdown <= 0) schedule_preempt(pc);
}

/* Most accesses are of local variables: they cost as little as may be. */
#define HOOK(name, ...)                                                                                                            \
    static __attribute__((noinline)) void name##_late(void *address, const void *pc) {                                             \
        schedule_preempt(pc);                                                                                                      \
        __VA_ARGS__;                                                                                                               \
    }                                                                                                                              \
    void name(void *address) {                                                                                                     \
        const void *pc = __builtin_return_address(0);                                                                              \
        if (--emulator_countdown <= 0)                                                                                             \
            name##_late(address, pc);                                                                                              \
        else if (!race_is_local(address)) {                                                                                        \
            __VA_ARGS__;                                                                                                           \
        }                                                                                                                          \
    }

#define HOOKS(bytes)                                                                                                               \
    HOOK(__tsan_read##bytes, race_read##bytes(address, pc))                                                                        \
    HOOK(__tsan_write##bytes, race_write##bytes(address, pc))                                                                      \
    HOOK(__tsan_read_write##bytes, race_read##bytes(address, pc); race_write##bytes(address, pc))                                  \
    HOOK(__tsan_unaligned_read##bytes, race_read##bytes(address, pc))                                                              \
    HOOK(__tsan_unaligned_write##bytes, race_write##bytes(address, pc))                                                            \
    HOOK(__tsan_volatile_read##bytes, race_volatile_access(address, bytes, false, pc))                                             \
    HOOK(__tsan_volatile_write##bytes, race_volatile_access(address, bytes, true, pc))                                             \
    HOOK(__tsan_unaligned_volatile_read##bytes, race_volatile_access(address, bytes, false, pc))                                   \
    HOOK(__tsan_unaligned_volatile_write##bytes, race_volatile_access(address, bytes, true, pc))
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)

/* C++'s atomics, which name no scope: the device's. The guards of static variables are such too. */
static void atomic_begin(const volatile void *address, size_t bytes, EmulatorAccess access, int order, const void *pc) {
    const bool acquires = order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE, releases = order >= __ATOMIC_RELEASE;
    const EmulatorOrdering ordering = (EmulatorOrdering)((acquires ? ACQUIRES : 0) | (releases ? RELEASES : 0));
    step(pc);
    race_synchronising_access((const void *)address, bytes, access, (RaceOrder){SCOPE_DEVICE, ordering}, pc, (EmulatorSite){0});
}

#define HOOK_ATOMIC(name, T, parameters, access, operation)                                                                        \
    T name parameters {                                                                                                            \
        atomic_begin(address, sizeof *address, access, order, __builtin_return_address(0));                                        \
        return operation;                                                                                                          \
    }
#define HOOK_UPDATE(bits, T, function)                                                                                             \
    HOOK_ATOMIC(__tsan_atomic##bits##_##function, T, (volatile T * address, T value, int order), ACCESS_UPDATE,                    \
                __atomic_##function(address, value, __ATOMIC_SEQ_CST))
#define HOOKS_ATOMIC(bits, T)                                                                                                      \
    HOOK_ATOMIC(__tsan_atomic##bits##_load, T, (const volatile T *address, int order), ACCESS_LOAD,                                \
                __atomic_load_n(address, __ATOMIC_SEQ_CST))                                                                        \
    HOOK_ATOMIC(__tsan_atomic##bits##_exchange, T, (volatile T * address, T value, int order), ACCESS_EXCHANGE,                    \
                __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST))                                                             \
    HOOK_UPDATE(bits, T, fetch_add)                                                                                                \
    HOOK_UPDATE(bits, T, fetch_sub)                                                                                                \
    HOOK_UPDATE(bits, T, fetch_and)                                                                                                \
    HOOK_UPDATE(bits, T, fetch_or)                                                                                                 \
    HOOK_UPDATE(bits, T, fetch_xor)                                                                                                \
    HOOK_UPDATE(bits, T, fetch_nand)                                                                                               \
    void __tsan_atomic##bits##_store(volatile T *address, T value, int order) {                                                    \
        atomic_begin(address, sizeof *address, ACCESS_STORE, order, __builtin_return_address(0));                                  \
        __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                                                                        \
    }                                                                                                                              \
    T __tsan_atomic##bits##_compare_exchange_val(volatile T *address, T expected, T value, int order, int order_failed) {          \
        (void)order_failed;                                                                                                        \
        atomic_begin(address, sizeof *address, ACCESS_UPDATE, order, __builtin_return_address(0));                                 \
        __atomic_compare_exchange_n(address, &expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                             \
        return expected;                                                                                                           \
    }
HOOKS_ATOMIC(8, uint8_t)
HOOKS_ATOMIC(16, uint16_t)
HOOKS_ATOMIC(32, uint32_t)
HOOKS_ATOMIC(64, uint64_t)

void __tsan_atomic_thread_fence(int order) {
    if (order != __ATOMIC_RELAXED) emulator_fence(SCOPE_DEVICE);
}
void __tsan_atomic_signal_fence(int order) {
    (void)order;
}

/* Part of the interface, of no interest here. */
void __tsan_init(void) {}
void __tsan_vptr_update(void **address, void *value) {
    (void)address;
    (void)value;
}
void __tsan_vptr_read(void **address) {
    (void)address;
}

/* Copies of structures, and calls of the string functions. Clang calls these from version 15 on; in what an older one compiled the
 * build renames memcpy and the like. */
#define HOOK_COPY(function)                                                                                                        \
    void *__tsan_##function(void *to, const void *from, size_t bytes) {                                                            \
        const void *pc = __builtin_return_address(0);                                                                              \
        race_plain_access(from, bytes, false, pc);                                                                                 \
        race_plain_access(to, bytes, true, pc);                                                                                    \
        return function(to, from, bytes);                                                                                          \
    }
HOOK_COPY(memcpy)
HOOK_COPY(memmove)
void *__tsan_memset(void *to, int byte, size_t bytes) {
    race_plain_access(to, bytes, true, __builtin_return_address(0));
    return memset(to, byte, bytes);
}
