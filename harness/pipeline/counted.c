#include "pipeline/counted.h"

#include "pipeline/resume.h"

bool counted_repeat(const json_t *known, json_t *row) {
    char key[ROW_KEY_MAX];
    row_key(row, key);
    json_t *counts = json_deep_copy(json_object_get(known, key));
    if (!counts) return false;
    json_object_set_new(counts, "seconds", json_real(0)); /* it took none here */
    json_object_set_new(row, "counts", counts);
    json_object_set_new(row, "counts_reason", json_null());
    return true;
}

void counted_remember(json_t *known, const json_t *row) {
    char key[ROW_KEY_MAX];
    json_t *counts = json_object_get(row, "counts");
    row_key(row, key);
    if (known && json_object_size(counts) > 0) json_object_set(known, key, counts); /* without memory it is counted again */
}
