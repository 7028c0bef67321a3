/* rows.h - a row before its variant has run. */
#ifndef RUNGS_PIPELINE_ROWS_H
#define RUNGS_PIPELINE_ROWS_H

#include "plan/scenario.h"
#include "record/row.h"

/* With everything that is known by then. STATUS_INVALID if the case holds text that is not UTF-8. row_free() it. */
Status row_begin(const char *run, const PlanItem *item, const Case *problem, const VariantChoice *choice, bool emulated, Row *out);

#endif
