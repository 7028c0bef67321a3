/* row.h - the result of one variant on one case, as the pipeline fills it. docs/RESULTS.md has the line that is written from it. */
#ifndef RUNGS_RECORD_ROW_H
#define RUNGS_RECORD_ROW_H

#include "base/case.h"
#include "base/usercode.h"
#include "op.h"
#include "record/check.h"
#include "record/parts.h"

enum { ROW_KEY_MAX = 2 * CASE_TEXT_MAX + 16 };

typedef enum Verdict { VERDICT_FAIL, VERDICT_PASS, VERDICT_SKIP, VERDICT_ERROR } Verdict; /* a row begins as failed */
typedef enum RowWorker { WORKER_NONE, WORKER_SHARED, WORKER_FRESH } RowWorker;

/* Zero: nothing is known. Texts that are not owned are borrowed from plan, registry and literals. `problem` may point into the row:
 * it stays where it began. */
typedef struct Row {
    /* Known before the variant runs. */
    const char *run, *scenario, *baseline; /* baseline: NULL: none */
    const char *variant, *backend;
    bool emulated;
    Case problem; /* names a user's function by a hash, not by its path, which names people and projects */
    char user_code[USERCODE_NAME_MAX];
    char text[CASE_TEXT_MAX], spec[CASE_TEXT_MAX]; /* the case; variant and tunables */
    Params tunables;
    Work work;
    const char *sass_hash, *host_hash, *no_hash_reason;
    /* What became of it. */
    Verdict verdict;
    char *reason; /* NULL: it passed */
    const Bound *bound;
    bool bound_declared;
    bool judged; /* `errors` is known, of so many outputs */
    OutputErrors errors[OP_MAX_ARRAYS];
    int error_count;
    bool reverified;
    bool timed; /* `timing` is known */
    ModeTiming timing[MODE_COUNT];
    const char *why_not_timed;
    double prepare_seconds; /* NaN: nothing was prepared */
    Launch launch;
    Counts counts;
    char *counts_reason, *limit_reason;
    RowWorker worker;
    bool confined; /* the worker could write nothing that decides a row (device/confine.h) */
    int threads;   /* 0: unknown */
    double seconds_spent;
} Row;

const char *verdict_name(Verdict verdict);
void row_free(Row *row);
/* Texts lose folders, which name people, and UUIDs (record/rowfile.h). NULL: none. */
void row_set_text(char **slot, const char *text);
/* Another verdict than pass takes the times away: a wrong result has none, whatever was measured. */
void row_decide(Row *row, Verdict verdict, const char *reason);
/* Those of an earlier call are replaced. */
void row_set_errors(Row *row, const OutputErrors *errors, int count);
/* What tells a row from others: case, variant with its tunables, and whether it was emulated. */
void row_key(const Row *row, char key[ROW_KEY_MAX]);
/* The line of the file. New reference; NULL without memory, or if a text is not UTF-8. */
json_t *row_json(const Row *row);

/* What a line of a results file is, and what of it decides whether a row is run again. Texts are the line's; "": there is none. */
typedef enum LineKind { LINE_OTHER, LINE_ENVIRONMENT, LINE_CEILINGS, LINE_ROW, LINE_CLAIM } LineKind;
LineKind line_kind(const json_t *line);
Verdict line_verdict(const json_t *line);
double line_seconds_spent(const json_t *line);
void line_row_key(const json_t *line, char key[ROW_KEY_MAX]);

#endif
