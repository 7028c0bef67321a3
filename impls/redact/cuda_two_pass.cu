/* Idea: a first pass finds how long every row becomes, a scan makes offsets of the lengths, exactly as much memory is allocated,
 * and a second pass writes. The transform of a row is written once (common/strings/row.h): a pass asks it for the size, the other
 * for the bytes. A thread has a row. Lengths never lie in memory: both passes derive them, and what lies between is a sum per tile
 * of rows.
 * Traffic: offsets, validity and visibilities twice, and of public names what is up to their space; the second time from the L2 cache
 *   where it fits. Output once. 3 kernels and 1 copy of a number to the host, which waits for it.
 * Rounding: none; exact.
 * Limits: a warp takes as long as its longest row, and neighbouring threads read bytes as far apart as their rows.
 * Origin: Wendt and Kimball, "Mastering String Transformations in RAPIDS libcudf" (2022), the optimized custom kernel. */
#include "common/redact/case.cuh"

static const ParamSpec TUNABLES[] = {MEMORY_TUNABLE, {}};

/* A row's size; its validity on the way. */
template <typename O> struct RedactSizes {
    RedactView<O> view;
    unsigned char *validity;

    __device__ size_t operator()(size_t row) const {
        const bool valid = view.valid(row);
        validity_write(validity, view.rows(), row, valid);
        if (!valid) return 0;
        const RedactedRow redacted = view.row(row);
        return redacted_size(&redacted);
    }
};

template <typename O>
static __global__ void __launch_bounds__(OFFSETS_THREADS)
    write_kernel(OffsetsTiles tiles, RedactView<O> view, StringsColumn<O> out) {
    __shared__ ByteCount totals[OFFSETS_WARPS];
    unsigned long long base = tiles.tiles ? tiles.sums[blockIdx.x] : 0;
    for (size_t round = 0; round < tiles.rounds; round++) {
        const size_t row = offsets_row(tiles, round);
        const bool valid = view.valid(row);
        RedactedRow redacted = {};
        if (valid) redacted = view.row(row);
        const size_t size = valid ? redacted_size(&redacted) : 0;
        const unsigned long long begin = offsets_before(size, totals, &base);
        offsets_store(tiles, row, begin, size, out.offsets);
        if (valid) redacted_write(&redacted, out.chars + begin);
    }
}

namespace { /* every variant has its own Redaction */
template <typename O> struct Redaction {
    OffsetsTiles tiles = {};
    StringsColumn<O> out;

    void release(const VariantArgs *args) {
        offsets_tiles_release(args, &tiles);
        strings_release(args, &out);
    }

    Status run(const VariantArgs *args) {
        const RedactView<O> view = redact_view<O>(args);
        OffsetsResult result;
        {
            const StepRange step("allocate");
            TRY(strings_allocate(args, view.rows(), view.nullable(), &out));
            TRY(offsets_tiles_create(args, view.rows(), &tiles));
        }
        {
            const StepRange step("sizes");
            TRY(offsets_sum(args, tiles, RedactSizes<O>{view, out.validity}, &result));
        }
        TRY(redact_allocate_chars(args, result, &out));
        const StepRange step("write");
        TRY(launch(write_kernel<O>, offsets_shape(args, tiles), tiles, view, out));
        strings_hand_over(args, 0, &out);
        return STATUS_OK;
    }
};
} // namespace

static Status run(const VariantArgs *args) {
    return redact_dispatch<Redaction>(args);
}

RUNGS_VARIANT(redact, cuda_two_pass) = {
    .backend = BACKEND_CUDA,
    .summary = "sizes, scan, exact allocation, write: a thread per row, the transform written once",
    .origin = "Wendt and Kimball 2022, the optimized custom kernel",
    .tunables = TUNABLES,
    .run = run,
};
