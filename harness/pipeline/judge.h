/* judge.h - outputs of a run against the reference: of the calls that verify, and of timed samples, of which the parent draws some
 * that the worker shows before it goes on. */
#ifndef RUNGS_PIPELINE_JUDGE_H
#define RUNGS_PIPELINE_JUDGE_H

#include "pipeline/session.h"

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

/* The worker of a variant, which may serve several cases, one after the other. {0}: none runs. */
typedef struct Host {
    Child *child;
    size_t served; /* cases that were opened in it */
    bool reusable; /* the last case went well and left nothing: another may follow. Otherwise the worker must be ended */
} Host;

/* One variant on one case, under way. */
typedef struct Evaluation {
    const Session *session;
    Instance *instance;
    Row *row;
    Host *host;
    int bound;            /* index into the op's bounds */
    double first_seconds; /* the first call, by the worker's clock */
    bool decided;         /* the verdict is in the row */
    bool opened;          /* the case is open in the worker */
} Evaluation;

void decide(Evaluation *e, Verdict verdict, const char *reason);
/* What a worker could not do, as the row's verdict. */
void decide_by_status(Evaluation *e, Status status);

/* Compares every output that the variant gives. The errors of the first set, or of the call that fails, go into the row; `when`
 * begins the reason. Where all that speaks against an output is that correct values equal the poison, *undecided is set and nothing
 * decided; undecided may be NULL: such a value is correct. What passes must also be judgeable on the first inputs, or it verifies
 * nothing: a row needs one output that is both. */
Status compare_outputs(Evaluation *e, DataSet set, const char *when, bool *undecided);

/* Asks for samples of the item's modes, for the row. *taken: false if an output failed, which is decided; else the row's timing has
 * the modes, with the samples that were compared. Other failures are the worker's. timeout_seconds: of all samples together, and of
 * what follows a check. */
Status timed_take(Evaluation *e, double timeout_seconds, bool *taken);

#endif
