/* What -fsanitize=thread makes of a kernel's accesses: calls of these. ThreadSanitizer's own runtime is not linked. */
#include "emulator/race.h"

#include <string.h>

extern const bool race_hooks_linked;
const bool race_hooks_linked = true;

static void step(const void *pc) {
    if (--emulator_countdown <= 0) schedule_preempt(pc);
}

#define HOOK(name, ...)                                                                                                            \
    void name(void *address) {                                                                                                     \
        const void *pc = __builtin_return_address(0);                                                                              \
        step(pc);                                                                                                                  \
        __VA_ARGS__;                                                                                                               \
    }

#define HOOKS(bytes)                                                                                                               \
    HOOK(__tsan_read##bytes, race_plain_access(address, bytes, false, pc))                                                         \
    HOOK(__tsan_write##bytes, race_plain_access(address, bytes, true, pc))                                                         \
    HOOK(__tsan_read_write##bytes, race_plain_access(address, bytes, false, pc); race_plain_access(address, bytes, true, pc))      \
    HOOK(__tsan_unaligned_read##bytes, race_plain_access(address, bytes, false, pc))                                               \
    HOOK(__tsan_unaligned_write##bytes, race_plain_access(address, bytes, true, pc))                                               \
    HOOK(__tsan_volatile_read##bytes, race_volatile_access(address, bytes, false, pc))                                             \
    HOOK(__tsan_volatile_write##bytes, race_volatile_access(address, bytes, true, pc))                                             \
    HOOK(__tsan_unaligned_volatile_read##bytes, race_volatile_access(address, bytes, false, pc))                                   \
    HOOK(__tsan_unaligned_volatile_write##bytes, race_volatile_access(address, bytes, true, pc))
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)

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
