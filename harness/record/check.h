/* check.h - checks a line of results against record/row.schema.json: types, ranges and patterns of the keys that it has, and that
 * those are there which the schema calls `needed`. analysis/row_check.py does the same, with the same messages. */
#ifndef RUNGS_RECORD_CHECK_H
#define RUNGS_RECORD_CHECK_H

#include "base/status.h"

#include <jansson.h>
#include <stddef.h>

enum { ROW_SCHEMA_VERSION = 1 };

/* text: the `length` bytes that `line` was parsed from. place: "rows.jsonl:17". STATUS_INVALID with
 * "PLACE:COLUMN: KEY is VALUE; expected ...", columns counted in characters from 1; STATUS_MEMORY. */
Status check_line(const char *place, const char *text, size_t length, const json_t *line);

#endif
