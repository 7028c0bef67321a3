/* Idea: the obvious port: every thread transforms its row into memory that it gets from malloc(), in the kernel. The pointers are
 *   then gathered into a column and another kernel frees them.
 * Traffic: names, visibilities and offsets once; the output three times, and the allocator's own bookkeeping, which is what this
 *   variant is about: threads wait for each other's malloc() and free(). 4 kernels, one memory fill, and 1 copy to the host.
 * Rounding: none; exact.
 * Limits: the device's heap, whose size is settled once per process before its first use (heap_mib). A row that gets no memory is
 *   counted, nothing is written, and the call ends as an error that says how many; all other rows are freed first.
 * Origin: Wendt and Kimball, "Mastering String Transformations in RAPIDS libcudf" (2022), the custom kernel with malloc. */
#include "common/redact/gather.cuh"

static const ParamSpec TUNABLES[] = {
    MEMORY_TUNABLE,
    {"heap_mib", "MiB of the device's heap; 0: 128 bytes a row, twice the output's bytes, and 16 MiB; 64 at least", PARAM_INT, "0",
     0, 1 << 20, NULL},
    {},
};

enum { MISSED /* notes[MISSED]: rows that got no memory */ };

/* What the device's allocator takes for a short row, by guess from above: it documents neither its granularity nor its own needs. A
 * piece is aligned to 16 bytes. Long rows get twice their size, for what its bins leave over. */
static constexpr size_t MIB = (size_t)1 << 20, HEAP_ROW_BYTES = 128, HEAP_SPARE_BYTES = 16 * MIB;
/* Small cases take turns in one process, in any order; the first one's heap is to be large enough for all. */
static constexpr size_t HEAP_LEAST_MIB = 64;

static size_t heap_mib(const VariantArgs *args) {
    const size_t asked = (size_t)params_int(args->tunables, "heap_mib");
    const size_t rows = args->in[0].shape[0] - 1, bytes = array_count(&args->out[1]);
    const size_t needed = divide_up(rows * HEAP_ROW_BYTES + 2 * bytes + HEAP_SPARE_BYTES, MIB);
    return asked ? asked : needed > HEAP_LEAST_MIB ? needed : HEAP_LEAST_MIB;
}

/* A row's size; its bytes in memory of their own and its validity on the way. */
template <typename O> struct MallocTransform {
    RedactView<O> view;
    unsigned char *validity, **pieces;
    O *sizes;
    OffsetsResult *result;

    __device__ size_t operator()(size_t row) const {
        const bool valid = view.valid(row);
        validity_write(validity, view.rows(), row, valid);
        if (row >= view.rows()) return 0;
        sizes[row] = 0;
        pieces[row] = nullptr;
        if (!valid) return 0;
        const RedactedRow redacted = view.row(row);
        const size_t size = redacted_size(&redacted);
        unsigned char *piece = (unsigned char *)malloc(size);
        if (!piece) {
            atomicAdd(&result->notes[MISSED], 1ull);
            return 0;
        }
        redacted_write(&redacted, piece);
        pieces[row] = piece;
        sizes[row] = (O)size;
        return size;
    }
};

struct PieceRow {
    unsigned char *const *pieces;
    __device__ const unsigned char *operator()(size_t row) const { return pieces[row]; }
};

static __global__ void __launch_bounds__(OFFSETS_THREADS) free_kernel(OffsetsTiles tiles, unsigned char *const *pieces) {
    for (size_t round = 0; round < tiles.rounds; round++) {
        const size_t row = offsets_row(tiles, round);
        if (row < tiles.rows) free(pieces[row]);
    }
}

