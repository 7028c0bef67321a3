/* Idea: one thread, two passes over the rows. The first adds up the bytes of the output, which are then allocated exactly; the
 * second writes them.
 * Traffic: offsets, validity, visibilities and public names up to their space twice; output once.
 * Rounding: none; exact.
 * Limits: one core.
 * Origin: the definition. */
#include "_cpu.h"

REDACT_INLINE size_t count(const RedactJob *job, bool wide) {
    size_t bytes = 0;
    for (size_t i = 0; i < job->rows; i++) {
        if (!redact_valid(job, i)) continue;
        const RedactedRow row = redact_at(job, wide, i);
        bytes += redacted_size(&row);
    }
    return bytes;
}

REDACT_INLINE void write_rows(const RedactJob *job, bool wide) {
    size_t at = 0;
    for (size_t i = 0; i < job->rows; i++) {
        redact_store_offset(job, wide, i, at);
        if (!redact_valid(job, i)) continue;
        const RedactedRow row = redact_at(job, wide, i);
        redacted_write(&row, job->chars + at);
        at += redacted_size(&row);
    }
    redact_store_offset(job, wide, job->rows, at);
    for (size_t byte = 0; byte < redact_validity_bytes(job); byte++) job->validity[byte] = redact_validity_byte(job, byte);
}

static Status redact(const VariantArgs *args, RedactJob *job) {
    TRY(redact_job_open(args, job));
    job->bytes = job->wide ? count(job, true) : count(job, false);
    TRY(redact_job_allocate(args, job));
    if (job->wide)
        write_rows(job, true);
    else
        write_rows(job, false);
    return STATUS_OK;
}

static Status run(const VariantArgs *args) {
    RedactJob job = {0};
    const Status status = redact(args, &job);
    return redact_job_close(args, &job, status);
}

RUNGS_VARIANT(redact, cpu_sequential) = {
    .backend = BACKEND_CPU,
    .summary = "one thread, two passes over the rows: sizes, then bytes",
    .origin = "the definition",
    .run = run,
};
