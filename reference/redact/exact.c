/* The oracles of `redact`: every row is null, or some bytes, a space and some more bytes. Written as the definitions in
 * docs/ops/redact.md read, and independent of how generated rows come to be. */
#include "redact.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_ROWS = 8192 /* a multiple of 8: chunks share no byte of a validity */ };

typedef struct Bytes {
    const unsigned char *at;
    size_t count;
} Bytes;

/* head + ' ' + tail */
typedef struct Redacted {
    bool null;
    Bytes head, tail;
} Redacted;

static const Redacted HIDDEN = {.head = {(const unsigned char *)"X", 1}, .tail = {(const unsigned char *)"X", 1}};

static size_t offset_at(const Array *offsets, size_t i) {
    return offsets->dtype == DTYPE_I32 ? (size_t)((const int32_t *)offsets->data)[i] : (size_t)((const int64_t *)offsets->data)[i];
}

/* column: its first array, the offsets; chars and validity follow. */
static Bytes text_at(const Array *column, size_t row) {
    const size_t begin = offset_at(&column[0], row), end = offset_at(&column[0], row + 1);
    return (Bytes){begin == end ? NULL : (const unsigned char *)column[1].data + begin, end - begin};
}

static bool valid_at(const Array *column, size_t row) {
    return column[2].shape[0] == 0 || (((const unsigned char *)column[2].data)[row / 8] >> row % 8 & 1);
}

static Bytes first_character(Bytes text) {
    if (text.count == 0) return text;
    const size_t width = redact_width(text.at[0]);
    return (Bytes){text.at, width < text.count ? width : text.count};
}

static bool equals(Bytes text, const char *word) {
    return text.count == strlen(word) && memcmp(text.at, word, text.count) == 0;
}

/* Where a word is; SIZE_MAX: nowhere. */
static size_t find(Bytes text, const char *word) {
    const size_t length = strlen(word);
    for (size_t i = 0; i + length <= text.count; i++)
        if (memcmp(text.at + i, word, length) == 0) return i;
    return SIZE_MAX;
}

static Redacted exact_row(const Array *in, size_t row) {
    const Array *names = &in[REDACT_NAMES_OFFSETS], *visibilities = &in[REDACT_VISIBILITIES_OFFSETS];
    if (!valid_at(names, row) || !valid_at(visibilities, row)) return (Redacted){.null = true};
    if (!equals(text_at(visibilities, row), "public")) return HIDDEN;
    const Bytes name = text_at(names, row);
    if (name.count == 0) return (Redacted){0};
    const unsigned char *space = memchr(name.at, ' ', name.count);
    if (!space) return (Redacted){.head = first_character(name), .tail = name};
    const size_t before = (size_t)(space - name.at);
    return (Redacted){.head = first_character((Bytes){space + 1, name.count - before - 1}), .tail = {name.at, before}};
}

/* The run of bytes above 0x20 that comes next; *rest is what follows it. */
static Bytes next_token(Bytes *rest) {
    while (rest->count && *rest->at <= 0x20) rest->at++, rest->count--;
    Bytes token = {rest->at, 0};
    while (rest->count && *rest->at > 0x20) rest->at++, rest->count--, token.count++;
    return token;
}

/* "X X" rows go through the same split, which leaves them as they are. */
static Redacted api_row(const Array *in, size_t row) {
    const Array *names = &in[REDACT_NAMES_OFFSETS], *visibilities = &in[REDACT_VISIBILITIES_OFFSETS];
    if (!valid_at(visibilities, row) || find(text_at(visibilities, row), "public") == SIZE_MAX) return HIDDEN;
    if (!valid_at(names, row)) return (Redacted){.null = true};
    Bytes rest = text_at(names, row);
    const Bytes one = next_token(&rest), two = next_token(&rest);
    if (two.count == 0) return (Redacted){.null = true};
    return (Redacted){.head = first_character(two), .tail = one};
}

static Redacted redact_row(const Array *in, RedactBound bound, size_t row) {
    return bound == REDACT_API ? api_row(in, row) : exact_row(in, row);
}

static size_t redacted_bytes(const Redacted *row) {
    return row->null ? 0 : row->head.count + 1 + row->tail.count;
}

static size_t row_count(const Array *in) {
    return in[REDACT_NAMES_OFFSETS].shape[0] - 1;
}

