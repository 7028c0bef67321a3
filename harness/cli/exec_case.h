/* exec_case.h - what `exec` was given, as a case: parameters, tunables, and the user's files as its arrays. */
#ifndef RUNGS_CLI_EXEC_CASE_H
#define RUNGS_CLI_EXEC_CASE_H

#include "cli/columns.h"
#include "cli/words.h"
#include "pipeline/run.h"
#include "plan/case.h"

#include <stdbool.h>

typedef struct Exec {
    Pairs in, out, set;
    Columns columns;
    const char *dtype; /* --set dtype=..., or NULL */
    bool check, declared_bounds, emulate;
    RunOptions options;
    const Op *op;
    VariantChoice choice;
    Case problem;
    Array own[OP_MAX_ARRAYS]; /* the user's inputs as read; data is ours to free */
    Array in_shapes[OP_MAX_ARRAYS], out_shapes[OP_MAX_ARRAYS];
} Exec;

/* Fills in the variant named `id`, its case and the inputs as they were read, from in, out and set. Free own[].data and close the
 * columns, whatever it returns. */
Status exec_prepare(Exec *e, const char *id);

#endif
