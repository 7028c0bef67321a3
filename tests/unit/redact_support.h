/* redact_support.h - a case of redact with its columns and the room for its output, for the tests of the op and of its variants. */
#pragma once

#include "op.h"
#include "plan/case.h"
#include "verify/families.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

extern const Op rungs_op_redact;

/* A column is its first array, the offsets; chars and validity follow. */
enum { NAMES, VISIBILITIES = 3, INPUTS = 6, OFFSETS = 0, CHARS, VALIDITY, OUTPUTS };
enum { EXACT, API, ORACLES };

typedef struct Redact {
    char text[CASE_TEXT_MAX];
    Case problem;
    Array in[INPUTS], out[OUTPUTS];
    size_t rows, room; /* of redacted.chars */
} Redact;

static inline size_t column_offset(const Array *column, size_t i) {
    return column->dtype == DTYPE_I32 ? (size_t)((const int32_t *)column->data)[i] : (size_t)((const int64_t *)column->data)[i];
}

static inline void column_set_offset(Array *column, size_t i, size_t value) {
    if (column->dtype == DTYPE_I32)
        ((int32_t *)column->data)[i] = (int32_t)value;
    else
        ((int64_t *)column->data)[i] = (int64_t)value;
}

static inline size_t column_bytes(const Array *column, size_t row) {
    return column_offset(column, row + 1) - column_offset(column, row);
}

static inline const unsigned char *column_text(const Array *column, size_t row) {
    return (const unsigned char *)column[CHARS].data + column_offset(column, row);
}

static inline bool column_valid(const Array *column, size_t row) {
    const unsigned char *validity = column[VALIDITY].data;
    return column[VALIDITY].shape[0] == 0 || (validity[row / 8] >> row % 8 & 1);
}

static inline void redact_allocate_(Array *arrays, int count) {
    for (int i = 0; i < count; i++) arrays[i].data = malloc(array_bytes(&arrays[i]) ? array_bytes(&arrays[i]) : 1);
}

/* The case and its columns as its family and seed make them. */
static inline Redact redact_open(const char *format, ...) {
    Redact self = {0};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(self.text, sizeof self.text, format, arguments);
    va_end(arguments);
    if (case_parse(self.text, &self.problem) != STATUS_OK) fail_msg("%s: %s", self.text, status_message());
    if (rungs_op_redact.shapes(&self.problem, self.in, self.out) != STATUS_OK) fail_msg("%s: %s", self.text, status_message());
    self.rows = self.in[NAMES].shape[0] - 1;
    self.room = self.out[CHARS].shape[0];
    redact_allocate_(self.in, INPUTS);
    redact_allocate_(self.out, OUTPUTS);
    for (int i = 0; i < INPUTS; i++)
        if (family_input(&rungs_op_redact, &self.problem, i, &self.in[i]) != STATUS_OK)
            fail_msg("%s: %s", self.text, status_message());
    return self;
}

/* Rows as strings; a null row (marked by its validity alone) owns bytes nevertheless. */
typedef struct RedactRow {
    const char *name, *visibility; /* NULL: null */
} RedactRow;

static inline void redact_put_column_(Array *column, const RedactRow *rows, size_t count, bool names, size_t before, size_t after) {
    size_t at = before;
    unsigned char *chars = column[CHARS].data, *validity = column[VALIDITY].data;
    memset(chars, 0x80, column[CHARS].shape[0]); /* what no row owns would lengthen a truncated character */
    if (column[VALIDITY].shape[0]) memset(validity, 0, column[VALIDITY].shape[0]);
    column_set_offset(column, 0, at);
    for (size_t row = 0; row < count; row++) {
        const char *text = names ? rows[row].name : rows[row].visibility;
        if (text && column[VALIDITY].shape[0]) validity[row / 8] = (unsigned char)(validity[row / 8] | 1u << row % 8);
        if (!text) text = names ? "Secret Name" : "public";
        memcpy(chars + at, text, strlen(text));
        at += strlen(text);
        column_set_offset(column, row + 1, at);
    }
    assert_int_equal(at + after, column[CHARS].shape[0]);
}

/* A user's own columns, adopted. before, after: bytes that no row owns. */
static inline Redact redact_own(DType dtype, const RedactRow *rows, size_t count, size_t before, size_t after) {
    Redact self = {.rows = count};
    size_t bytes[2] = {before + after, before + after}, bitmap[2] = {0, 0};
    for (size_t row = 0; row < count; row++) {
        const char *name = rows[row].name, *visibility = rows[row].visibility;
        bytes[0] += strlen(name ? name : "Secret Name");
        bytes[1] += strlen(visibility ? visibility : "public");
        if (!name) bitmap[0] = (count + 7) / 8;
        if (!visibility) bitmap[1] = (count + 7) / 8;
    }
    for (int c = 0; c < 2; c++) {
        Array *column = &self.in[c ? VISIBILITIES : NAMES];
        column[OFFSETS] = array_1d("offsets", dtype, count + 1);
        column[CHARS] = array_1d("chars", DTYPE_U8, bytes[c]);
        column[VALIDITY] = array_1d("validity", DTYPE_U8, bitmap[c]);
        redact_allocate_(column, 3);
        redact_put_column_(column, rows, count, c == 0, before, after);
    }
    assert_int_equal(case_init(&rungs_op_redact, &self.problem), STATUS_OK);
    if (rungs_op_redact.adopt(self.in, &self.problem) != STATUS_OK) fail_msg("adopt: %s", status_message());
    Array in[INPUTS];
    assert_int_equal(rungs_op_redact.shapes(&self.problem, in, self.out), STATUS_OK);
    for (int i = 0; i < INPUTS; i++)
        if (in[i].shape[0] != self.in[i].shape[0] || in[i].dtype != self.in[i].dtype) fail_msg("%s: another shape", in[i].name);
    self.room = self.out[CHARS].shape[0];
    redact_allocate_(self.out, OUTPUTS);
    case_format(&self.problem, self.text, sizeof self.text);
    return self;
}

/* The oracle's answer in self->out. */
static inline void redact_answer(Redact *self, int oracle) {
    self->out[CHARS].shape[0] = self->room;
    self->out[VALIDITY].shape[0] = (self->rows + 7) / 8;
    for (int i = 0; i < OUTPUTS; i++) memset(self->out[i].data, 0xa5, array_bytes(&self->out[i]));
    if (rungs_op_redact.exact(&self->problem, self->in, oracle, self->out) != STATUS_OK)
        fail_msg("%s: %s", self->text, status_message());
}

static inline void redact_close(Redact *self) {
    for (int i = 0; i < INPUTS; i++) free(self->in[i].data);
    for (int i = 0; i < OUTPUTS; i++) free(self->out[i].data);
}
