/* accumulate.h - cases whose sums are in a wider type than their arrays: of f16 and bf16 in f32, or as `accumulate` says. They are
 * rounded to the type of the output at the end. The op sees the case in the type of sums and its inputs as they were rounded, which
 * that type holds; from its bound follows what may be stored. Sums in f16 or bf16 themselves are seen in f32; the bound is theirs.
 */
#pragma once

#include "op.h"

/* The case as the op sees it. */
typedef struct Accumulated {
    Case problem;
    Array in[OP_MAX_ARRAYS]; /* copies of narrower ones; the others are the case's own */
    int copies;
    void *copy[OP_MAX_ARRAYS];
} Accumulated;

/* Of another type: the case itself. */
Status accumulated_open(const Op *op, const Case *problem, const Array *in, Accumulated *out);
void accumulated_close(Accumulated *self);
/* Op.reference. out: what the reference is of; narrower outputs get the tolerance that admits every number of the type to
 * which a sum within the op's bound is rounded. A sum that overflows is an infinity; where it may or may not, the largest number
 * and an infinity pass (verify/norms.h). */
Status accumulated_reference(const Op *op, const Case *problem, const Array *in, const Array *out, int bound, Reference *reference);
/* Its second half: of values and tolerances of the case in the type of sums. */
void accumulated_round(const Op *op, const Case *problem, const Array *out, Reference *reference);
