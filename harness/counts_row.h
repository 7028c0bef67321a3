/* counts_row.h - the `counts` of a row, taken in a worker of their own once everything else of the row is known. */
#ifndef RUNGS_COUNTS_ROW_H
#define RUNGS_COUNTS_ROW_H

#include "contest.h"

#include <jansson.h>

/* Fills in `counts`, or `counts_reason`, of a row whose verdict is known, and writes its timeline if one was asked for. Nothing
 * that goes wrong here changes the rest of the row: it is the reason. out_of_budget: nothing is started any more. */
void counts_take(Problem *problem, const Contest *contest, bool out_of_budget, json_t *row);

#endif
