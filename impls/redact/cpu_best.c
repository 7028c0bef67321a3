/* Idea: all cores. The rows are cut into parts; a first pass finds each part's bytes, their sums tell where it begins, a second
 * pass writes all parts at once. A short name is one vector: 16 bytes are loaded, compared with the space, and stored; bytes
 * stored past the row's end are overwritten by the next row of the same part. The few rows at a part's or a column's end, where 16
 * bytes would be out of bounds, and long names go byte by byte.
 * Traffic: offsets, validity, visibilities and names twice; output once.
 * Rounding: none; exact.
 * Limits: parts have equal numbers of rows, so a single very long row keeps one core busy.
 * Origin: ours; the vector comparison for a byte is folklore. */
#include "_cpu.h"

#include <omp.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

enum { PART = 4096 /* rows; a multiple of 8, so that parts share no byte of validity */, VECTOR = 16 };

static const ParamSpec TUNABLES[] = {
    {"threads", "threads; 0: all cores", PARAM_INT, "0", 0, 4096, NULL},
    {0},
};

/* A pass over one part of the rows. */
typedef struct Part {
    const RedactJob *job;
    size_t begin, end;
    const unsigned char *names_end; /* behind the last byte that rows own */
} Part;

/* "public" without a byte behind it being read. */
REDACT_INLINE bool is_public(StringSpan s) {
    uint32_t head, tail;
    if (s.size != 6) return false;
    memcpy(&head, s.bytes, 4);
    memcpy(&tail, s.bytes + 2, 4);
    uint32_t public_head, public_tail;
    memcpy(&public_head, "publ", 4);
    memcpy(&public_tail, "blic", 4);
    return head == public_head && tail == public_tail;
}

#ifdef __SSE2__
/* Can this public name be loaded as one vector? */
REDACT_INLINE bool is_short(const Part *part, StringSpan name) {
    return name.size - 1 < VECTOR && name.bytes + VECTOR <= part->names_end;
}

/* As redact_row() for a public name of 1 to 16 bytes. */
REDACT_INLINE RedactedRow short_row(StringSpan name) {
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)name.bytes);
    const unsigned spaces = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(' '))) & ((1u << name.size) - 1);
    const size_t space = spaces ? (size_t)__builtin_ctz(spaces) : name.size, last = spaces ? space + 1 : 0;
    const StringSpan rest = {name.bytes + last, name.size - last};
    return (RedactedRow){{rest.bytes, utf8_first(rest.bytes, rest.size)}, {name.bytes, space}, false};
}

/* 4 + 1 + 16 bytes, of which redacted_size() count. */
REDACT_INLINE void short_write(const RedactedRow *row, unsigned char *to) {
    const __m128i rest = _mm_loadu_si128((const __m128i *)(const void *)row->rest.bytes);
    for (size_t k = 0; k < row->initial.size; k++) to[k] = row->initial.bytes[k];
    to[row->initial.size] = ' ';
    _mm_storeu_si128((__m128i *)(void *)(to + row->initial.size + 1), rest);
}
enum { SHORT_ROOM = 4 + 1 + VECTOR };
#else
REDACT_INLINE bool is_short(const Part *part, StringSpan name) {
    (void)part, (void)name;
    return false;
}
REDACT_INLINE RedactedRow short_row(StringSpan name) {
    return (RedactedRow){{name.bytes, 0}, name, false};
}
REDACT_INLINE void short_write(const RedactedRow *row, unsigned char *to) {
    redacted_write(row, to);
}
enum { SHORT_ROOM = 0 };
#endif

REDACT_INLINE RedactedRow row_of(const Part *part, bool wide, size_t i, bool *is_vector) {
    const RedactJob *job = part->job;
    const StringSpan name = redact_span(&job->names, wide, i), visibility = redact_span(&job->visibilities, wide, i);
    *is_vector = false;
    if (!is_public(visibility)) return (RedactedRow){{name.bytes, 0}, {name.bytes, 0}, true};
    *is_vector = is_short(part, name);
    return *is_vector ? short_row(name) : redact_row(name, visibility);
}

REDACT_INLINE size_t part_count(const Part *part, bool wide) {
    size_t bytes = 0;
    for (size_t i = part->begin; i < part->end; i++) {
        if (!redact_valid(part->job, i)) continue;
        bool is_vector;
        const RedactedRow row = row_of(part, wide, i, &is_vector);
        bytes += redacted_size(&row);
    }
    return bytes;
}

/* The output of this part is [at, end) of the bytes: nothing is written past its end. */
REDACT_INLINE void part_write(const Part *part, bool wide, size_t at, size_t end) {
    const RedactJob *job = part->job;
    for (size_t i = part->begin; i < part->end; i++) {
        redact_store_offset(job, wide, i, at);
        if (!redact_valid(job, i)) continue;
        bool is_vector;
        const RedactedRow row = row_of(part, wide, i, &is_vector);
        if (is_vector && at + SHORT_ROOM <= end)
            short_write(&row, job->chars + at);
        else
            redacted_write(&row, job->chars + at);
        at += redacted_size(&row);
    }
    const size_t last = part->end == job->rows ? redact_validity_bytes(job) : part->end / 8;
    if (job->validity)
        for (size_t byte = part->begin / 8; byte < last; byte++) job->validity[byte] = redact_validity_byte(job, byte);
}

static Part part_of(const RedactJob *job, size_t k) {
    const size_t begin = k * PART, end = begin + PART;
    return (Part){job, begin, end < job->rows ? end : job->rows,
                  job->names.chars + redact_offset(job->names.offsets, job->wide, job->rows)};
}

static Status redact(const VariantArgs *args, RedactJob *job, size_t **ends) {
    const int asked = (int)params_int(args->tunables, "threads"), threads = asked ? asked : omp_get_max_threads();
    TRY(redact_job_open(args, job));
    const size_t parts = (job->rows + PART - 1) / PART;
    void *memory = NULL;
    TRY(args->memory->allocate(args->memory, parts * sizeof **ends, args->stream, &memory));
    *ends = memory;
    const bool wide = job->wide;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (size_t k = 0; k < parts; k++) {
        const Part part = part_of(job, k);
        (*ends)[k] = wide ? part_count(&part, true) : part_count(&part, false);
    }
    for (size_t k = 0; k < parts; k++) (*ends)[k] = job->bytes += (*ends)[k];
    TRY(redact_job_allocate(args, job));
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (size_t k = 0; k < parts; k++) {
        const Part part = part_of(job, k);
        if (wide)
            part_write(&part, true, k ? (*ends)[k - 1] : 0, (*ends)[k]);
        else
            part_write(&part, false, k ? (*ends)[k - 1] : 0, (*ends)[k]);
    }
    redact_store_offset(job, wide, job->rows, job->bytes);
    return STATUS_OK;
}

static Status run(const VariantArgs *args) {
    RedactJob job = {0};
    size_t *ends = NULL;
    const Status status = redact(args, &job, &ends);
    if (ends) args->memory->release(args->memory, ends, args->stream);
    return redact_job_close(args, &job, status);
}

RUNGS_VARIANT(redact, cpu_best) = {
    .backend = BACKEND_CPU,
    .summary = "two passes over parts of the rows on all cores; a short name is one vector",
    .origin = "ours",
    .tunables = TUNABLES,
    .run = run,
};
