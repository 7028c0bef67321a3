#include "pipeline/resume.h"

#include "base/joined.h"
#include "base/jsontext.h"
#include "base/memory.h"
#include "record/row.h"

#include <stdio.h>
#include <string.h>

static bool is_emulated(const json_t *row) {
    return strcmp(text_of(row, "backend"), "emulator") == 0;
}

void row_key(const json_t *row, char key[ROW_KEY_MAX]) {
    char spec[SPEC_TEXT_MAX];
    snprintf(key, ROW_KEY_MAX, "%s|%s|%s", is_emulated(row) ? "emulator" : "device", text_of(row, "case"),
             joined_spec(text_of(row, "spec"), spec, sizeof spec));
}

Status resume_open(const char *path, Resume *out) {
    *out = (Resume){.rows = json_object(), .seconds = json_object()};
    json_t *lines = NULL;
    if (!path) return STATUS_OK;
    TRY(rowfile_read(path, &lines));
    size_t i;
    json_t *line;
    json_array_foreach(lines, i, line) {
        char key[ROW_KEY_MAX];
        if (strcmp(text_of(line, "kind"), "row") != 0) continue;
        resume_took(out, line);
        if (strcmp(text_of(line, "verdict"), "error") == 0) continue; /* what crashed or ran out of time gets another chance */
        row_key(line, key);
        json_object_set_new(out->rows, key, json_integer(json_integer_value(json_object_get(out->rows, key)) + 1));
    }
    json_decref(lines);
    return memory_check(); /* a row that is forgotten would be run twice */
}

void resume_close(Resume *self) {
    json_decref(self->rows);
    json_decref(self->seconds);
    *self = (Resume){0};
}

ResumeAnswer resume_ask(Resume *self, const json_t *row) {
    char key[ROW_KEY_MAX];
    row_key(row, key);
    json_t *there = json_object_get(self->rows, key);
    if (json_is_false(there)) return RESUME_REPEATED;
    if (json_integer_value(there) <= 0) return RESUME_RUN;
    if (!is_emulated(row)) json_integer_set(there, json_integer_value(there) - 1);
    return RESUME_DONE;
}

void resume_ran(Resume *self, const json_t *row) {
    char key[ROW_KEY_MAX];
    row_key(row, key);
    if (is_emulated(row)) json_object_set_new(self->rows, key, json_false());
}

void resume_took(Resume *self, const json_t *row) {
    char key[ROW_KEY_MAX];
    const double seconds = json_number_value(json_object_get(row, "seconds_spent"));
    row_key(row, key);
    if (seconds > json_number_value(json_object_get(self->seconds, key)))
        json_object_set_new(self->seconds, key, json_real(seconds));
}

double resume_seconds(const Resume *self, const json_t *row) {
    char key[ROW_KEY_MAX];
    row_key(row, key);
    return json_number_value(json_object_get(self->seconds, key));
}
