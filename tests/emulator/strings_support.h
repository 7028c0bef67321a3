/* strings_support.h - columns of strings for the tests of column functions: rows on the host, the same on the device, and whether a
 * column that a function made has the rows that it should. */
#pragma once

#include "redact/_column.cuh"
#include "selftest.h"

enum { ROW_MAX = 400, ROWS_MAX = 300 };

typedef struct Row {
    bool null;
    size_t size;
    unsigned char bytes[ROW_MAX];
} Row;

/* "é", NULL for null, ... as rows. */
static inline size_t rows_of(const char *const *texts, size_t n, Row *out) {
    for (size_t i = 0; i < n; i++) {
        out[i] = Row();
        out[i].null = !texts[i];
        if (!texts[i]) continue;
        out[i].size = strlen(texts[i]);
        memcpy(out[i].bytes, texts[i], out[i].size);
    }
    return n;
}

/* What the functions under test are called with; knows what they have not released, and can refuse an allocation. */
typedef struct Bench {
    VariantMemory memory; /* first: its functions get this structure's address */
    const Device *device;
    VariantArgs args;
    int live, refuse_after; /* allocations; -1: none is refused */
} Bench;

static inline Status bench_allocate(VariantMemory *memory, size_t bytes, void *, void **out) {
    Bench *bench = (Bench *)memory;
    *out = NULL;
    if (bench->refuse_after == 0) return status_fail(STATUS_MEMORY, "refused");
    if (bench->refuse_after > 0) bench->refuse_after--;
    if (bytes == 0) return STATUS_OK;
    TRY(bench->device->allocate(bytes, out));
    bench->live++;
    return STATUS_OK;
}

static inline void bench_release(VariantMemory *memory, void *pointer, void *) {
    Bench *bench = (Bench *)memory;
    if (!pointer) return;
    (void)bench->device->wait("a release");
    bench->device->release(pointer);
    bench->live--;
}

/* Stays where it is: args point into it. */
static inline void bench_init(const Device *device, Bench *bench) {
    *bench = Bench();
    bench->memory = {bench_allocate, bench_release};
    bench->device = device;
    bench->args.memory = &bench->memory;
    bench->args.stream = device->stream();
    bench->refuse_after = -1;
}

static inline Status bench_expect_live(const Bench *bench, int live, const char *what) {
    if (bench->live == live) return STATUS_OK;
    return status_fail(STATUS_CHECK, "%s: %d allocations are left, expected %d", what, bench->live, live);
}

/* A column on the device. lead: bytes before the first row that no row owns. Null rows own two bytes. Without nulls among the rows
 * and `validity` false it has no validity. */
template <typename O>
static inline Status rows_upload(const Device *device, const Row *rows, size_t n, size_t lead, bool validity, StringsView<O> *out) {
    static O offsets[ROWS_MAX + 1];
    static unsigned char chars[ROWS_MAX * ROW_MAX + 64], bits[ROWS_MAX / 8 + 1];
    memset(bits, 0, sizeof bits);
    memset(chars, '#', sizeof chars);
    size_t end = lead;
    for (size_t i = 0; i < n; i++) {
        offsets[i] = (O)end;
        if (!rows[i].null) {
            bits[i / 8] = (unsigned char)(bits[i / 8] | 1 << i % 8);
            memcpy(chars + end, rows[i].bytes, rows[i].size);
        } else {
            validity = true;
        }
        end += rows[i].null ? 2 : rows[i].size;
    }
    offsets[n] = (O)end;
    O *device_offsets;
    unsigned char *device_chars, *device_bits = NULL;
    TRY(make_array(device, offsets, n + 1, &device_offsets));
    TRY(make_array(device, chars, end ? end : 1, &device_chars));
    if (validity && n > 0) TRY(make_array(device, bits, validity_bytes(n), &device_bits));
    *out = {device_offsets, device_chars, device_bits, n};
    return STATUS_OK;
}

/* Bytes that a function made; every one of them, so that none is left out of the comparison. */
template <typename T> static inline Status fetch(const Device *device, const T *from, size_t n, T *to) {
    TRY(device->wait("a column function"));
    return n ? device->copy_out(to, from, n * sizeof(T)) : STATUS_OK;
}

/* Has the column exactly these rows, as a new column has them: offsets from 0, no bytes in null rows, unused bits 0? */
template <typename O>
static inline Status expect_rows(const Device *device, const StringsColumn<O> *column, const Row *rows, size_t n,
                                 const char *what) {
    static O offsets[ROWS_MAX + 1];
    static unsigned char chars[2 * ROWS_MAX * ROW_MAX], bits[ROWS_MAX / 8 + 1];
    if (column->rows != n) return status_fail(STATUS_CHECK, "%s: %zu rows, expected %zu", what, column->rows, n);
    TRY(fetch(device, column->offsets, n + 1, offsets));
    TRY(fetch(device, column->chars, column->bytes, chars));
    memset(bits, 0xff, sizeof bits);
    if (column->validity) TRY(fetch(device, column->validity, validity_bytes(n), bits));
    if (offsets[0] != 0 || (size_t)offsets[n] != column->bytes)
        return status_fail(STATUS_CHECK, "%s: offsets from %lld to %lld, %zu bytes", what, (long long)offsets[0],
                           (long long)offsets[n], column->bytes);
    for (size_t i = 0; i < n; i++) {
        const bool valid = bits[i / 8] >> i % 8 & 1;
        const size_t size = (size_t)(offsets[i + 1] - offsets[i]), expected = rows[i].null ? 0 : rows[i].size;
        if (valid == rows[i].null) return status_fail(STATUS_CHECK, "%s: row %zu is %s", what, i, valid ? "valid" : "null");
        if (size != expected) return status_fail(STATUS_CHECK, "%s: row %zu has %zu bytes, expected %zu", what, i, size, expected);
        if (size > 0 && memcmp(chars + offsets[i], rows[i].bytes, size) != 0)
            return status_fail(STATUS_CHECK, "%s: row %zu is '%.*s', expected '%.*s'", what, i, (int)size, chars + offsets[i],
                               (int)size, rows[i].bytes);
    }
    if (column->validity && n % 8 && bits[n / 8] >> n % 8)
        return status_fail(STATUS_CHECK, "%s: bits of rows that there are not", what);
    return STATUS_OK;
}
