/* check.h - checks a line of results against record/row.schema.json: types, ranges and patterns of the keys that it has, and that
 * those are there which the schema calls `needed`. analysis/ checks what it reads by the same schema. */
#pragma once

#include "base/status.h"

#include <jansson.h>

enum { ROW_SCHEMA_VERSION = 1 };

/* place: "rows.jsonl:17". STATUS_INVALID with "PLACE: KEY.INNER is VALUE; expected ..."; STATUS_MEMORY. */
Status check_line(const char *place, const json_t *line);
