/* values.h - which values were never set. Active in programs whose kernels are compiled with -fsanitize=kernel-memory: every bit
 * has a shadow, which says that it is unset, and follows it through registers, memory and shuffles; a branch or an address that
 * depends on unset bits is reported, and so is what a kernel stores of them if it is copied to the host. MemorySanitizer's runtime
 * is not linked.
 */
#pragma once

#include "emulator/fiber.h"

/* Are the kernels of this program instrumented? Defined by values_hooks.c, which is linked exactly then. */
extern const bool values_hooks_linked __attribute__((weak));
static inline bool values_enabled(void) {
    return &values_hooks_linked != NULL;
}
/* Of these bytes: nobody wrote them; somebody did; they are those of `from`; nobody will touch them again. */
void values_unset(const void *address, size_t bytes);
void values_set(const void *address, size_t bytes);
void values_copy(const void *to, const void *from, size_t bytes);
void values_release(const void *address, size_t bytes);
void values_copied_to_host(const void *from, size_t bytes);
void values_unset_local(const void *address, size_t bytes, const char *name);
/* Fresh shared memory for a block. */
void values_block_start(const Block *block);
/* Its first function has its arguments. */
void values_thread_start(void);
/* The unset bits of an argument of the engine's function that the kernel has called; and those of its result. */
UnsetBits values_argument(int index);
void values_result(UnsetBits unset);

/* What the running function is told of its arguments, in clang's layout. */
void *values_passed(void);

/* Where the shadow lies, and for each four bytes who is to blame. Bytes that have none are set. */
typedef struct Unset {
    unsigned char *bits;
    uint32_t *origins;
} Unset;
Unset values_at(const void *address, bool write);
/* An unset value that is stored: by code at pc. */
uint32_t values_stored(uint32_t origin, const void *pc);
/* What the thread does depends on an unset value. */
void values_used(uint32_t origin, const void *pc);
