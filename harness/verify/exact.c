#include "verify/exact.h"

#include "base/numbers.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK_BYTES = 1 << 20 };

static bool is_poison(const unsigned char *element, size_t size, unsigned char poison) {
    for (size_t i = 0; i < size; i++)
        if (element[i] != poison) return false;
    return true;
}

/* Elements [begin, end) of both; only chunks that differ are looked at one by one. */
static ExactReport compare_part(const Array *actual_array, const Array *expected_array, unsigned char poison, size_t begin,
                                size_t end) {
    const size_t size = dtype_size(expected_array->dtype);
    const unsigned char *actual = actual_array->data, *expected = expected_array->data;
    ExactReport part = {0};
    if (memcmp(actual + begin * size, expected + begin * size, (end - begin) * size) == 0) return part;
    for (size_t i = begin; i < end; i++) {
        if (memcmp(actual + i * size, expected + i * size, size) == 0) continue;
        if (part.mismatches++ == 0) part.first_mismatch = i;
        if (is_poison(actual + i * size, size, poison) && part.unwritten++ == 0) part.first_unwritten = i;
    }
    return part;
}

static void combine(ExactReport *total, const ExactReport *part) {
    if (part->mismatches && (!total->mismatches || part->first_mismatch < total->first_mismatch))
        total->first_mismatch = part->first_mismatch;
    if (part->unwritten && (!total->unwritten || part->first_unwritten < total->first_unwritten))
        total->first_unwritten = part->first_unwritten;
    total->mismatches += part->mismatches;
    total->unwritten += part->unwritten;
}

void exact_compare(const Array *actual, const Array *expected, unsigned char poison, ExactReport *out) {
    const size_t size = dtype_size(expected->dtype), n = array_count(actual), m = array_count(expected);
    const size_t both = n < m ? n : m, chunk = CHUNK_BYTES / size, chunks = (both + chunk - 1) / chunk;
    ExactReport total = {.count = n, .expected_count = m};
#pragma omp parallel for schedule(dynamic)
    for (size_t c = 0; c < chunks; c++) {
        const size_t begin = c * chunk, end = both - begin < chunk ? both : begin + chunk;
        const ExactReport part = compare_part(actual, expected, poison, begin, end);
        if (part.mismatches == 0) continue;
#pragma omp critical(exact_combine)
        combine(&total, &part);
    }
    if (n != m && total.mismatches == 0) total.first_mismatch = both;
    total.mismatches += n > m ? n - m : m - n;
    total.pass = actual->dtype == expected->dtype && n == m && total.mismatches == 0;
    *out = total;
}

/* ---- Words: what is wrong with an exact output: the element, and in string columns the row with its text and the expected one. */

enum { QUOTE_BYTES = 48 /* of a row's text */, BEFORE_BYTES = 16 /* of them before what differs */ };

/* A string column among the outputs: X.offsets, X.chars, X.validity; NULL where the op has none of that name. */
typedef struct Column {
    const Array *offsets, *chars, *validity;
} Column;

/* A row of it; text NULL: the offsets do not say where it is. */
typedef struct Row {
    bool exists, null;
    const unsigned char *text;
    size_t begin, bytes; /* begin: in chars */
} Row;

typedef struct Writer {
    char *text;
    size_t size, used;
} Writer;

__attribute__((format(printf, 2, 3))) static void put(Writer *w, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(w->text + w->used, w->size - w->used, format, arguments);
    va_end(arguments);
    if (length > 0) w->used += (size_t)length < w->size - w->used ? (size_t)length : w->size - w->used - 1;
}

static Column column_of(const Array *arrays, int count, const char *stem, size_t length) {
    Column column = {NULL, NULL, NULL};
    for (int i = 0; i < count; i++) {
        if (strncmp(arrays[i].name, stem, length) != 0) continue;
        const char *part = arrays[i].name + length;
        if (strcmp(part, ".offsets") == 0) column.offsets = &arrays[i];
        if (strcmp(part, ".chars") == 0) column.chars = &arrays[i];
        if (strcmp(part, ".validity") == 0) column.validity = &arrays[i];
    }
    return column;
}

static int64_t integer_at(const Array *array, size_t i) {
    switch (array->dtype) {
    case DTYPE_I32:
        return ((const int32_t *)array->data)[i];
    case DTYPE_I64:
        return ((const int64_t *)array->data)[i];
    case DTYPE_U8:
    case DTYPE_BOOL:
        return ((const uint8_t *)array->data)[i];
    case DTYPE_I8:
        return ((const int8_t *)array->data)[i];
    case DTYPE_U16:
        return ((const uint16_t *)array->data)[i];
    case DTYPE_U32:
        return ((const uint32_t *)array->data)[i];
    case DTYPE_U64:
        return (int64_t)((const uint64_t *)array->data)[i];
    default:
        return 0;
    }
}

static size_t rows_of(const Column *column) {
    const size_t count = array_count(column->offsets);
    return count > 0 ? count - 1 : 0;
}

