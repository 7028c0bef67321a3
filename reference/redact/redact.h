/* redact.h - shared by the files of the op `redact`. See docs/ops/redact.md. */
#pragma once

#include "op.h"

#include <stdint.h>

/* Index into the op's inputs and outputs. */
typedef enum RedactInput {
    REDACT_NAMES_OFFSETS,
    REDACT_NAMES_CHARS,
    REDACT_NAMES_VALIDITY,
    REDACT_VISIBILITIES_OFFSETS,
    REDACT_VISIBILITIES_CHARS,
    REDACT_VISIBILITIES_VALIDITY,
    REDACT_INPUT_COUNT
} RedactInput;

typedef enum RedactOutput { REDACT_OFFSETS, REDACT_CHARS, REDACT_VALIDITY, REDACT_OUTPUT_COUNT } RedactOutput;

/* Index into the op's bounds: each is an oracle. */
typedef enum RedactBound { REDACT_EXACT, REDACT_API, REDACT_BOUND_COUNT } RedactBound;

/* The choices of the parameter `nulls`, and what they say of each column. */
typedef enum RedactNulls { REDACT_NULLS_NONE, REDACT_NULLS_SOME, REDACT_NULLS_NAMES, REDACT_NULLS_VISIBILITIES } RedactNulls;

static inline bool redact_names_have_nulls(RedactNulls nulls) {
    return nulls == REDACT_NULLS_SOME || nulls == REDACT_NULLS_NAMES;
}

static inline bool redact_visibilities_have_nulls(RedactNulls nulls) {
    return nulls == REDACT_NULLS_SOME || nulls == REDACT_NULLS_VISIBILITIES;
}

/* What slice=head puts round the bytes of the rows: bytes that no row owns. Odd, so that no alignment survives. */
enum {
    REDACT_NAMES_BEFORE = 13,
    REDACT_NAMES_AFTER = 7,
    REDACT_VISIBILITIES_BEFORE = 5,
    REDACT_VISIBILITIES_AFTER = 3,
    REDACT_UNOWNED_BYTE = '#'
};

static inline size_t redact_validity_bytes(size_t rows) {
    return rows / 8 + (rows % 8 != 0);
}

static inline void redact_put_offset(Array *offsets, size_t i, size_t value) {
    if (offsets->dtype == DTYPE_I32)
        ((int32_t *)offsets->data)[i] = (int32_t)value;
    else
        ((int64_t *)offsets->data)[i] = (int64_t)value;
}

/* The character that starts with this byte, in bytes: 1 to 4. */
static inline size_t redact_width(unsigned char lead) {
    return lead >= 0xf8 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
}

/* STATUS_INVALID unless offsets of this dtype hold so many bytes. `what` names the array. */
Status redact_check_bytes(DType offsets, const char *what, size_t bytes);
/* Is this data that a user brought? */
bool redact_is_own(const Case *problem);

/* Bytes of the two columns and of what comes out under each oracle. */
typedef struct RedactSizes {
    size_t names, visibilities, redacted[REDACT_BOUND_COUNT];
} RedactSizes;

/* families.c */
extern const char *const REDACT_FAMILY_NAMES[]; /* NULL-terminated, the default first */
/* -1 if there is none of that name. */
int redact_family(const char *name);
/* Of the classes 0 .. rows - 1. */
RedactSizes redact_family_sizes(int family, RedactNulls nulls, size_t rows);
Status redact_generate(const Case *problem, int index, Array *in);

/* exact.c */
Status redact_exact(const Case *problem, const Array *in, int bound, Array *out);
/* Bytes of the output under an oracle. STATUS_INVALID names the first row whose offsets lie. */
Status redact_count(const Array *in, RedactBound bound, size_t *bytes);
/* Op.least_read: offsets, lengths and masks decide most rows; characters are read of visibilities that may be public, and of names
 * those that reach the output. */
void redact_least_read(const Case *problem, const Array *in, int bound, Reads *reads);
