/* row.h - one row of `redact` by the exact definition, written once for C and CUDA C.
 *
 * A redacted row is two stretches of the name with a space between them. redact_row() finds them; its size and its bytes follow, so
 * a pass that counts and a pass that writes cannot disagree. Null rows are the caller's business. */
#ifndef RUNGS_STRINGS_ROW_H
#define RUNGS_STRINGS_ROW_H

#include "common/strings/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* bytes[0, size) without an owner. */
typedef struct StringSpan {
    const unsigned char *bytes;
    size_t size;
} StringSpan;

typedef struct RedactedRow {
    StringSpan initial, rest; /* with ' ' between them */
    bool hidden;              /* or "X X" */
} RedactedRow;

#if defined(__CUDACC__) || defined(RUNGS_EMULATED)
enum { STRINGS_STEP = 8 /* bytes that are loaded before the first is looked at */ };

/* Index of the first space; size if there is none. Loads do not wait for each other: a thread alone with a long row would. */
static __device__ inline size_t string_find_space(StringSpan s) {
    size_t i = 0;
    for (; i + STRINGS_STEP <= s.size; i += STRINGS_STEP) {
        unsigned found = 0;
#pragma unroll
        for (int k = 0; k < STRINGS_STEP; k++) found |= (unsigned)(s.bytes[i + k] == ' ') << k;
        if (found) return i + (size_t)__ffs((int)found) - 1;
    }
    while (i < s.size && s.bytes[i] != ' ') i++;
    return i;
}

/* As memcpy: stores of 8 bytes as soon as `to` allows them. */
static __device__ inline unsigned char *string_copy(unsigned char *to, StringSpan s) {
    size_t i = 0;
    if (s.size >= 4 * STRINGS_STEP) {
        while ((uintptr_t)(to + i) % STRINGS_STEP) {
            to[i] = s.bytes[i];
            i++;
        }
        for (; i + STRINGS_STEP <= s.size; i += STRINGS_STEP) {
            unsigned long long word = 0;
#pragma unroll
            for (int k = 0; k < STRINGS_STEP; k++) word |= (unsigned long long)s.bytes[i + k] << 8 * k;
            *(unsigned long long *)(to + i) = word;
        }
    }
    for (; i < s.size; i++) to[i] = s.bytes[i];
    return to + s.size;
}
#define STRINGS_HERE static __device__ inline
#else
static inline size_t string_find_space(StringSpan s) {
    const unsigned char *found = s.size ? memchr(s.bytes, ' ', s.size) : NULL;
    return found ? (size_t)(found - s.bytes) : s.size;
}

static inline unsigned char *string_copy(unsigned char *to, StringSpan s) {
    if (s.size) memcpy(to, s.bytes, s.size);
    return to + s.size;
}
#define STRINGS_HERE static inline
#endif

STRINGS_HERE bool string_is_public(StringSpan s) {
    if (s.size != 6) return false;
    const unsigned char *b = s.bytes;
    return b[0] == 'p' && b[1] == 'u' && b[2] == 'b' && b[3] == 'l' && b[4] == 'i' && b[5] == 'c';
}

/* Both rows are valid. The name is read only if it is public. */
STRINGS_HERE RedactedRow redact_row(StringSpan name, StringSpan visibility) {
    RedactedRow row = {{name.bytes, 0}, name, !string_is_public(visibility)};
    if (row.hidden || name.size == 0) return row;
    const size_t space = string_find_space(name);
    const size_t last = space < name.size ? space + 1 : 0; /* where the last name begins; without a space it is the whole name */
    row.initial.bytes = name.bytes + last;
    row.initial.size = utf8_first(name.bytes + last, name.size - last);
    row.rest.size = space;
    return row;
}

enum { REDACTED_HIDDEN_BYTES = 3 /* "X X" */ };

STRINGS_HERE size_t redacted_size(const RedactedRow *row) {
    return row->hidden ? (size_t)REDACTED_HIDDEN_BYTES : row->initial.size + 1 + row->rest.size;
}

/* redacted_size() bytes. */
STRINGS_HERE void redacted_write(const RedactedRow *row, unsigned char *to) {
    if (row->hidden) {
        to[0] = to[2] = 'X';
        to[1] = ' ';
        return;
    }
    to = string_copy(to, row->initial);
    *to++ = ' ';
    string_copy(to, row->rest);
}

#endif
