#include "pipeline/run.h"

#include "base/hash.h"
#include "record/row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct SeenRow {
    uint64_t hash;
    char *key;
    size_t held;    /* rows of the file that stand for none of the plan yet */
    bool emulated;  /* in this run */
    double seconds; /* of the row that took longest */
    Counts counts;
} SeenRow;

/* What is known of the key, which is added. */
static Status find(Resume *self, const char *key, SeenRow **out) {
    const uint64_t hash = hash_bytes(HASH_START, key, strlen(key));
    for (size_t i = 0; i < self->count; i++) {
        *out = &self->seen[i];
        if ((*out)->hash == hash && strcmp((*out)->key, key) == 0) return STATUS_OK;
    }
    SeenRow *seen = realloc(self->seen, (self->count + 1) * sizeof *seen);
    if (seen) self->seen = seen;
    char *copy = seen ? strdup(key) : NULL;
    if (!copy) return status_fail(STATUS_MEMORY, "no memory to remember a row"); /* one that is forgotten would be run twice */
    *out = &seen[self->count++];
    **out = (SeenRow){.hash = hash, .key = copy, .counts = counts_none()};
    return STATUS_OK;
}

static Status find_row(Resume *self, const Row *row, SeenRow **out) {
    char key[ROW_KEY_MAX];
    row_key(row, key);
    return find(self, key, out);
}

static Status add_line(Resume *self, const json_t *line) {
    SeenRow *seen;
    char key[ROW_KEY_MAX];
    line_row_key(line, key);
    TRY(find(self, key, &seen));
    seen->seconds = fmax(seen->seconds, line_seconds_spent(line));
    seen->held += line_verdict(line) != VERDICT_ERROR; /* what crashed or ran out of time gets another chance */
    return STATUS_OK;
}

Status resume_open(const char *path, Resume *out) {
    json_t *lines = NULL, *line;
    size_t i;
    *out = (Resume){0};
    if (!path) return STATUS_OK;
    TRY(rowfile_read(path, &lines));
    Status status = STATUS_OK;
    json_array_foreach(lines, i, line) {
        if (status == STATUS_OK && line_kind(line) == LINE_ROW) status = add_line(out, line);
    }
    json_decref(lines);
    return status;
}

void resume_close(Resume *self) {
    for (size_t i = 0; i < self->count; i++) {
        free(self->seen[i].key);
        counts_free(&self->seen[i].counts);
    }
    free(self->seen);
    *self = (Resume){0};
}

Status resume_ask(Resume *self, const Row *row, ResumeAnswer *answer) {
    SeenRow *seen;
    TRY(find_row(self, row, &seen));
    *answer = seen->emulated ? RESUME_REPEATED : seen->held > 0 ? RESUME_DONE : RESUME_RUN;
    if (*answer == RESUME_DONE && !row->emulated) seen->held--;
    return STATUS_OK;
}

Status resume_took(Resume *self, const Row *row) {
    SeenRow *seen;
    TRY(find_row(self, row, &seen));
    seen->seconds = fmax(seen->seconds, row->seconds_spent);
    seen->emulated = row->emulated;
    return STATUS_OK;
}

double resume_seconds(Resume *self, const Row *row) {
    SeenRow *seen;
    return find_row(self, row, &seen) == STATUS_OK ? seen->seconds : 0;
}

bool resume_counts(Resume *self, Row *row) {
    SeenRow *seen;
    if (!self || find_row(self, row, &seen) != STATUS_OK) return false;
    if (!seen->counts.any || !counts_copy(&seen->counts, &row->counts)) return false;
    row->counts.seconds = 0; /* it took none here */
    row_set_text(&row->counts_reason, NULL);
    return true;
}

void resume_counted(Resume *self, const Row *row) {
    SeenRow *seen;
    if (!self || !row->counts.any || find_row(self, row, &seen) != STATUS_OK) return;
    counts_free(&seen->counts);
    counts_copy(&row->counts, &seen->counts); /* without memory it is counted again */
}
