/* Idea: the obvious port: every thread transforms its row into memory that it gets from malloc(), in the kernel, and leaves a
 *   pointer and a size (a string view, 16 bytes). Hidden rows all point at one "X X", so they neither allocate nor are freed.
 *   libcudf's factory for string views makes a column of them, and a last kernel frees the rows. A thread has a row, in
 *   blocks of 128, and searches and copies byte by byte.
 * Traffic: offsets, visibilities and public names once; public rows three times, views written once and read 5 times, 80 + 16
 *   bytes a row; offsets written and read; and the allocator's own bookkeeping, where most of the time goes: threads wait for
 *   each other's malloc() and free(). 8 kernels: transform, 2 of a reduction, 2 of a scan, the bitmap, the bytes,
 *   free. 11 allocations by the host. It waits 7 times.
 * Rounding: none; exact.
 * Limits: the device's heap, whose size is settled once per process before its first use (heap_mib; the source sets 1 GiB).
 *   The source does not check malloc(); here a row that gets no memory is counted and the call ends as an error that says how
 *   many, after all other rows are freed. At most 2^31 - 2 rows. Added to the source: that check, null rows, 64-bit offsets.
 *   Positions in a name are bytes: the source counts characters, with one more pass over the name. Long rows are copied by
 *   warps as there, but a byte a lane where libcudf copies 16.
 * Origin: Wendt and Kimball, "Mastering String Transformations in RAPIDS libcudf" (2022), the custom kernel with malloc, as
 *   published. */
#include "_views.cuh"

static const ParamSpec TUNABLES[] = {
    MEMORY_TUNABLE,
    {"heap_mib", "MiB of the device's heap; 0: 128 bytes a row, twice the output's bytes, and 16 MiB; 64 at least", PARAM_INT, "0",
     0, 1 << 20, NULL},
    {},
};

/* What the host must know of the rows; 0 before the first kernel. */
struct MallocFound {
    unsigned long long missed; /* rows that got no memory */
    unsigned long long bytes;  /* of all that did */
};

/* Kernel 1: a row's bytes in memory of their own, and its view: of "X X" if hidden, without a pointer if null. */
template <typename O>
static __global__ void __launch_bounds__(CUDF_THREADS)
    redact_kernel(CudfColumn<O> names, CudfColumn<O> visibilities, StringSpan hidden, StringSpan *views, MallocFound *found) {
    const unsigned row = threadIdx.x + blockIdx.x * CUDF_THREADS;
    if (row >= names.rows) return;
    if (!names.valid(row) || !visibilities.valid(row)) {
        views[row] = {nullptr, 0};
        return;
    }
    const StringSpan name = names.element(row), visibility = visibilities.element(row);
    if (!string_is_public(visibility)) {
        views[row] = hidden;
        return;
    }
    const RedactedRow redacted = redacted_public(name, cudf_find_space(name));
    const size_t size = redacted_size(&redacted);
    unsigned char *to = (unsigned char *)malloc(size);
    views[row] = {to, size};
    if (to)
        cudf_write_public(redacted, to);
    else
        atomicAdd(&found->missed, 1ull);
}

/* Kernel 8. */
static __global__ void __launch_bounds__(CUDF_THREADS) free_kernel(StringSpan hidden, const StringSpan *views, unsigned rows) {
    const unsigned row = threadIdx.x + blockIdx.x * CUDF_THREADS;
    if (row >= rows) return;
    const unsigned char *piece = views[row].bytes;
    if (piece != hidden.bytes) free((void *)piece);
}

/* An upper estimate of what the device's allocator takes for a short row: neither its granularity nor its overhead is documented.
 * Allocations are aligned to 16 bytes. Long rows get twice their size, for what rounding to the allocator's bins wastes. */
static constexpr size_t MIB = (size_t)1 << 20, HEAP_ROW_BYTES = 128, HEAP_SPARE_BYTES = 16 * MIB;
/* Small cases run in one process, in any order, and the first one settles the heap's size: it must suffice for all of them. */
static constexpr size_t HEAP_LEAST_MIB = 64;

static size_t heap_mib(const VariantArgs *args) {
    const size_t asked = (size_t)params_int(args->tunables, "heap_mib");
    const size_t rows = args->in[0].shape[0] - 1, bytes = array_count(&args->out[1]);
    const size_t needed = divide_up(rows * HEAP_ROW_BYTES + 2 * bytes + HEAP_SPARE_BYTES, MIB);
    return asked ? asked : needed > HEAP_LEAST_MIB ? needed : HEAP_LEAST_MIB;
}

template <typename O> static Status redact(const VariantArgs *args, ViewsMemory<O, MallocFound> *memory) {
    const StringsView<O> in[2] = {strings_input<O>(args, 0), strings_input<O>(args, 3)};
    const size_t rows = in[0].rows;
    CudfColumn<O> names, visibilities;
    {
        const StepRange step("allocate");
        if (rows == 0) return cudf_no_rows(args, &memory->out);
        TRY(views_prepare(args, in, memory, &names, &visibilities));
        TRY(memory_allocate(args, rows, &memory->views));
        memory->out.rows = rows;
    }
    const StringSpan hidden = {memory->hidden, REDACTED_HIDDEN_BYTES};
    {
        const StepRange step("redact");
        TRY(launch(redact_kernel<O>, cudf_shape(args, rows), names, visibilities, hidden, memory->views, memory->found));
    }
    const Status made = views_to_column(args, in[0].validity || in[1].validity, memory, [&](const MallocFound &found) {
        if (!found.missed) return STATUS_OK;
        return status_fail(STATUS_MEMORY, "%llu of %zu rows did not fit the device heap of %zu MiB; set heap_mib", found.missed,
                           rows, *(const size_t *)args->state / MIB);
    });
    if (made == STATUS_DEVICE) return made; /* a kernel did not run: the device is lost */
    {
        const StepRange step("free"); /* after another failure too */
        TRY(launch(free_kernel, cudf_shape(args, rows), hidden, (const StringSpan *)memory->views, (unsigned)rows));
        memory_release(args, &memory->views);
        TRY_CUDA(cudaStreamSynchronize((cudaStream_t)args->stream));
    }
    TRY(made);
    strings_hand_over(args, 0, &memory->out);
    return STATUS_OK;
}

template <typename O> static Status run_typed(const VariantArgs *args) {
    ViewsMemory<O, MallocFound> memory = {};
    const Status status = redact(args, &memory);
    const StepRange step("release");
    views_release(args, &memory);
    return status;
}

/* The heap has one size in a process. asked: what it was last set to; the driver may round that up. */
struct Heap {
    size_t bytes, asked;
};

/* The heap's size can be set until a kernel has used the heap; a later attempt is an error, which profilers and sanitizers report.
 * So it is set only where needed: a size that the user gave must match, a derived one must be large enough. */
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
    return args->problem->dtype == DTYPE_I64 ? run_typed<int64_t>(args) : run_typed<int32_t>(args);
}

static Status configuration(const VariantArgs *args, LaunchNotes *out) {
    launch_note(out, "heap_mib", (double)heap_mib(args));
    return STATUS_OK;
}

RUNGS_VARIANT(redact, cuda_malloc_in_kernel) = {
    .backend = BACKEND_CUDA,
    .summary = "every public row gets memory from malloc() in the kernel; string views to a column, freed by a kernel",
    .origin = "Wendt and Kimball 2022, the custom kernel with malloc, as published",
    .tunables = TUNABLES,
    .supports = cudf_supports,
    .prepare = prepare,
    .run = run,
    .configuration = configuration,
};
