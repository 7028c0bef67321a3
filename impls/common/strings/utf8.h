/* utf8.h - UTF-8 as far as string functions need it: where a character ends. For C and CUDA C.
 *
 * The lead byte alone decides; nothing is validated, so any bytes are taken, and none beyond the row's end is looked at. */
#ifndef RUNGS_STRINGS_UTF8_H
#define RUNGS_STRINGS_UTF8_H

#include <stddef.h>

/* Functions for both sides of the machine; `static inline` in C. */
#if defined(__CUDACC__) || defined(RUNGS_EMULATED)
#include "kernel.h"
#define STRINGS_BOTH static __host__ __device__ inline
#else
#define STRINGS_BOTH static inline
#endif

/* Bytes of the character that begins with this byte: 0xxxxxxx 1, 110xxxxx 2, 1110xxxx 3, 11110xxx 4; anything else, such as a
 * continuation byte, stands for itself. */
STRINGS_BOTH size_t utf8_width(unsigned char lead) {
    return lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf8 ? 4 : 1;
}

/* Bytes of the first character of `size` bytes: 0 if there are none, cut where they end. */
STRINGS_BOTH size_t utf8_first(const unsigned char *bytes, size_t size) {
    if (size == 0) return 0;
    const size_t width = utf8_width(bytes[0]);
    return width < size ? width : size;
}

#endif
