/* Mutants: the redacted column as impls/redact/cpu_sequential.c makes it, int32 offsets only, and what can be wrong with outputs
 * that a variant allocates. `count_on_device` and `cannot` are not wrong: one must pass, the other be skipped with its reason. */
#include "../common/mutants.h"

#include "base/poison.h"
#include "redact/_cpu.h"

#include <stdlib.h>

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

/* Finds out from the data that it cannot do it. Must be skipped with its reason. */
static Status cannot(const VariantArgs *args) {
    (void)args;
    return status_fail(STATUS_UNSUPPORTED, "row 17 would become longer than it was");
}

/* Leaves the number of bytes where kernels would. Must pass. */
static Status count_on_device(const VariantArgs *args) {
    TRY(redacted(args));
    args->counts[CHARS] = args->out[CHARS].shape[0];
    args->out[CHARS].shape[0] = COUNT_ON_DEVICE;
    return STATUS_OK;
}

/* Promises a number of bytes on the device and writes none. Must be rejected. */
static Status count_unwritten(const VariantArgs *args) {
    TRY(redacted(args));
    args->out[CHARS].shape[0] = COUNT_ON_DEVICE;
    return STATUS_OK;
}

/* Hands over empty outputs once it has been verified. Must be rejected: timed calls are compared. Met: rungs at 6881121. */
static Status empty_later(const VariantArgs *args) {
    static int calls;
    if (calls++ < 2 * POISON_PATTERNS) return redacted(args); /* each verified run is two calls */
    for (int i = 0; i < args->out_count; i++) {
        args->out[i].data = NULL;
        args->out[i].shape[0] = 0;
    }
    return STATUS_OK;
}

/* Hands over its input. Must be rejected: no block of its own. */
static Status foreign_pointer(const VariantArgs *args) {
    TRY(redacted(args));
    args->out[CHARS].data = args->in[1].data;
    return STATUS_OK;
}

/* Releases what it hands over. Must be rejected. */
static Status hands_over_released(const VariantArgs *args) {
    TRY(redacted(args));
    args->memory->release(args->memory, args->out[CHARS].data, args->stream);
    return STATUS_OK;
}

/* Keeps a block for itself. Must be rejected: neither released nor handed over. */
static Status leaks_block(const VariantArgs *args) {
    void *lost = NULL;
    TRY(args->memory->allocate(args->memory, 100, args->stream, &lost));
    return redacted(args);
}

/* Leaks memory that is not of args->memory. Must be rejected: memory in use grows with every call. */
static Status leaks_elsewhere(const VariantArgs *args) {
    static void *volatile lost;
    lost = malloc(4096);
    return lost ? redacted(args) : STATUS_MEMORY;
}

/* Forgets an output. Must be rejected. */
static Status no_data(const VariantArgs *args) {
    TRY(redacted(args));
    args->memory->release(args->memory, args->out[CHARS].data, args->stream);
    args->out[CHARS].data = NULL;
    return STATUS_OK;
}

/* Writes one byte past the end of its chars. Must be rejected: the upper guard changed. */
static Status overruns_block(const VariantArgs *args) {
    TRY(redacted(args));
    ((unsigned char *)args->out[CHARS].data)[args->out[CHARS].shape[0]] = 0;
    return STATUS_OK;
}

/* Writes one byte past the end of a block that it releases. Must be rejected all the same. */
static Status overruns_scratch(const VariantArgs *args) {
    void *block = NULL;
    TRY(args->memory->allocate(args->memory, 1000, args->stream, &block));
    ((unsigned char *)block)[1000] = 0;
    args->memory->release(args->memory, block, args->stream);
    return redacted(args);
}

/* Releases what the harness owns. Must be rejected. */
static Status releases_input(const VariantArgs *args) {
    TRY(redacted(args));
    args->memory->release(args->memory, args->in[1].data, args->stream);
    return STATUS_OK;
}

/* Releases a block twice. Must be rejected. */
static Status releases_twice(const VariantArgs *args) {
    void *block = NULL;
    TRY(args->memory->allocate(args->memory, 1000, args->stream, &block));
    args->memory->release(args->memory, block, args->stream);
    args->memory->release(args->memory, block, args->stream);
    return redacted(args);
}

