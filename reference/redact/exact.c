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

static bool contains(Bytes text, const char *word) {
    const size_t length = strlen(word);
    for (size_t i = 0; i + length <= text.count; i++)
        if (memcmp(text.at + i, word, length) == 0) return true;
    return false;
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
    if (!valid_at(visibilities, row) || !contains(text_at(visibilities, row), "public")) return HIDDEN;
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

/* What a row needs of its inputs. */
typedef struct RowReads {
    size_t offsets, chars;
    bool names_bit, visibilities_bit; /* of the bitmaps, where there are any */
} RowReads;

static RowReads row_reads(const Array *in, RedactBound bound, size_t row) {
    enum { PUBLIC_BYTES = 6 };
    const Array *names = &in[REDACT_NAMES_OFFSETS], *visibilities = &in[REDACT_VISIBILITIES_OFFSETS];
    const bool name_valid = valid_at(names, row), visibility_valid = valid_at(visibilities, row), api = bound == REDACT_API;
    const Redacted redacted = redact_row(in, bound, row);
    const bool hidden = !redacted.null && redacted.head.at == HIDDEN.head.at;
    RowReads reads = {.names_bit = api ? !hidden : visibility_valid, .visibilities_bit = api ? !hidden : name_valid};
    if (!visibility_valid || (!api && !name_valid)) return reads;
    const size_t visibility = text_at(visibilities, row).count;
    reads.offsets = 1;
    /* To know that a text does not contain a word of six bytes, one byte in six has to be known. */
    reads.chars = !hidden ? PUBLIC_BYTES : api ? visibility / PUBLIC_BYTES : visibility == PUBLIC_BYTES;
    if (hidden || redacted.null) return reads;
    const size_t name = text_at(names, row).count, copied = redacted_bytes(&redacted) - 1;
    reads.offsets++;
    reads.chars += copied < name ? copied : name; /* without a space the first character is copied twice */
    return reads;
}

double redact_least_read(const Case *problem, const Array *in, int bound) {
    const size_t rows = row_count(in), bytes = redact_validity_bytes(rows);
    size_t offsets = 0, others = 0;
#pragma omp parallel for schedule(static) reduction(+ : offsets, others)
    for (size_t byte = 0; byte < bytes; byte++) {
        bool names_bits = false, visibilities_bits = false;
        for (size_t row = 8 * byte; row < 8 * (byte + 1) && row < rows; row++) {
            const RowReads reads = row_reads(in, (RedactBound)bound, row);
            offsets += reads.offsets, others += reads.chars;
            names_bits |= reads.names_bit, visibilities_bits |= reads.visibilities_bit;
        }
        if (in[REDACT_NAMES_VALIDITY].shape[0] > 0 && names_bits) others++;
        if (in[REDACT_VISIBILITIES_VALIDITY].shape[0] > 0 && visibilities_bits) others++;
    }
    return (double)offsets * (double)dtype_size(problem->dtype) + (double)others;
}
