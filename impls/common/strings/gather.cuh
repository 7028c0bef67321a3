/* gather.cuh - a new column from rows that lie anywhere: by index from another column, or by pointer. */
#ifndef RUNGS_STRINGS_GATHER_CUH
#define RUNGS_STRINGS_GATHER_CUH

#include "common/steps.cuh"
#include "common/strings/make.cuh"

template <typename O> struct Gather {
    enum { PIECES = 1 };
    StringsView<O> strings;
    const long long *indices;

    __device__ bool valid(size_t row) const {
        const size_t i = (size_t)indices[row]; /* a negative one is huge */
        return i < strings.rows && strings.valid(i);
    }
    __device__ StringSpan piece(size_t row, int) const { return strings.span((size_t)indices[row]); }
};

/* Row i is row indices[i] of `strings`; an index that there is no row for gives null. indices: n of them, on the device. */
template <typename O>
Status strings_gather(const VariantArgs *args, StringsView<O> strings, const long long *indices, size_t n, StringsColumn<O> *out) {
    const StepRange step("gather");
    return strings_make(args, "gather", Gather<O>{strings, indices}, n, true, out);
}

struct GatherSpans {
    enum { PIECES = 1 };
    const StringSpan *spans;

    __device__ bool valid(size_t row) const { return spans[row].bytes; }
    __device__ StringSpan piece(size_t row, int) const { return spans[row]; }
};

/* Row i is spans[i], which is in device memory and points there; null where its pointer is. */
template <typename O>
Status strings_gather_spans(const VariantArgs *args, const StringSpan *spans, size_t n, StringsColumn<O> *out) {
    const StepRange step("gather");
    return strings_make(args, "gather", GatherSpans{spans}, n, true, out);
}

#endif
