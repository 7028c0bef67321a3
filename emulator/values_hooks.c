/* What -fsanitize=kernel-memory makes of a kernel's values: calls of these. MemorySanitizer's own runtime is not linked. */
#include "emulator/values.h"

#include <math.h>
#include <string.h>

const bool values_hooks_linked = true;

void *__msan_get_context_state(void) {
    return values_passed();
}

#define HOOKS(size)                                                                                                                \
    Unset __msan_metadata_ptr_for_load_##size(const void *address) {                                                               \
        return values_at(address, false);                                                                                          \
    }                                                                                                                              \
    Unset __msan_metadata_ptr_for_store_##size(const void *address) {                                                              \
        return values_at(address, true);                                                                                           \
    }
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)

Unset __msan_metadata_ptr_for_load_n(const void *address, size_t bytes) {
    (void)bytes;
    return values_at(address, false);
}
Unset __msan_metadata_ptr_for_store_n(const void *address, size_t bytes) {
    (void)bytes;
    return values_at(address, true);
}
uint32_t __msan_chain_origin(uint32_t origin) {
    return values_stored(origin, __builtin_return_address(0));
}
void __msan_warning(uint32_t origin) {
    values_used(origin, __builtin_return_address(0));
}

/* name: "----variable@function". */
void __msan_poison_alloca(const void *address, size_t bytes, const char *name) {
    values_unset_local(address, bytes, name + strspn(name, "-"));
}
void __msan_unpoison_alloca(const void *address, size_t bytes) {
    values_set(address, bytes);
}
void __msan_instrument_asm_store(const void *address, size_t bytes) {
    values_set(address, bytes);
}

#define HOOK_COPY(function)                                                                                                        \
    void *__msan_##function(void *to, const void *from, size_t bytes) {                                                            \
        values_copy(to, from, bytes);                                                                                              \
        return function(to, from, bytes);                                                                                          \
    }
HOOK_COPY(memcpy)
HOOK_COPY(memmove)
void *__msan_memset(void *to, int byte, size_t bytes) {
    values_set(to, bytes);
    return memset(to, byte, bytes);
}

/* Functions of libm that write memory; the build renames them. */
#define HOOK_OUT(T, function, Out)                                                                                                 \
    T emulator_##function(T x, Out *out) {                                                                                         \
        values_set(out, sizeof *out);                                                                                              \
        return function(x, out);                                                                                                   \
    }
HOOK_OUT(double, modf, double)
HOOK_OUT(float, modff, float)
HOOK_OUT(double, frexp, int)
HOOK_OUT(float, frexpf, int)
#define HOOK_SINCOS(function, T)                                                                                                   \
    void emulator_##function(T x, T *sine, T *cosine) {                                                                            \
        values_set(sine, sizeof *sine);                                                                                            \
        values_set(cosine, sizeof *cosine);                                                                                        \
        function(x, sine, cosine);                                                                                                 \
    }
HOOK_SINCOS(sincos, double)
HOOK_SINCOS(sincosf, float)
