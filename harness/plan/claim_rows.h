/* claim_rows.h - our value for a claim, from rows; not for other modules. */
#ifndef RUNGS_PLAN_CLAIM_ROWS_H
#define RUNGS_PLAN_CLAIM_ROWS_H

#include "plan/claims.h"

#include <stdbool.h>

enum { CLAIM_WHY_MAX = 1024 };

typedef struct Measured {
    double value, low, high; /* of times and their ratios: median and range over processes; low and high NAN: fewer than two */
    bool exact;              /* a count, or an error on given inputs: it has no interval */
    const char *run;         /* borrowed from the row */
    int processes;           /* of the side that has fewest */
} Measured;

/* Is it about launches, memory or bytes, which are counted, not timed? */
bool claim_is_about_counts(const Claim *claim);
/* CLAIM_HOLDS if *out is set; else CLAIM_NOT_RUN, CLAIM_NOT_TESTABLE, or CLAIM_FAILS if the variant's result is wrong, and why. */
int claim_measure(const Claim *claim, const json_t *rows, Measured *out, char why[CLAIM_WHY_MAX]);

#endif
