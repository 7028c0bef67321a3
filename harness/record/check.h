/* check.h - a line of results against record/row.schema.json, as far as readers insist on it: types, ranges and patterns of the
 * keys that the line has, and those that the schema calls `needed`. analysis/row_check.py does the same, with the same messages. */
#ifndef RUNGS_RECORD_CHECK_H
#define RUNGS_RECORD_CHECK_H

#include "base/status.h"

#include <jansson.h>
#include <stddef.h>

/* text: what `line` was read from, of `length` bytes; `place` is in front of the column: "rows.jsonl:17". STATUS_INVALID with
 * "PLACE:COLUMN: KEY is VALUE; expected ..." */
Status check_line(const char *place, const char *text, size_t length, const json_t *line);

#endif