/* STATUS_INVALID unless each row lies within the column's bytes. */
static Status check_column(const Array *column) {
    const size_t rows = column[0].shape[0] - 1, bytes = column[1].shape[0];
    size_t bad = rows;
#pragma omp parallel for schedule(static) reduction(min : bad)
    for (size_t row = 0; row < rows; row++) {
        const size_t begin = offset_at(&column[0], row), end = offset_at(&column[0], row + 1); /* negative ones are huge */
        if (!(begin <= end && end <= bytes) && row < bad) bad = row;
    }
    if (bad < rows)
        return status_fail(STATUS_INVALID, "%s: row %zu is from byte %lld to %lld of the %zu in %s; offsets must not fall",
                           column[0].name, bad, (long long)offset_at(&column[0], bad), (long long)offset_at(&column[0], bad + 1),
                           bytes, column[1].name);
    return STATUS_OK;
}

/* Where each chunk of rows begins in the output, in newly allocated memory; the last element is the total. */
static Status count_chunks(const Array *in, RedactBound bound, size_t **starts, size_t *chunks) {
    TRY(check_column(&in[REDACT_NAMES_OFFSETS]));
    TRY(check_column(&in[REDACT_VISIBILITIES_OFFSETS]));
    const size_t rows = row_count(in), count = (rows + CHUNK_ROWS - 1) / CHUNK_ROWS;
    size_t *sums = calloc(count + 1, sizeof *sums);
    if (!sums) return status_fail(STATUS_MEMORY, "no memory for the sums of %zu chunks of rows", count);
#pragma omp parallel for schedule(dynamic)
    for (size_t c = 0; c < count; c++) {
        size_t sum = 0;
        for (size_t row = c * CHUNK_ROWS; row < (c + 1) * CHUNK_ROWS && row < rows; row++) {
            const Redacted redacted = redact_row(in, bound, row);
            sum += redacted_bytes(&redacted);
        }
        sums[c + 1] = sum;
    }
    for (size_t c = 0; c < count; c++) sums[c + 1] += sums[c];
    *starts = sums;
    *chunks = count;
    return STATUS_OK;
}

Status redact_count(const Array *in, RedactBound bound, size_t *bytes) {
    size_t *starts, chunks;
    TRY(count_chunks(in, bound, &starts, &chunks));
    *bytes = starts[chunks];
    free(starts);
    return STATUS_OK;
}

static unsigned char *put_bytes(unsigned char *to, Bytes bytes) {
    if (bytes.count) memcpy(to, bytes.at, bytes.count);
    return to + bytes.count;
}

/* The rows of chunk c, whose bytes begin at `start`. */
static void write_chunk(const Array *in, RedactBound bound, size_t c, size_t start, Array *out) {
    const size_t rows = row_count(in), end = (c + 1) * CHUNK_ROWS < rows ? (c + 1) * CHUNK_ROWS : rows;
    unsigned char *chars = out[REDACT_CHARS].data, *validity = out[REDACT_VALIDITY].shape[0] ? out[REDACT_VALIDITY].data : NULL;
    for (size_t row = c * CHUNK_ROWS; row < end; row++) {
        const Redacted redacted = redact_row(in, bound, row);
        redact_put_offset(&out[REDACT_OFFSETS], row, start);
        if (validity) {
            if (row % 8 == 0) validity[row / 8] = 0; /* unused bits of the last byte stay 0 */
            validity[row / 8] = (unsigned char)(validity[row / 8] | (redacted.null ? 0 : 1) << row % 8);
        }
        if (redacted.null) continue;
        unsigned char *to = put_bytes(chars + start, redacted.head);
        *to++ = ' ';
        put_bytes(to, redacted.tail);
        start += redacted_bytes(&redacted);
    }
}

Status redact_exact(const Case *problem, const Array *in, int bound, Array *out) {
    (void)problem;
    size_t *starts, chunks;
    TRY(count_chunks(in, (RedactBound)bound, &starts, &chunks));
    const size_t rows = row_count(in), total = starts[chunks];
    Status status = redact_check_bytes(out[REDACT_OFFSETS].dtype, "redacted.chars", total);
    if (status == STATUS_OK && total > out[REDACT_CHARS].shape[0])
        status = status_fail(STATUS_INTERNAL, "redacted.chars: %zu bytes in room for %zu", total, out[REDACT_CHARS].shape[0]);
    if (status == STATUS_OK) {
        out[REDACT_OFFSETS].shape[0] = rows + 1;
        out[REDACT_CHARS].shape[0] = total;
        const bool with = bound == REDACT_API || in[REDACT_NAMES_VALIDITY].shape[0] || in[REDACT_VISIBILITIES_VALIDITY].shape[0];
        out[REDACT_VALIDITY].shape[0] = with ? redact_validity_bytes(rows) : 0;
#pragma omp parallel for schedule(dynamic)
        for (size_t c = 0; c < chunks; c++) write_chunk(in, (RedactBound)bound, c, starts[c], out);
        redact_put_offset(&out[REDACT_OFFSETS], rows, total);
    }
    free(starts);
    return status;
}

