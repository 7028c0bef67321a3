/* The right column, for mutants to spoil: as impls/redact/cpu_sequential.c makes it, int32 offsets only. */
#ifndef RUNGS_MUTANT_REDACTED_H
#define RUNGS_MUTANT_REDACTED_H

#include "redact/_cpu.h"

enum { OFFSETS, CHARS, VALIDITY };

static Status redacted_rows(const VariantArgs *args, RedactJob *job) {
    TRY(redact_job_open(args, job));
    if (job->wide) return status_fail(STATUS_UNSUPPORTED, "mutants know int32 offsets only");
    for (size_t i = 0; i < job->rows; i++) {
        const RedactedRow row = redact_at(job, false, i);
        if (redact_valid(job, i)) job->bytes += redacted_size(&row);
    }
    TRY(redact_job_allocate(args, job));
    size_t at = 0;
    for (size_t i = 0; i < job->rows; i++) {
        const RedactedRow row = redact_at(job, false, i);
        redact_store_offset(job, false, i, at);
        if (!redact_valid(job, i)) continue;
        redacted_write(&row, job->chars + at);
        at += redacted_size(&row);
    }
    redact_store_offset(job, false, job->rows, at);
    for (size_t byte = 0; byte < redact_validity_bytes(job); byte++) job->validity[byte] = redact_validity_byte(job, byte);
    return STATUS_OK;
}

/* Outputs handed over and right. */
static Status redacted(const VariantArgs *args) {
    RedactJob job = {0};
    const Status status = redacted_rows(args, &job);
    return redact_job_close(args, &job, status);
}

#endif
