/* evaluate.h - one variant on one case: refuse, make the instance, start a worker, verify, time, verify on new data, end the case.
 * Once the worker has ended: its limit and counts (pipeline/finish.h). */
#ifndef RUNGS_PIPELINE_EVALUATE_H
#define RUNGS_PIPELINE_EVALUATE_H

#include "pipeline/judge.h"

typedef struct Evaluated {
    int bound;    /* index into the op's bounds */
    bool refused; /* skipped by what is known of the variant and the machine alone */
    bool served;  /* by a worker */
    bool pending; /* all is well so far: the verdict waits for the end of the worker, then finish_row() */
} Evaluated;

/* Fills the row's bound, errors, timing, ..., and its verdict and reason unless it is pending. Whatever the variant does becomes
 * its row; a Status other than STATUS_OK means that rungs itself cannot go on. *instance is created where it is empty ({0}) and
 * needed; the next variants of the case get it again. */
Status evaluate(Instance *instance, const Session *session, Host *host, Row *row, Evaluated *evaluated);

/* A row with everything that is known before its variant runs. STATUS_INVALID if the case holds text that is not UTF-8. row_free()
 * it. */
Status row_begin(const char *run, const PlanItem *item, const Case *problem, const VariantChoice *choice, bool emulated, Row *out);

#endif
