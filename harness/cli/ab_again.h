/* ab_again.h - the second stage of `rungs ab`: ambiguous rows that seem slower get more processes at once. */
#ifndef RUNGS_CLI_AB_AGAIN_H
#define RUNGS_CLI_AB_AGAIN_H

#include "cli/ab_order.h"
#include "cli/compare.h"

/* After the first stage: asks the comparison which variants are worth it, says how long they take, and runs 20 processes more of
 * each side; or says why not. first: the order of the first stage; process_seconds: what a process of it took; limit: of the
 * second, in seconds. */
Status ab_again(const AbOrder *first, AbProcess sides[2], double process_seconds, double limit, const CompareOptions *options);

#endif
