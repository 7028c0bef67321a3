/* evaluate.h - one variant on one case: refuse, make the instance, start a worker, verify, time, verify on new data, end the case.
 * Once the worker has ended: the limit of the row, and its counts. */
#ifndef RUNGS_PIPELINE_EVALUATE_H
#define RUNGS_PIPELINE_EVALUATE_H

#include "pipeline/session.h"
#include "record/row.h"

typedef struct Counter Counter;

/* The worker of a variant, which may serve several cases, one after the other. {0}: none runs. */
typedef struct Host {
    Child *child;
    size_t served; /* cases that were opened in it */
    bool reusable; /* the last case went well and left nothing: another may follow. Otherwise the worker must be ended */
} Host;

typedef struct Evaluated {
    int bound;    /* index into the op's bounds */
    bool refused; /* skipped by what is known of the variant and the machine alone */
    bool served;  /* by a worker */
    bool pending; /* all is well so far: the verdict waits for the end of the worker, then evaluate_finish() */
} Evaluated;

/* Fills the row's bound, errors, timing, ..., and its verdict and reason unless it is pending. Whatever the variant does becomes
 * its row; a Status other than STATUS_OK means that rungs itself cannot go on. *instance is created where it is empty ({0}) and
 * needed; the next variants of the case get it again. */
Status evaluate(Instance *instance, const Session *session, Host *host, Row *row, Evaluated *evaluated);
/* The verdict of a pending row whose worker ended well: pass, unless it is faster than the device. The caller stops the
 * counter's worker. */
Status evaluate_finish(Instance *instance, const Session *session, int bound, Counter *counter, Row *row);

/* One output of a run against the reference of its data: by error bounds or to the byte, as the op defines it. */
typedef struct Judgement {
    bool pass;        /* starts false; everything is written, comparable and within tolerance */
    bool judgeable;   /* starts false; if not, the tolerance lets 0 pass for most elements, and `pass` verifies nothing */
    bool undecided;   /* not passed, but a run from another pattern of base/poison.h might */
    double vacuous;   /* share of the elements that cannot be judged: 0 would pass there (verify/norms.h); exact outputs: 0 */
    char words[1024]; /* what is wrong and where; how good it is if it passed, or why it is not judgeable */
    OutputErrors errors;
} Judgement;

/* Judges instance->given[index]. Computes the reference of the set at its first use. */
Status judge_output(Instance *instance, DataSet set, int bound, int index, Judgement *out);

#endif