/* ---- What any correct variant reads: see Op.least_read. */

enum { PUBLIC_BYTES = 6 };

static void need_bytes(Reads *reads, int chars, const Array *in, Bytes text) {
    if (text.count) reads_need(reads, chars, (size_t)(text.at - (const unsigned char *)in[chars].data), text.count);
}

/* To know that a text does not contain a word of six bytes, one byte in six has to be known: of six in one sector that sector. */
static void need_every_sixth(Reads *reads, const Array *in, Bytes text) {
    const size_t end = (size_t)(text.at - (const unsigned char *)in[REDACT_VISIBILITIES_CHARS].data) + text.count;
    for (size_t i = end - text.count; i + PUBLIC_BYTES <= end; i += PUBLIC_BYTES)
        if (reads->shift == 0 || i >> reads->shift == (i + PUBLIC_BYTES - 1) >> reads->shift)
            reads_need(reads, REDACT_VISIBILITIES_CHARS, i, 1);
}

static void need_visibility(Reads *reads, const Array *in, RedactBound bound, Bytes text, bool hidden) {
    if (hidden && text.count && (bound == REDACT_API || text.count == PUBLIC_BYTES)) need_every_sixth(reads, in, text);
    if (hidden) return;
    const size_t at = find(text, "public"), behind = at + PUBLIC_BYTES;
    if (find((Bytes){text.at + behind, text.count - behind}, "public") != SIZE_MAX) return; /* either one will do */
    need_bytes(reads, REDACT_VISIBILITIES_CHARS, in, (Bytes){text.at + at, PUBLIC_BYTES});
}

static void need_row(Reads *reads, const Array *in, RedactBound bound, size_t row) {
    const Array *names = &in[REDACT_NAMES_OFFSETS], *visibilities = &in[REDACT_VISIBILITIES_OFFSETS];
    const bool name_valid = valid_at(names, row), visibility_valid = valid_at(visibilities, row), api = bound == REDACT_API;
    const Redacted redacted = redact_row(in, bound, row);
    const bool hidden = !redacted.null && redacted.head.at == HIDDEN.head.at;
    if (in[REDACT_NAMES_VALIDITY].shape[0] && (api ? !hidden : visibility_valid))
        reads_need(reads, REDACT_NAMES_VALIDITY, row / 8, 1);
    if (in[REDACT_VISIBILITIES_VALIDITY].shape[0] && (api ? !hidden : name_valid))
        reads_need(reads, REDACT_VISIBILITIES_VALIDITY, row / 8, 1);
    if (!visibility_valid || (!api && !name_valid)) return;
    reads_need_elements(reads, REDACT_VISIBILITIES_OFFSETS, in, row, 1);
    need_visibility(reads, in, bound, text_at(visibilities, row), hidden);
    if (hidden || redacted.null) return;
    reads_need_elements(reads, REDACT_NAMES_OFFSETS, in, row, 1);
    need_bytes(reads, REDACT_NAMES_CHARS, in, redacted.tail);
    need_bytes(reads, REDACT_NAMES_CHARS, in, redacted.head); /* within the tail, or behind it */
}

typedef struct Needs {
    const Array *in;
    RedactBound bound;
} Needs;

static void need_chunk(const void *of, size_t chunk, Reads *reads) {
    const Needs *needs = of;
    const size_t rows = row_count(needs->in);
    for (size_t row = chunk * CHUNK_ROWS; row < (chunk + 1) * CHUNK_ROWS && row < rows; row++)
        need_row(reads, needs->in, needs->bound, row);
}

void redact_least_read(const Case *problem, const Array *in, int bound, Reads *reads) {
    (void)problem;
    reads_need_parts(reads, (row_count(in) + CHUNK_ROWS - 1) / CHUNK_ROWS, need_chunk, &(Needs){in, (RedactBound)bound});
}
