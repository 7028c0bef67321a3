/* claims.h - a published number, and the rule by which rows of a run reproduce or refute it. */
#ifndef RUNGS_PLAN_CLAIMS_H
#define RUNGS_PLAN_CLAIMS_H

#include "base/status.h"

#include <jansson.h>

typedef struct Claim {
    const char *id;        /* "rolling-naive-to-tile" */
    const char *statement; /* the claim in one sentence, as published */
    const char *source;    /* where: title, URL or file */
    const char *hardware;  /* on what: "NVIDIA P100 (DGX)" */
    const char *method;    /* how it was measured there, as far as is known */
    const char *note;      /* what a reader must know to judge it (n printed / n run); NULL: nothing */
    const char *scenario;
    double value;                 /* the published number */
    const char *quantity;         /* "speedup": time of baseline / time of variant; "seconds"; "error": largest absolute error */
    const char *problem;          /* canonical case text the rows must have */
    const char *variant;          /* variant spec with tunables, canonical */
    const char *mode;             /* "cold", "hot", ...; NULL if quantity is error */
    const char *baseline;         /* like variant; NULL unless quantity is speedup */
    const char *baseline_problem; /* case of the baseline's row; NULL: the same */
    const char *baseline_mode;    /* mode of the baseline's time; NULL: the same */
    const char *output;           /* whose error; NULL unless quantity is error */
    double at_least, at_most;     /* ours reproduces it inside [at_least, at_most]; stated in the scenario beside the reason */
    const char *rule;             /* that rule in words */
} Claim;

/* {"kind":"claim","id":...,"verdict":"reproduced"|"not reproduced"|"not testable here","ours":x|null,"ours_interval":[lo,hi]|null,
 *  "reason":...}, judged from the rows (JSON array of kind "row") alone. New reference. */
json_t *claim_judge(const Claim *claim, const json_t *rows);
json_t *claim_to_json(const Claim *claim);

#endif
