/* slice.cuh - a stretch of each row's characters. */
#ifndef RUNGS_STRINGS_SLICE_CUH
#define RUNGS_STRINGS_SLICE_CUH

#include "common/steps.cuh"
#include "common/strings/make.cuh"

template <typename O> struct Slice {
    enum { PIECES = 1 };
    StringsView<O> strings;
    size_t start, stop;

    __device__ bool valid(size_t row) const { return strings.valid(row); }
    __device__ StringSpan piece(size_t row, int) const {
        const StringSpan s = strings.span(row);
        size_t begin = 0, n = 0;
        for (; n < start && begin < s.size; n++) begin += utf8_first(s.bytes + begin, s.size - begin);
        size_t end = begin;
        for (; n < stop && end < s.size; n++) end += utf8_first(s.bytes + end, s.size - end);
        return {s.bytes + begin, end - begin};
    }
};

/* Characters [start, stop) of each row, as many of them as it has; characters of UTF-8, not bytes. Null rows stay null. */
template <typename O>
Status strings_slice(const VariantArgs *args, StringsView<O> strings, size_t start, size_t stop, StringsColumn<O> *out) {
    const StepRange step("slice");
    return strings_make(args, "slice", Slice<O>{strings, start, stop}, strings.rows, strings.validity, out);
}

#endif
