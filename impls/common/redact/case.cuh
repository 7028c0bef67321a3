/* case.cuh - what the CUDA variants of `redact` make of a case: its columns, by the type of their offsets. */
#ifndef RUNGS_REDACT_CASE_CUH
#define RUNGS_REDACT_CASE_CUH

#include "common/steps.cuh"
#include "common/strings/offsets.cuh"

#include <stdint.h>

/* Both inputs, row by row. */
template <typename O> struct RedactView {
    StringsView<O> names, visibilities;

    __host__ __device__ size_t rows() const { return names.rows; }
    bool nullable() const { return names.validity || visibilities.validity; }
    /* Rows past the last are not valid. */
    __device__ bool valid(size_t i) const { return i < names.rows && names.valid(i) && visibilities.valid(i); }
    __device__ RedactedRow row(size_t i) const { return redact_row(names.span(i), visibilities.span(i)); }
};

template <typename O> RedactView<O> redact_view(const VariantArgs *args) {
    return {strings_input<O>(args, 0), strings_input<O>(args, 3)};
}

template <template <typename> class Redaction, typename O> Status redact_run(const VariantArgs *args) {
    Redaction<O> redaction;
    const Status status = redaction.run(args);
    const StepRange step("release");
    redaction.release(args); /* after success: what was not handed over */
    return status;
}

/* The bytes of the output, of which offsets of this type may not be able to tell. */
template <typename O> Status redact_allocate_chars(const VariantArgs *args, const OffsetsResult &result, StringsColumn<O> *out) {
    TRY(offsets_check<O>("redacted.chars", result.bytes));
    const StepRange step("allocate");
    return strings_allocate_chars(args, (size_t)result.bytes, out);
}

/* Runs Redaction<O> for the case's offsets: run(args), then release(args). */
template <template <typename> class Redaction> Status redact_dispatch(const VariantArgs *args) {
    return args->problem->dtype == DTYPE_I64 ? redact_run<Redaction, int64_t>(args) : redact_run<Redaction, int32_t>(args);
}

#endif
