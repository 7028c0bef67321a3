/* _row.h - one row of `redact` by the exact definition, for C and CUDA C.
 *
 * A redacted public name is two parts of the name with a space between them: the first character of what follows the first space,
 * and what precedes that space. redacted_public() finds the parts once the space is known. Size and bytes follow from the parts, so
 * a pass that counts and a pass that writes cannot disagree. The variant searches for the space and copies the bytes;
 * the caller handles null rows. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#if defined(__CUDACC__) || defined(RUNGS_EMULATED)
#include "kernel.h"
#define ROW_FUNCTION static __device__ inline
#else
#define ROW_FUNCTION static inline
#endif

/* Borrowed bytes: 16 bytes, the size of libcudf's string view. */
typedef struct StringSpan {
    const unsigned char *bytes;
    size_t size;
} StringSpan;

typedef struct RedactedRow {
    StringSpan initial, rest; /* the row is initial, ' ', rest */
    bool hidden;              /* the row is "X X" */
} RedactedRow;

enum { REDACTED_HIDDEN_BYTES = 3, REDACTED_GROWTH_MAX = 5 /* a row has at most so many bytes more than its name: 4 and ' ' */ };

/* Bytes of the first character: 0 of no bytes, else by the lead byte (0xxxxxxx 1, 110xxxxx 2, 1110xxxx 3, 11110xxx 4, any other 1),
 * cut at the end of the bytes. Nothing is validated. */
ROW_FUNCTION size_t utf8_first(const unsigned char *bytes, size_t size) {
    if (size == 0) return 0;
    const unsigned char lead = bytes[0];
    const size_t width = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf8 ? 4 : 1;
    return width < size ? width : size;
}

ROW_FUNCTION bool string_is_public(StringSpan s) {
    if (s.size != 6) return false;
    const unsigned char *b = s.bytes;
    return b[0] == 'p' && b[1] == 'u' && b[2] == 'b' && b[3] == 'l' && b[4] == 'i' && b[5] == 'c';
}

/* space: index of the first space, name.size if there is none; then the last name is the whole name. */
ROW_FUNCTION RedactedRow redacted_public(StringSpan name, size_t space) {
    const size_t last = space < name.size ? space + 1 : 0;
    RedactedRow row = {{name.bytes + last, utf8_first(name.bytes + last, name.size - last)}, {name.bytes, space}, false};
    return row;
}

ROW_FUNCTION RedactedRow redacted_hidden(StringSpan name) {
    RedactedRow row = {{name.bytes, 0}, {name.bytes, 0}, true};
    return row;
}

ROW_FUNCTION size_t redacted_size(const RedactedRow *row) {
    return row->hidden ? (size_t)REDACTED_HIDDEN_BYTES : row->initial.size + 1 + row->rest.size;
}
