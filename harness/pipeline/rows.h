/* rows.h - the parts of a result line (docs/RESULTS.md) made from the harness's own structures. */
#ifndef RUNGS_PIPELINE_ROWS_H
#define RUNGS_PIPELINE_ROWS_H

#include "plan/scenario.h"
#include "verify/exact.h"
#include "verify/norms.h"

#include <jansson.h>

/* A row with everything that is known before the variant has run; all else null. New reference; NULL if the case holds text that is
 * not UTF-8, or without memory. */
json_t *row_begin(const char *run, const PlanItem *item, const Case *problem, const VariantChoice *choice, bool emulated);
/* {"agg": "mean", "n": 1000, ...}. New reference. */
json_t *row_params(const Params *params);
/* The "case" of a command (docs/PROTOCOL.md). New reference. */
json_t *row_case(const Case *problem);
json_t *row_errors(const ErrorReport *report);
json_t *row_exact_errors(const ExactReport *report);
/* One mode of the worker's timing with its order statistics. New reference. */
json_t *row_timing(const json_t *mode);
/* The timing of a single sample. */
json_t *row_single_sample(double seconds, const char *clock);
/* A mode that was asked for and not taken. */
json_t *row_no_sample(const char *why);
/* Bytes and elements per second of each mode, by the op's work; `limit` null. */
void row_rates(json_t *row);
/* The limit of one mode that was timed. */
void row_limit(json_t *timed, double seconds, double read, double written, const char *kernel);
void row_verdict(json_t *row, const char *verdict, const char *reason);

#endif
