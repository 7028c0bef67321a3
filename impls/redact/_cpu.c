#include "_cpu.h"

static RedactColumn column_of(const Array in[3]) {
    return (RedactColumn){in[0].data, in[1].data, array_count(&in[2]) > 0 ? in[2].data : NULL};
}

static Status allocate(const VariantArgs *args, size_t bytes, void **out) {
    return args->memory->allocate(args->memory, bytes, args->stream, out);
}

Status redact_job_open(const VariantArgs *args, RedactJob *job) {
    *job = (RedactJob){.names = column_of(args->in),
                       .visibilities = column_of(args->in + 3),
                       .rows = args->in[0].shape[0] - 1,
                       .wide = args->problem->dtype == DTYPE_I64};
    TRY(allocate(args, (job->rows + 1) * dtype_size(args->problem->dtype), &job->offsets));
    if (!job->names.validity && !job->visibilities.validity) return STATUS_OK;
    void *validity = NULL;
    TRY(allocate(args, (job->rows + 7) / 8, &validity));
    job->validity = validity;
    return STATUS_OK;
}

Status redact_job_allocate(const VariantArgs *args, RedactJob *job) {
    if (!job->wide && job->bytes > INT32_MAX)
        return status_fail(STATUS_INVALID, "redacted.chars would have %zu bytes; int32 offsets hold 2147483647; use dtype=i64",
                           job->bytes);
    void *chars = NULL;
    TRY(allocate(args, job->bytes, &chars));
    job->chars = chars;
    return STATUS_OK;
}

Status redact_job_close(const VariantArgs *args, RedactJob *job, Status status) {
    void *const made[3] = {job->offsets, job->chars, job->validity};
    const size_t shape[3] = {job->rows + 1, job->bytes, redact_validity_bytes(job)};
    for (int i = 0; i < 3; i++) {
        if (status == STATUS_OK) {
            args->out[i].data = made[i];
            args->out[i].shape[0] = shape[i];
        } else if (made[i]) {
            args->memory->release(args->memory, made[i], args->stream);
        }
    }
    return status;
}
