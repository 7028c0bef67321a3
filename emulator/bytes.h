/* bytes.h - copying and filling that no sanitizer sees: the engine moves memory that kernels may not touch (red zones, guards). */
#ifndef RUNGS_EMULATOR_BYTES_H
#define RUNGS_EMULATOR_BYTES_H

#include <stddef.h>

#if defined(__x86_64__)
static inline void bytes_copy(void *to, const void *from, size_t bytes) {
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

static inline void bytes_fill(void *to, unsigned char byte, size_t bytes) {
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(byte) : "memory");
}
#else
/* volatile: a plain loop would become a call of memcpy, which the sanitizers intercept. */
static inline void bytes_copy(void *to, const void *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) ((volatile unsigned char *)to)[i] = ((const volatile unsigned char *)from)[i];
}

static inline void bytes_fill(void *to, unsigned char byte, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) ((volatile unsigned char *)to)[i] = byte;
}
#endif

#endif
