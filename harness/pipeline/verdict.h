/* verdict.h - one output of a run against the reference of its data: by error bounds or to the byte, as the op defines it. */
#ifndef RUNGS_PIPELINE_VERDICT_H
#define RUNGS_PIPELINE_VERDICT_H

#include "pipeline/instance.h"

#include <jansson.h>

typedef struct Judgement {
    bool pass;        /* starts false; everything is written, comparable and within tolerance */
    bool judgeable;   /* starts false; if not, the tolerance lets 0 pass for most elements, and `pass` verifies nothing */
    bool undecided;   /* not passed, but a run from another pattern of base/poison.h might */
    double vacuous;   /* share of the elements that cannot be judged: 0 would pass there (verify/norms.h); exact outputs: 0 */
    char words[1024]; /* what is wrong and where; how good it is if it passed, or why it is not judgeable */
    json_t *errors;   /* the row's errors of this output (docs/RESULTS.md); the caller's to release */
} Judgement;

/* Judges instance->given[index]. Computes the reference of the set at its first use. */
Status judge_output(Instance *instance, DataSet set, int bound, int index, Judgement *out);

#endif
