/* families.h - the input families of `redact`: what the rows of a column look like, whatever the seed.
 *
 * Row i of a case is of class (i + shift) mod rows, where the seed chooses the shift; a class fixes every length, the seed and the
 * row fix the letters. Classes repeat with a prime period. So the bytes of a column are known from the case alone, and the seed
 * changes every offset and every letter, but no total. */
#ifndef RUNGS_REDACT_FAMILIES_H
#define RUNGS_REDACT_FAMILIES_H

#include "redact.h"

enum { REDACT_PERIOD = 65521, REDACT_MAX_PIECES = 24 };

extern const char *const REDACT_FAMILY_NAMES[]; /* NULL-terminated, the default first */

typedef enum RedactPieceKind {
    REDACT_LETTERS,   /* `bytes` ASCII letters, the first a capital */
    REDACT_CHARACTER, /* one UTF-8 character of `bytes` bytes */
    REDACT_BYTE       /* this very byte */
} RedactPieceKind;

typedef struct RedactPiece {
    RedactPieceKind kind;
    unsigned char byte;
    size_t bytes;
} RedactPiece;

/* A row without its letters. A null row may own bytes. */
typedef struct RedactClass {
    RedactPiece piece[REDACT_MAX_PIECES];
    int pieces;
    size_t name_bytes, visibility_bytes;
    const char *visibility;
    bool name_null, visibility_null;
} RedactClass;

/* Bytes of the two columns and of what comes out under each oracle. */
typedef struct RedactSizes {
    size_t names, visibilities, redacted[REDACT_BOUND_COUNT];
} RedactSizes;

/* -1 if there is none of that name. */
int redact_family(const char *name);
void redact_class(int family, RedactNulls nulls, size_t k, RedactClass *out);
/* As far as the visibility goes: without the name's pieces and bytes. */
void redact_class_visibility(int family, RedactNulls nulls, size_t k, RedactClass *out);
void redact_class_nulls(RedactNulls nulls, size_t k, bool *name_null, bool *visibility_null);
RedactSizes redact_class_sizes(const RedactClass *class);
/* Of the classes 0 .. rows - 1. */
RedactSizes redact_family_sizes(int family, RedactNulls nulls, size_t rows);

#endif