/* Says more than its block holds. Must be rejected. */
static Status too_long(const VariantArgs *args) {
    TRY(redacted(args));
    args->out[CHARS].shape[0]++;
    return STATUS_OK;
}

/* Says more than the op allows. Must be rejected. */
static Status too_many_rows(const VariantArgs *args) {
    TRY(redacted(args));
    args->out[OFFSETS].shape[0]++;
    return STATUS_OK;
}

/* Says one byte less than there is. Must be rejected by the size. */
static Status too_short(const VariantArgs *args) {
    TRY(redacted(args));
    args->out[CHARS].shape[0]--;
    return STATUS_OK;
}

/* Every second call is wrong. Must be rejected: two runs on the same inputs differ. */
static Status unsteady(const VariantArgs *args) {
    static int calls;
    TRY(redacted(args));
    if (calls++ % 2 == 1) ((unsigned char *)args->out[CHARS].data)[0] ^= 1;
    return STATUS_OK;
}

/* Does not write its last bytes, which its memory may hold from the call before. Must be rejected. */
static Status unwritten(const VariantArgs *args) {
    TRY(redacted(args));
    Array *chars = &args->out[CHARS];
    void *copy = NULL;
    TRY(args->memory->allocate(args->memory, chars->shape[0], args->stream, &copy));
    memcpy(copy, chars->data, chars->shape[0] - 3);
    args->memory->release(args->memory, chars->data, args->stream);
    chars->data = copy;
    return STATUS_OK;
}

/* One letter is another. Must be rejected, with the row quoted. */
static Status wrong_byte(const VariantArgs *args) {
    TRY(redacted(args));
    ((unsigned char *)args->out[CHARS].data)[args->out[CHARS].shape[0] / 2] ^= 1;
    return STATUS_OK;
}

/* A valid row becomes null. Must be rejected by the validity. */
static Status wrong_null(const VariantArgs *args) {
    TRY(redacted(args));
    unsigned char *validity = args->out[VALIDITY].data;
    for (size_t i = 0; i < args->out[VALIDITY].shape[0]; i++) {
        if (validity[i] == 0) continue;
        validity[i] &= (unsigned char)(validity[i] - 1);
        break;
    }
    return STATUS_OK;
}

/* One row ends a byte late. Must be rejected, though every letter is right. */
static Status wrong_offset(const VariantArgs *args) {
    TRY(redacted(args));
    ((int32_t *)args->out[OFFSETS].data)[args->out[OFFSETS].shape[0] / 2]++;
    return STATUS_OK;
}

#define MUTANTS(M)                                                                                                                 \
    M(nothing, redacted)                                                                                                           \
    M(cannot, cannot)                                                                                                              \
    M(count_on_device, count_on_device)                                                                                            \
    M(count_unwritten, count_unwritten)                                                                                            \
    M(empty_later, empty_later)                                                                                                    \
    M(foreign_pointer, foreign_pointer)                                                                                            \
    M(hands_over_released, hands_over_released)                                                                                    \
    M(leaks_block, leaks_block)                                                                                                    \
    M(leaks_elsewhere, leaks_elsewhere)                                                                                            \
    M(no_data, no_data)                                                                                                            \
    M(overruns_block, overruns_block)                                                                                              \
    M(overruns_scratch, overruns_scratch)                                                                                          \
    M(releases_input, releases_input)                                                                                              \
    M(releases_twice, releases_twice)                                                                                              \
    M(too_long, too_long)                                                                                                          \
    M(too_many_rows, too_many_rows)                                                                                                \
    M(too_short, too_short)                                                                                                        \
    M(unsteady, unsteady)                                                                                                          \
    M(unwritten, unwritten)                                                                                                        \
    M(wrong_byte, wrong_byte)                                                                                                      \
    M(wrong_null, wrong_null)                                                                                                      \
    M(wrong_offset, wrong_offset)
typedef struct Mutant {
    Status (*run)(const VariantArgs *args);
} Mutant;
MUTANT_TABLE(Mutant)

static Status run(const VariantArgs *args) {
    return mutant_of(args)->run(args);
}

RUNGS_VARIANT(redact, cpu_mutants) = {
    .backend = BACKEND_CPU, .summary = "a redacted column with one mistake", .origin = "tests", .tunables = TUNABLES, .run = run};
