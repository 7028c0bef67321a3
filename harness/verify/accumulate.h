/* accumulate.h - cases of f16 and bf16: what an op adds up is added up in f32 and rounded to the type of the output at the end. The
 * op sees the case in f32 and its inputs as they were rounded, which f32 holds; from its bound for f32 follows what may be stored.
 */
#ifndef RUNGS_VERIFY_ACCUMULATE_H
#define RUNGS_VERIFY_ACCUMULATE_H

#include "op.h"

/* The case as the op sees it. */
typedef struct Accumulated {
    Case problem;
    Array in[OP_MAX_ARRAYS]; /* copies of those of f16 and bf16; the others are the case's own */
    int copies;
    void *copy[OP_MAX_ARRAYS];
} Accumulated;

/* Of another type: the case itself. */
Status accumulated_open(const Op *op, const Case *problem, const Array *in, Accumulated *out);
void accumulated_close(Accumulated *self);
/* Op.reference. out: what the reference is of; outputs of f16 and bf16 get the tolerance that admits every number of the type to
 * which a sum within the op's bound is rounded. A sum that overflows is an infinity; where it may or may not, the largest number
 * and an infinity pass (verify/norms.h). */
Status accumulated_reference(const Op *op, const Case *problem, const Array *in, const Array *out, int bound, Reference *reference);
/* Its second half: of values and tolerances of the case in f32. */
void accumulated_round(const Op *op, const Array *out, Reference *reference);

#endif