static bool is_null(const Column *column, size_t row) {
    if (!column->validity || row / 8 >= array_count(column->validity)) return false;
    return (((const uint8_t *)column->validity->data)[row / 8] >> row % 8 & 1) == 0;
}

static Row row_at(const Column *column, size_t row) {
    Row found = {.exists = row < rows_of(column)};
    if (!found.exists) return found;
    const int64_t begin = integer_at(column->offsets, row), end = integer_at(column->offsets, row + 1);
    found.null = is_null(column, row);
    if (begin < 0 || end < begin || (uint64_t)end > array_count(column->chars)) return found;
    found.begin = (size_t)begin;
    found.bytes = (size_t)(end - begin);
    found.text = (const unsigned char *)column->chars->data + begin;
    return found;
}

/* The row that owns a byte of chars: the last whose offset is not beyond it. Of the expected column, whose offsets are sorted. */
static size_t row_of_char(const Column *column, size_t at) {
    size_t low = 0, high = rows_of(column);
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if ((uint64_t)integer_at(column->offsets, middle + 1) <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void put_quoted(Writer *w, const Row *row, size_t differs) {
    if (!row->exists) {
        put(w, "missing");
    } else if (row->null) {
        put(w, "null");
    } else if (!row->text) {
        put(w, "outside its character buffer");
    } else {
        size_t begin = differs > BEFORE_BYTES ? differs - BEFORE_BYTES : 0;
        if (begin > row->bytes) begin = row->bytes;
        const size_t length = row->bytes - begin < QUOTE_BYTES ? row->bytes - begin : QUOTE_BYTES;
        put(w, "%s\"", begin > 0 ? "..." : "");
        for (size_t i = begin; i < begin + length; i++) {
            const unsigned char c = row->text[i];
            if (c == '"' || c == '\\')
                put(w, "\\%c", c);
            else if (c >= 0x20 && c < 0x7f)
                put(w, "%c", c);
            else
                put(w, "\\x%02x", c);
        }
        put(w, "\"%s", begin + length < row->bytes ? "..." : "");
    }
}

/* Where two rows' texts part. */
static size_t first_difference(const Row *a, const Row *b) {
    size_t i = 0;
    while (a->text && b->text && i < a->bytes && i < b->bytes && a->text[i] == b->text[i]) i++;
    return i;
}

static void put_row(Writer *w, const Array *actual, const Array *expected, int count, int index, size_t element) {
    const char *name = expected[index].name, *dot = strrchr(name, '.');
    if (!dot) return;
    const Column is = column_of(actual, count, name, (size_t)(dot - name)),
                 should = column_of(expected, count, name, (size_t)(dot - name));
    if (!is.offsets || !is.chars || !should.offsets || !should.chars) return;
    size_t row;
    if (&expected[index] == should.chars) {
        row = row_of_char(&should, element);
    } else if (&expected[index] == should.offsets) {
        row = element > 0 ? element - 1 : 0; /* offset i is the end of row i - 1 */
    } else if (&expected[index] == should.validity && element < array_count(&actual[index]) &&
               element < array_count(&expected[index])) {
        const unsigned differing = (unsigned)(integer_at(&actual[index], element) ^ integer_at(&expected[index], element));
        row = 8 * element + (size_t)__builtin_ctz(differing | 256U);
    } else {
        return;
    }
    const Row a = row_at(&is, row), b = row_at(&should, row);
    if (!b.exists) return; /* past the last row: padding bits, or chars that no row owns */
    const size_t differs = first_difference(&a, &b);
    put(w, "; row %zu is ", row);
    put_quoted(w, &a, differs);
    put(w, ", expected ");
    put_quoted(w, &b, differs);
}

static void put_element(Writer *w, const Array *array, size_t i) {
    if (dtype_is_real(array->dtype))
        put(w, "%a", number_at(array, i));
    else if (array->dtype == DTYPE_U8)
        put(w, "0x%02" PRIx64, (uint64_t)integer_at(array, i));
    else
        put(w, "%" PRId64, integer_at(array, i));
}

char *exact_explain(const ExactReport *r, const Array *actual, const Array *expected, int count, int index, char *text,
                    size_t size) {
    Writer w = {text, size, 0};
    const Array *is = &actual[index], *should = &expected[index];
    if (size == 0) return text;
    text[0] = '\0';
    if (r->pass) return text;
    const char *name = should->name;
    const size_t at = r->first_mismatch;
    if (r->count != r->expected_count) put(&w, "%s has %zu elements, expected %zu", name, r->count, r->expected_count);
    if (at < r->count && at < r->expected_count) {
        put(&w, "%s%s[%zu] is ", w.used ? ": " : "", name, at);
        put_element(&w, is, at);
        put(&w, ", expected ");
        put_element(&w, should, at);
        if (r->unwritten && r->first_unwritten == at) put(&w, " (never written)");
    }
    put_row(&w, actual, expected, count, index, at);
    put(&w, "; %zu of %zu elements differ", r->mismatches, r->count > r->expected_count ? r->count : r->expected_count);
    if (r->unwritten) put(&w, ", %zu of them were never written", r->unwritten);
    return text;
}