namespace { /* every variant has its own Redaction */
template <typename O> struct Redaction {
    OffsetsTiles tiles = {};
    StringsColumn<O> out;
    unsigned char **pieces = nullptr;
    O *sizes = nullptr;

    void release(const VariantArgs *args) {
        offsets_tiles_release(args, &tiles);
        memory_release(args, &sizes);
        memory_release(args, &pieces);
        strings_release(args, &out);
    }

    Status allocate(const VariantArgs *args, const RedactView<O> &view) {
        const StepRange step("allocate");
        TRY(memory_allocate(args, view.rows(), &pieces));
        TRY(memory_allocate(args, view.rows(), &sizes));
        TRY(strings_allocate(args, view.rows(), view.nullable(), &out));
        return offsets_tiles_create(args, view.rows(), &tiles);
    }

    Status transform(const VariantArgs *args, const RedactView<O> &view, OffsetsResult *result) {
        const StepRange step("redact");
        TRY(offsets_notes_clear(args, &tiles));
        TRY(offsets_sum(args, tiles, MallocTransform<O>{view, out.validity, pieces, sizes, tiles.result}, result));
        if (result->notes[MISSED])
            return status_fail(STATUS_MEMORY, "%llu of %zu rows did not fit the device heap of %zu MiB; set heap_mib",
                               result->notes[MISSED], view.rows(), *(const size_t *)args->state / MIB);
        return STATUS_OK;
    }

    /* From pieces to a column. */
    Status gather(const VariantArgs *args, const OffsetsResult &result) {
        TRY(redact_allocate_chars(args, result, &out));
        const StepRange step("column");
        return redact_gather(args, tiles, sizes, PieceRow{pieces}, &out);
    }

    Status free_pieces(const VariantArgs *args) {
        const StepRange step("free");
        return launch(free_kernel, offsets_shape(args, tiles), tiles, (unsigned char *const *)pieces);
    }

    Status run(const VariantArgs *args) {
        const RedactView<O> view = redact_view<O>(args);
        OffsetsResult result;
        TRY(allocate(args, view));
        Status status = transform(args, view, &result);
        if (status == STATUS_OK) status = gather(args, result);
        /* After a failure too; if a kernel did not run, the device is lost and this fails as well. */
        const Status freed = status == STATUS_DEVICE ? status : free_pieces(args);
        TRY(status);
        TRY(freed);
        strings_hand_over(args, 0, &out);
        return STATUS_OK;
    }
};
} // namespace

/* One heap, one size in a process; `asked` is what it was last set to, of which the driver may have made a little more. */
struct Heap {
    size_t bytes, asked;
};

/* The heap's size can be set until a kernel has used the heap, and trying it later is an error that tools count. So it is left
 * alone where it will do: a size that the user gave must be that size, another is large enough or not. */
static Status prepare(const VariantArgs *args, void **state) {
    static Heap heap;
    const bool given = params_int(args->tunables, "heap_mib") > 0;
    const size_t wanted = heap_mib(args) * MIB;
    cudaError_t set = cudaSuccess;
    TRY_CUDA(cudaDeviceGetLimit(&heap.bytes, cudaLimitMallocHeapSize));
    if (given ? heap.bytes != wanted && heap.asked != wanted : heap.bytes < wanted) {
        set = cudaDeviceSetLimit(cudaLimitMallocHeapSize, wanted);
        if (set != cudaSuccess) (void)cudaGetLastError();
        if (set == cudaSuccess) heap.asked = wanted;
        TRY_CUDA(cudaDeviceGetLimit(&heap.bytes, cudaLimitMallocHeapSize));
    }
    if (set != cudaSuccess || heap.bytes < wanted)
        return status_fail(STATUS_DEVICE, "the device heap has %zu MiB and could not be given %zu (heap_mib): %s", heap.bytes / MIB,
                           wanted / MIB, cudaGetErrorString(set));
    *state = &heap.bytes;
    return STATUS_OK;
}

static Status run(const VariantArgs *args) {
    return redact_dispatch<Redaction>(args);
}

static Status configuration(const VariantArgs *args, LaunchNotes *out) {
    launch_note(out, "heap_mib", (double)heap_mib(args));
    return STATUS_OK;
}

RUNGS_VARIANT(redact, cuda_malloc_in_kernel) = {
    .backend = BACKEND_CUDA,
    .summary = "every thread gets memory for its row from malloc() in the kernel; pointers gathered, freed by a kernel",
    .origin = "Wendt and Kimball 2022, the custom kernel with malloc",
    .tunables = TUNABLES,
    .prepare = prepare,
    .run = run,
    .configuration = configuration,
};
