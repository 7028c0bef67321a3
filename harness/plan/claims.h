/* claims.h - a published number, and what rows of a run say of it: the one place that decides. docs/SCENARIOS.md has the rules. */
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
    const char *quantity;         /* one of CLAIM_QUANTITIES */
    const char *problem;          /* canonical case text the rows must have */
    const char *variant;          /* variant spec with tunables, canonical */
    const char *mode;             /* "cold", "hot", ...; NULL unless the quantity is made of times */
    const char *baseline;         /* like variant; NULL unless quantity is speedup */
    const char *baseline_problem; /* case of the baseline's row; NULL: the same */
    const char *baseline_mode;    /* mode of the baseline's time; NULL: the same */
    const char *output;           /* whose error; NULL unless quantity is error */
    const char *rule;             /* one of CLAIM_RULES */
    double value;                 /* the published number; NAN with range */
    double factor;                /* with about: how far ours may be from it, >= 1; else NAN */
    double low, high;             /* ours reproduces it inside [low, high]; -INFINITY, INFINITY: no such limit */
    const char *rationale;        /* why these limits; NULL: nothing to say */
} Claim;

/* NULL-terminated.
 * speedup: time of baseline / time of variant; seconds; error: largest absolute error; launches: kernels of one call;
 * bytes_over_minimum: device memory bytes read and written / bytes of the op's work model. */
extern const char *const CLAIM_QUANTITIES[];
/* about: within a factor of the value either way; at_least, at_most: one-sided; range: a published band. */
extern const char *const CLAIM_RULES[];
/* "reproduced", "exceeded", "not reproduced", "undecided", "not testable here". */
extern const char *const CLAIM_VERDICTS[];
enum { CLAIM_VERDICT_COUNT = 5 };

/* {"kind":"claim","id":...,"verdict":...,"ours":x|null,"ours_interval":[lo,hi]|null,"reason":...}, judged from the rows (JSON array
 * with lines of kind "row" and "environment") alone; "run" is that of the variant's row, if one was used. New reference. */
json_t *claim_judge(const Claim *claim, const json_t *rows);
/* The claim itself; "expected" says in words what reproduces it. */
json_t *claim_to_json(const Claim *claim);
/* Adds one to the count of a judged claim's verdict. */
void claim_count(const json_t *judged, size_t counts[CLAIM_VERDICT_COUNT]);

#endif
