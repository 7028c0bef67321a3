/* _column.cuh - Arrow columns of strings on the device, and their memory: offsets (rows + 1 of type O), bytes, validity bits (least
 * significant first, 1 = valid; no bits: all rows are valid). Offsets of a slice do not begin at 0. */
#pragma once

#include "_row.h"
#include "common/grid.cuh"
#include "common/steps.cuh"
#include "kernel.h"
#include "variant.h"

#include <limits>

/* Borrowed. */
template <typename O> struct StringsView {
    const O *offsets;
    const unsigned char *chars;
    const unsigned char *validity; /* null: all rows are valid */
    size_t rows;

    __device__ bool valid(size_t i) const { return !validity || (validity[i / 8] >> i % 8 & 1); }
    __device__ size_t size(size_t i) const { return (size_t)(offsets[i + 1] - offsets[i]); }
    __device__ const unsigned char *data(size_t i) const { return chars + offsets[i]; }
    __device__ StringSpan span(size_t i) const {
        const O begin = offsets[i], end = offsets[i + 1];
        return {chars + begin, (size_t)(end - begin)};
    }
};

/* Owned: allocated from args->memory. Members that are not allocated are null. */
template <typename O> struct StringsColumn {
    O *offsets = nullptr;
    unsigned char *chars = nullptr;
    unsigned char *validity = nullptr;
    size_t rows = 0, bytes = 0;

    StringsView<O> view() const { return {offsets, chars, validity, rows}; }
};

/* Bytes of validity bits: Arrow counts bytes, warps write words of 4. */
constexpr size_t validity_bytes(size_t rows) {
    return (rows + 7) / 8;
}
constexpr size_t validity_room(size_t rows) {
    return (rows + 31) / 32 * 4;
}

/* n elements of device memory. */
template <typename T> static Status memory_allocate(const VariantArgs *args, size_t n, T **out) {
    void *pointer = nullptr;
    const Status status = args->memory->allocate(args->memory, n * sizeof(T), args->stream, &pointer);
    *out = status == STATUS_OK ? (T *)pointer : nullptr;
    return status;
}

/* Sets the pointer to null, so that releasing twice does no harm. */
template <typename T> static void memory_release(const VariantArgs *args, T **pointer) {
    if (*pointer) args->memory->release(args->memory, (void *)*pointer, args->stream);
    *pointer = nullptr;
}

/* Offsets and, if asked for, validity of a new column; its bytes follow when their number is known. On failure what was allocated
 * stays in `out`, for strings_release(). */
template <typename O>
static Status strings_allocate(const VariantArgs *args, size_t rows, bool with_validity, StringsColumn<O> *out) {
    *out = StringsColumn<O>();
    out->rows = rows;
    TRY(memory_allocate(args, rows + 1, &out->offsets));
    return with_validity ? memory_allocate(args, validity_room(rows), &out->validity) : STATUS_OK;
}

template <typename O> static Status strings_allocate_chars(const VariantArgs *args, size_t bytes, StringsColumn<O> *out) {
    out->bytes = bytes;
    return memory_allocate(args, bytes, &out->chars);
}

template <typename O> static void strings_release(const VariantArgs *args, StringsColumn<O> *column) {
    memory_release(args, &column->offsets);
    memory_release(args, &column->chars);
    memory_release(args, &column->validity);
    *column = StringsColumn<O>();
}

/* Inputs `first` to first + 2 of an op: offsets, bytes, validity, which may be empty. */
template <typename O> static StringsView<O> strings_input(const VariantArgs *args, int first) {
    const Array *in = args->in + first;
    return {(const O *)in[0].data, (const unsigned char *)in[1].data,
            array_count(&in[2]) > 0 ? (const unsigned char *)in[2].data : nullptr, in[0].shape[0] - 1};
}

/* The column becomes outputs `first` to first + 2 and owns nothing afterwards. */
template <typename O> static void strings_hand_over(const VariantArgs *args, int first, StringsColumn<O> *column) {
    Array *out = args->out + first;
    out[0].data = column->offsets;
    out[0].shape[0] = column->rows + 1;
    out[1].data = column->chars;
    out[1].shape[0] = column->bytes;
    out[2].data = column->validity;
    out[2].shape[0] = column->validity ? validity_bytes(column->rows) : 0;
    *column = StringsColumn<O>();
}

/* STATUS_INVALID if offsets of type O cannot count so many bytes. what: whose they are, as in "redacted.chars would have ...". */
template <typename O> static Status offsets_check(const char *what, unsigned long long bytes) {
    if (bytes <= (unsigned long long)std::numeric_limits<O>::max()) return STATUS_OK;
    return status_fail(STATUS_INVALID, "%s would have %llu bytes; int%d offsets hold %llu%s", what, bytes, (int)sizeof(O) * 8,
                       (unsigned long long)std::numeric_limits<O>::max(), sizeof(O) < 8 ? "; use dtype=i64" : "");
}

/* A warp writes the validity of its 32 rows, beginning with a multiple of 32. All lanes take part; those past the last row pass
 * false. Null: the column has no bits. */
static __device__ inline void validity_write(unsigned char *validity, size_t rows, size_t row, bool valid) {
    if (!validity) return;
    const unsigned word = __ballot_sync(0xffffffffu, valid);
    if (row % 32 == 0 && row < rows) ((unsigned *)validity)[row / 32] = word;
}

enum { COPY_STEP = 8 /* bytes of a store */, COPY_SHORT = 4 * COPY_STEP /* below this byte by byte */ };

/* As memcpy, by one thread; returns the end. Long strings: stores of 8 bytes once `to` is aligned, 8 loads in flight. */
static __device__ inline unsigned char *string_copy(unsigned char *to, StringSpan s) {
    size_t i = 0;
    if (s.size >= COPY_SHORT) {
        while ((uintptr_t)(to + i) % COPY_STEP) {
            to[i] = s.bytes[i];
            i++;
        }
        for (; i + COPY_STEP <= s.size; i += COPY_STEP) {
            unsigned long long word = 0;
#pragma unroll
            for (int k = 0; k < COPY_STEP; k++) word |= (unsigned long long)s.bytes[i + k] << 8 * k;
            *(unsigned long long *)(to + i) = word;
        }
    }
    for (; i < s.size; i++) to[i] = s.bytes[i];
    return to + s.size;
}
