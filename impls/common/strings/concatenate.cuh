/* concatenate.cuh - two columns, row by row, with a separator between them. */
#ifndef RUNGS_STRINGS_CONCATENATE_CUH
#define RUNGS_STRINGS_CONCATENATE_CUH

#include "common/steps.cuh"
#include "common/strings/make.cuh"

template <typename O> struct Concatenate {
    enum { PIECES = 3 };
    StringsView<O> left, right;
    StringsScalar separator;

    __device__ bool valid(size_t row) const { return left.valid(row) && right.valid(row); }
    __device__ StringSpan piece(size_t row, int k) const {
        return k == 0 ? left.span(row) : k == 1 ? separator.span() : right.span(row);
    }
};

/* Both columns have as many rows; a row is null where either is. */
template <typename O>
Status strings_concatenate(const VariantArgs *args, StringsView<O> left, StringsView<O> right, const char *separator,
                           StringsColumn<O> *out) {
    const StepRange step("concatenate");
    Concatenate<O> maker = {left, right, {}};
    TRY(strings_scalar(separator, &maker.separator));
    return strings_make(args, "concatenate", maker, left.rows, left.validity || right.validity, out);
}

#endif
