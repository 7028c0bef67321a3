/* joined.h - variants that were a file of their own and are one of another's today, by a tunable (joined_variants.inc): rows,
 * scenarios and users may name them as before. */
#pragma once

#include <stddef.h>

typedef struct JoinedVariant {
    const char *before, *today; /* ids */
    const char *tunable, *value;
} JoinedVariant;

/* The forms of a variant of this id, by k from 0 on; NULL behind the last, and of a variant with which none was joined. */
const JoinedVariant *joined_form(const char *today, int k);

/* What became of a variant of this id or, without the op, of this name; NULL: it was not joined, or has kept its id. */
const JoinedVariant *joined_find(const char *name);

/* A variant with its tunables as rows say it ("moments/cuda_two_pass_wide memory=cuda") as today's rows do. Returns text. */
const char *joined_spec(const char *spec, char *text, size_t size);
