/* contains.cuh - which rows contain a string: a column of booleans. */
#ifndef RUNGS_STRINGS_CONTAINS_CUH
#define RUNGS_STRINGS_CONTAINS_CUH

#include "common/steps.cuh"
#include "common/strings/make.cuh"

/* Booleans, a byte each, of 0 or 1; that of a null row is 0. Borrowed; no validity: all rows are valid. */
struct BoolsView {
    const unsigned char *values, *validity;
    size_t rows;

    __device__ bool valid(size_t i) const { return !validity || (validity[i / 8] >> i % 8 & 1); }
};

struct BoolsColumn {
    unsigned char *values = nullptr, *validity = nullptr;
    size_t rows = 0;

    BoolsView view() const { return {values, validity, rows}; }
};

/* On failure what was allocated stays in `out`, for bools_release(). */
static inline Status bools_allocate(const VariantArgs *args, size_t rows, bool with_validity, BoolsColumn *out) {
    const StepRange step("allocate");
    *out = BoolsColumn();
    out->rows = rows;
    TRY(memory_allocate(args, rows, &out->values));
    return with_validity ? memory_allocate(args, validity_room(rows), &out->validity) : STATUS_OK;
}

static inline void bools_release(const VariantArgs *args, BoolsColumn *column) {
    memory_release(args, &column->values);
    memory_release(args, &column->validity);
    column->rows = 0;
}

/* Byte by byte: in UTF-8 no character is part of another. */
static __device__ inline bool string_contains(StringSpan s, StringSpan needle) {
    for (size_t begin = 0; begin + needle.size <= s.size; begin++) {
        size_t i = 0;
        while (i < needle.size && s.bytes[begin + i] == needle.bytes[i]) i++;
        if (i == needle.size) return true;
    }
    return false;
}

template <typename O>
static __global__ void __launch_bounds__(MAKE_THREADS)
    contains_kernel(StringsView<O> strings, const __grid_constant__ StringsScalar needle, BoolsColumn out) {
    const size_t row = (size_t)blockIdx.x * MAKE_THREADS + threadIdx.x;
    const bool valid = row < strings.rows && strings.valid(row);
    if (row < strings.rows) out.values[row] = valid && string_contains(strings.span(row), needle.span());
    validity_write(out.validity, strings.rows, row, valid);
}

/* Null rows give null; every row contains "". On failure nothing stays allocated. */
template <typename O>
Status strings_contains(const VariantArgs *args, StringsView<O> strings, const char *needle, BoolsColumn *out) {
    const StepRange step("contains");
    *out = BoolsColumn();
    StringsScalar scalar;
    TRY(strings_scalar(needle, &scalar));
    Status status = bools_allocate(args, strings.rows, strings.validity, out);
    if (status == STATUS_OK && strings.rows > 0)
        status = launch(contains_kernel<O>, make_shape(args, strings.rows), strings, scalar, *out);
    if (status != STATUS_OK) bools_release(args, out);
    return status;
}

#endif
