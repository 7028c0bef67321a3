/* definitions.h - what the tolerances of a case reject: wrong definitions of its op (op.h), and a result that was kept from other
 * data. */
#pragma once

#include "op.h"

/* Bit per definition of Op.wrong. */
typedef struct Definitions {
    unsigned rejected; /* a value by it, rounded to the dtype, is beyond the tolerance of an element */
    unsigned applies;  /* it is another definition for an element that was looked at */
} Definitions;

/* Looks at every element of an output of up to 1024, of others at the first and last 32 and at up to 256 between, fewer where an
 * element takes many operations; for each definition until one element rejects it. */
Status definitions_rejected(const Op *op, const Case *problem, const Array *in, const Array *out, const Reference *right,
                            int output, Definitions *found);

/* Of the elements that were looked at: those that depend on the data, and those of them in which the kept result is wrong. */
typedef struct Changes {
    size_t wrong, of;
} Changes;

/* Looks at up to 65536 elements, at equal distances. Both functions add to *changes. */
void changes_bounded(const Op *op, const Case *problem, int output, const Reference *kept, const Reference *now, size_t count,
                     Changes *changes);
/* For outputs that must be right to the byte. */
void changes_exact(const Array *kept, const Array *now, Changes *changes);
