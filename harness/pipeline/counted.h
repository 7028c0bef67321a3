/* counted.h - what was counted of a row: what a call launches, moves and allocates is alike in every process, so a row's further
 * processes repeat the counts of the first. */
#ifndef RUNGS_PIPELINE_COUNTED_H
#define RUNGS_PIPELINE_COUNTED_H

#include <jansson.h>
#include <stdbool.h>

/* known: counts by row_key(); NULL: nothing is repeated. */

/* Copies the counts of an earlier process into the row; false: there are none. */
bool counted_repeat(const json_t *known, json_t *row);
void counted_remember(json_t *known, const json_t *row);

#endif
