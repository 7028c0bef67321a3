/* copy_if_else.cuh - a column's rows where a mask is true, one string elsewhere. */
#ifndef RUNGS_STRINGS_COPY_IF_ELSE_CUH
#define RUNGS_STRINGS_COPY_IF_ELSE_CUH

#include "common/strings/contains.cuh"

template <typename O> struct CopyIfElse {
    enum { PIECES = 1 };
    StringsView<O> strings;
    StringsScalar otherwise;
    BoolsView mask;

    __device__ bool taken(size_t row) const { return mask.valid(row) && mask.values[row]; }
    __device__ bool valid(size_t row) const { return !taken(row) || strings.valid(row); }
    __device__ StringSpan piece(size_t row, int) const { return taken(row) ? strings.span(row) : otherwise.span(); }
};

/* A null in the mask counts as false. A row is null where the mask takes a null row. */
template <typename O>
Status strings_copy_if_else(const VariantArgs *args, StringsView<O> strings, const char *otherwise, BoolsView mask,
                            StringsColumn<O> *out) {
    const StepRange step("copy_if_else");
    CopyIfElse<O> maker = {strings, {}, mask};
    TRY(strings_scalar(otherwise, &maker.otherwise));
    return strings_make(args, "copy_if_else", maker, strings.rows, strings.validity, out);
}

#endif
