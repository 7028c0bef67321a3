/* claim_rows.h - our value for a claim, from rows; not for other modules. */
#ifndef RUNGS_PLAN_CLAIM_ROWS_H
#define RUNGS_PLAN_CLAIM_ROWS_H

#include "plan/claims.h"

#include <stdbool.h>

enum { CLAIM_WHY_MAX = 1024 };

typedef struct Measured {
    double value, low, high; /* the 95% interval of a time or of a ratio of times; NAN: not known */
    bool exact;              /* a count, or an error on given inputs: it has no interval */
    const char *run;         /* borrowed from the row */
    long long samples;       /* of the time that has fewest; 0: not made of times */
} Measured;

/* False with the reason if the rows do not tell. */
bool claim_measure(const Claim *claim, const json_t *rows, Measured *out, char why[CLAIM_WHY_MAX]);

#endif
