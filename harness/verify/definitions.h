/* definitions.h - which wrong definitions of an op (op.h) the tolerances of a case reject. */
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
