/* _cpu.h - the columns of `redact` for CPU variants: rows in, rows out, for either type of offsets.
 *
 * A call: redact_job_open(), a loop that adds up job->bytes, redact_job_allocate(), a loop that writes, redact_job_close(). */
#pragma once

#include "_row.h"
#include "variant.h"

#define REDACT_INLINE static inline __attribute__((always_inline)) /* `wide` is a constant in what they are inlined into */

typedef struct RedactColumn {
    const void *offsets;
    const unsigned char *chars, *validity; /* validity NULL: all rows are valid */
} RedactColumn;

typedef struct RedactJob {
    RedactColumn names, visibilities;
    size_t rows;
    bool wide; /* 64-bit offsets */
    void *offsets;
    unsigned char *chars, *validity; /* the output; validity NULL: none */
    size_t bytes;
} RedactJob;

REDACT_INLINE size_t redact_offset(const void *offsets, bool wide, size_t i) {
    return wide ? (size_t)((const int64_t *)offsets)[i] : (size_t)((const int32_t *)offsets)[i];
}

REDACT_INLINE StringSpan redact_span(const RedactColumn *column, bool wide, size_t i) {
    const size_t begin = redact_offset(column->offsets, wide, i), end = redact_offset(column->offsets, wide, i + 1);
    return (StringSpan){column->chars + begin, end - begin};
}

REDACT_INLINE bool redact_bit(const unsigned char *validity, size_t i) {
    return !validity || (validity[i / 8] >> i % 8 & 1);
}

REDACT_INLINE bool redact_valid(const RedactJob *job, size_t i) {
    return redact_bit(job->names.validity, i) && redact_bit(job->visibilities.validity, i);
}

/* The name is read only if it is public. */
REDACT_INLINE RedactedRow redact_row(StringSpan name, StringSpan visibility) {
    if (!string_is_public(visibility)) return redacted_hidden(name);
    const unsigned char *space = name.size ? (const unsigned char *)memchr(name.bytes, ' ', name.size) : NULL;
    return redacted_public(name, space ? (size_t)(space - name.bytes) : name.size);
}

/* redacted_size() bytes. */
REDACT_INLINE void redacted_write(const RedactedRow *row, unsigned char *to) {
    if (row->hidden) {
        to[0] = to[2] = 'X';
        to[1] = ' ';
        return;
    }
    if (row->initial.size) memcpy(to, row->initial.bytes, row->initial.size);
    to[row->initial.size] = ' ';
    if (row->rest.size) memcpy(to + row->initial.size + 1, row->rest.bytes, row->rest.size);
}

REDACT_INLINE RedactedRow redact_at(const RedactJob *job, bool wide, size_t i) {
    return redact_row(redact_span(&job->names, wide, i), redact_span(&job->visibilities, wide, i));
}

REDACT_INLINE void redact_store_offset(const RedactJob *job, bool wide, size_t i, size_t offset) {
    if (wide)
        ((int64_t *)job->offsets)[i] = (int64_t)offset;
    else
        ((int32_t *)job->offsets)[i] = (int32_t)offset;
}

/* Eight rows' validity: those of this byte that are rows; 0 behind the last. */
static inline unsigned char redact_validity_byte(const RedactJob *job, size_t byte) {
    unsigned bits = job->names.validity ? job->names.validity[byte] : 0xff;
    if (job->visibilities.validity) bits &= job->visibilities.validity[byte];
    if (byte == job->rows / 8) bits &= (1u << job->rows % 8) - 1;
    return (unsigned char)bits;
}

static inline size_t redact_validity_bytes(const RedactJob *job) {
    return job->validity ? (job->rows + 7) / 8 : 0;
}

/* The inputs; offsets and validity of the output. What was allocated before a failure is for redact_job_close(). */
Status redact_job_open(const VariantArgs *args, RedactJob *job);
/* STATUS_INVALID if the offsets cannot count job->bytes; else memory for them. */
Status redact_job_allocate(const VariantArgs *args, RedactJob *job);
/* Hands the output over if status is STATUS_OK, else releases it; returns status. */
Status redact_job_close(const VariantArgs *args, RedactJob *job, Status status);
