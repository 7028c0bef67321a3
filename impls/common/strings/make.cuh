/* make.cuh - how a function over columns makes a new column of strings: sizes and validity, offsets, bytes; each step a kernel of
 * its own, whatever the function.
 *
 * What a row of the new column is says a function object:
 *
 *     struct Maker {
 *         enum { PIECES = 2 };
 *         __device__ bool valid(size_t row) const;
 *         __device__ StringSpan piece(size_t row, int k) const; // of a valid row; one after the other they are the row
 *     };
 */
#ifndef RUNGS_STRINGS_MAKE_CUH
#define RUNGS_STRINGS_MAKE_CUH

#include "common/strings/offsets.cuh"

#include <stdio.h>
#include <type_traits>

enum { MAKE_THREADS = 256, MAKE_LONG_BYTES = 64 /* rows that are longer on average are copied by warps */ };

/* A string that is the same for all rows; travels with the launch. */
enum { SCALAR_MAX = 63 };
struct StringsScalar {
    unsigned char bytes[SCALAR_MAX];
    unsigned char size;

    __device__ StringSpan span() const { return {bytes, size}; }
};

static inline Status strings_scalar(const char *text, StringsScalar *out) {
    *out = StringsScalar();
    const size_t size = strlen(text);
    if (size > SCALAR_MAX) return status_fail(STATUS_INTERNAL, "a string of %zu bytes for all rows; %d fit", size, (int)SCALAR_MAX);
    memcpy(out->bytes, text, size);
    out->size = (unsigned char)size;
    return STATUS_OK;
}

/* Threads for n items; a grid cannot be empty. */
static inline LaunchShape make_shape(const VariantArgs *args, size_t n) {
    return {dim3((unsigned)divide_up(n ? n : 1, MAKE_THREADS)), dim3(MAKE_THREADS), 0, args->stream};
}

template <typename Maker> __device__ size_t make_size(const Maker &maker, size_t row) {
    size_t size = 0;
    if (maker.valid(row))
        for (int k = 0; k < Maker::PIECES; k++) size += maker.piece(row, k).size;
    return size;
}

/* Sizes stand where the offsets will be, as unsigned numbers: a row that does not even fit into those is cut to the largest, which
 * is too large for the offsets all the same, so that it is refused. */
template <typename O, typename Maker>
static __global__ void __launch_bounds__(MAKE_THREADS) make_sizes_kernel(Maker maker, StringsColumn<O> column) {
    typedef std::make_unsigned_t<O> Size;
    const size_t row = (size_t)blockIdx.x * MAKE_THREADS + threadIdx.x;
    if (row < column.rows) {
        constexpr size_t largest = (Size) ~(Size)0;
        const size_t size = make_size(maker, row);
        column.offsets[row] = (O)(Size)(size < largest ? size : largest);
    }
    validity_write(column.validity, column.rows, row, row < column.rows && maker.valid(row));
}

template <typename O> struct MakeSizes {
    const O *sizes;
    size_t rows;

    __device__ size_t operator()(size_t row) const { return row < rows ? (size_t)(std::make_unsigned_t<O>)sizes[row] : 0; }
};

template <typename O, typename Maker>
static __global__ void __launch_bounds__(MAKE_THREADS)
    make_chars_kernel(const __grid_constant__ Maker maker, const __grid_constant__ StringsColumn<O> column) {
    const size_t row = (size_t)blockIdx.x * MAKE_THREADS + threadIdx.x;
    if (row >= column.rows || !maker.valid(row)) return;
    unsigned char *to = column.chars + column.offsets[row];
    for (int k = 0; k < Maker::PIECES; k++) to = string_copy(to, maker.piece(row, k));
}

/* A warp for a row. */
template <typename O, typename Maker>
static __global__ void __launch_bounds__(MAKE_THREADS)
    make_long_chars_kernel(const __grid_constant__ Maker maker, const __grid_constant__ StringsColumn<O> column) {
    const size_t row = ((size_t)blockIdx.x * MAKE_THREADS + threadIdx.x) / WARP;
    if (row >= column.rows || !maker.valid(row)) return;
    unsigned char *to = column.chars + column.offsets[row];
    for (int k = 0; k < Maker::PIECES; k++) {
        const StringSpan from = maker.piece(row, k);
        for (size_t i = threadIdx.x % WARP; i < from.size; i += WARP) to[i] = from.bytes[i];
        to += from.size;
    }
}

template <typename O, typename Maker>
Status make_chars(const VariantArgs *args, const Maker &maker, const StringsColumn<O> &column) {
    if (column.bytes == 0) return STATUS_OK;
    if (column.bytes / column.rows < MAKE_LONG_BYTES)
        return launch(make_chars_kernel<O, Maker>, make_shape(args, column.rows), maker, column);
    return launch(make_long_chars_kernel<O, Maker>, make_shape(args, column.rows * WARP), maker, column);
}

template <typename O, typename Maker>
Status make_column(const VariantArgs *args, const char *function, const Maker &maker, size_t rows, bool nullable,
                   StringsColumn<O> *out) {
    {
        const StepRange step("allocate");
        TRY(strings_allocate(args, rows, nullable, out));
    }
    if (rows > 0) TRY(launch(make_sizes_kernel<O, Maker>, make_shape(args, rows), maker, *out));
    char what[64];
    snprintf(what, sizeof what, "%s: its column", function);
    TRY(strings_offsets(args, what, MakeSizes<O>{out->offsets, rows}, out));
    return make_chars(args, maker, *out);
}

/* A new column of `rows` rows. function: whose it is, for messages. nullable: whether valid() may say no. On failure nothing stays
 * allocated. */
template <typename O, typename Maker>
Status strings_make(const VariantArgs *args, const char *function, const Maker &maker, size_t rows, bool nullable,
                    StringsColumn<O> *out) {
    const Status status = make_column(args, function, maker, rows, nullable, out);
    if (status != STATUS_OK) strings_release(args, out);
    return status;
}

#endif
