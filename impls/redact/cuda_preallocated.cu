/* Idea: redacted names are mostly no longer than names. So a buffer of the input's size has room for each row where its name lies
 * in the input; one kernel transforms all rows into it, without knowing sizes beforehand, and a second moves them together.
 * Traffic: names, visibilities and offsets once; the output three times: written to the buffer, read from it, written. 3 kernels, one
 *   memory fill, and 1 copy of a number to the host, which waits for it.
 * Rounding: none; exact.
 * Limits: a row longer than its name would run into the next one's room. A public name without a space gets longer, and so does a
 *   hidden one of less than 3 bytes. Every row is checked before it is written, inside the call; the first that does not fit ends
 * the call as unsupported. A thread has a row, as in cuda_two_pass.
 * Origin: Wendt and Kimball, "Mastering String Transformations in RAPIDS libcudf" (2022), the custom kernel with preallocated memory. */
#include "common/redact/gather.cuh"

#include <type_traits>

static const ParamSpec TUNABLES[] = {MEMORY_TUNABLE, {}};

/* notes[UNSAFE]: NO_ROW minus the first row that does not fit; 0 if all do. */
enum { UNSAFE };
static constexpr unsigned long long NO_ROW = ~0ull;

/* A row's size; its bytes and its validity on the way. */
template <typename O> struct PreallocatedTransform {
    RedactView<O> view;
    unsigned char *validity, *work;
    O *sizes;
    OffsetsResult *result;

    __device__ size_t operator()(size_t row) const {
        const bool valid = view.valid(row);
        validity_write(validity, view.rows(), row, valid);
        if (row >= view.rows()) return 0;
        if (!valid) {
            sizes[row] = 0;
            return 0;
        }
        const RedactedRow redacted = view.row(row);
        const size_t size = redacted_size(&redacted);
        sizes[row] = (O)size;
        if (size > view.names.size(row))
            atomicMax(&result->notes[UNSAFE], NO_ROW - row);
        else
            redacted_write(&redacted, work + view.names.offsets[row]);
        return size;
    }
};

template <typename O> struct WorkRow {
    const unsigned char *work;
    const O *offsets;
    __device__ const unsigned char *operator()(size_t row) const { return work + offsets[row]; }
};

namespace { /* every variant has its own Redaction */
template <typename O> struct Redaction {
    OffsetsTiles tiles = {};
    StringsColumn<O> out;
    unsigned char *work = nullptr;
    O *sizes = nullptr;

    void release(const VariantArgs *args) {
        offsets_tiles_release(args, &tiles);
        memory_release(args, &sizes);
        memory_release(args, &work);
        strings_release(args, &out);
    }

    Status refuse(const VariantArgs *args, const RedactView<O> &view, size_t row) const {
        const cudaStream_t stream = (cudaStream_t)args->stream;
        O size, offsets[2]; /* a size can be more than O's largest number: it is what does not wrap in as many bits */
        TRY_CUDA(cudaMemcpyAsync(&size, sizes + row, sizeof size, cudaMemcpyDeviceToHost, stream));
        TRY_CUDA(cudaMemcpyAsync(offsets, view.names.offsets + row, sizeof offsets, cudaMemcpyDeviceToHost, stream));
        TRY_CUDA(cudaStreamSynchronize(stream));
        return status_fail(STATUS_UNSUPPORTED, "row %zu needs %llu bytes, its input has %lld; a preallocated row has no more", row,
                           (unsigned long long)(std::make_unsigned_t<O>)size, (long long)(offsets[1] - offsets[0]));
    }

    Status allocate(const VariantArgs *args, const RedactView<O> &view) {
        const StepRange step("allocate");
        TRY(memory_allocate(args, array_count(&args->in[1]), &work));
        TRY(memory_allocate(args, view.rows(), &sizes));
        TRY(strings_allocate(args, view.rows(), view.nullable(), &out));
        return offsets_tiles_create(args, view.rows(), &tiles);
    }

    Status transform(const VariantArgs *args, const RedactView<O> &view, OffsetsResult *result) {
        const StepRange step("redact");
        TRY(offsets_notes_clear(args, &tiles));
        TRY(offsets_sum(args, tiles, PreallocatedTransform<O>{view, out.validity, work, sizes, tiles.result}, result));
        return result->notes[UNSAFE] ? refuse(args, view, (size_t)(NO_ROW - result->notes[UNSAFE])) : STATUS_OK;
    }

    Status run(const VariantArgs *args) {
        const RedactView<O> view = redact_view<O>(args);
        OffsetsResult result;
        TRY(allocate(args, view));
        TRY(transform(args, view, &result));
        TRY(redact_allocate_chars(args, result, &out));
        const StepRange step("column");
        TRY(redact_gather(args, tiles, sizes, WorkRow<O>{work, view.names.offsets}, &out));
        strings_hand_over(args, 0, &out);
        return STATUS_OK;
    }
};
} // namespace

static Status run(const VariantArgs *args) {
    return redact_dispatch<Redaction>(args);
}

RUNGS_VARIANT(redact, cuda_preallocated) = {
    .backend = BACKEND_CUDA,
    .summary = "rows transformed in a buffer of the input's size, then moved together; checks that each row fits",
    .origin = "Wendt and Kimball 2022, the custom kernel with preallocated memory",
    .tunables = TUNABLES,
    .run = run,
};
