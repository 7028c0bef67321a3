/* merge.h - joins files of rows that were made apart (`run --shard`). */
#ifndef RUNGS_PIPELINE_MERGE_H
#define RUNGS_PIPELINE_MERGE_H

#include "plan/scenario.h"

#include <jansson.h>
#include <stddef.h>

typedef struct Merged {
    json_t *lines; /* of all files, in their order, as they were; decref */
    size_t rows;
    size_t repeated; /* emulated rows that a file before has too: left out */
    size_t claims;   /* judged in more than one file: all such lines are left out, for each saw a part of the rows */
} Merged;

/* paths: NULL-terminated. Rows must come from builds of one commit and with the same compilers and flags. What was timed must be
 * the same machine code, timed on one machine; or, with several_machines, on machines of one kind (environment `id`). No two files
 * may have the same row. STATUS_INVALID names file and line of both that contradict each other. */
Status merge_files(const char *const *paths, bool several_machines, Merged *out);
/* The rows of the plan that these lines lack, as texts "SPEC on CASE". New reference. */
Status merge_missing(const Plan *plan, const json_t *lines, json_t **out);

#endif
