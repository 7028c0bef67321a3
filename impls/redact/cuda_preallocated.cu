/* Idea: redacted names are mostly no longer than names. So a buffer of the input's size has room for each public row where
 *   its name lies in the input: one kernel transforms all rows without knowing sizes beforehand, and leaves a pointer and a
 *   size of each (a string view, 16 bytes). Hidden rows all point at one "X X". libcudf's factory for string views then makes
 *   a column of them. A thread has a row, in blocks of 128, and searches and copies byte by byte.
 * Traffic: offsets, visibilities and public names once; public rows three times (written to the buffer, read, written), views
 *   written once and read 4 times, 64 + 16 bytes a row; offsets written and read. 7 kernels: transform, 2 of a reduction, 2
 *   of a scan, the bitmap, the bytes. 12 allocations. The host waits 7 times.
 * Rounding: none; exact.
 * Limits: a public row longer than its name (no space, or nothing behind it) would run into the next one's room. The source
 *   does not check; here the kernel leaves such a row out and the call ends as unsupported with the first of them. At most
 *   2^31 - 2 rows. Added to the source: that check, null rows, 64-bit offsets. Positions in a name are bytes: the source
 *   counts characters, with one more pass over the name. Long rows are copied by warps as there, but a byte a lane where
 *   libcudf copies 16.
 * Origin: Wendt and Kimball, "Mastering String Transformations in RAPIDS libcudf" (2022), the custom kernel with preallocated
 *   memory, as published. */
#include "_views.cuh"

static const ParamSpec TUNABLES[] = {MEMORY_TUNABLE, {}};

/* What the host must know of the rows; 0 before the first kernel. */
struct PreallocatedFound {
    unsigned long long misfit; /* NO_ROW minus the first row that does not fit; 0 if all do */
    unsigned long long bytes;  /* of all rows that fit */
};
static constexpr unsigned long long NO_ROW = ~0ull;

/* Kernel 1: a row's bytes where its name lies, and its view: of "X X" if hidden, without a pointer if null. */
template <typename O>
static __global__ void __launch_bounds__(CUDF_THREADS)
    redact_kernel(CudfColumn<O> names, CudfColumn<O> visibilities, StringSpan hidden, unsigned char *work, const O *offsets,
                  StringSpan *views, PreallocatedFound *found) {
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
    if (size > name.size) {
        views[row] = {nullptr, size};
        atomicMax(&found->misfit, NO_ROW - row);
        return;
    }
    unsigned char *to = work + offsets[row];
    views[row] = {to, size};
    cudf_write_public(redacted, to);
}

/* The first row that does not fit, in words. */
template <typename O> static Status refuse(const VariantArgs *args, const ViewsMemory<O, PreallocatedFound> *memory, size_t row) {
    const cudaStream_t stream = (cudaStream_t)args->stream;
    const O *const names = strings_input<O>(args, 0).offsets;
    StringSpan view;
    O offsets[2];
    TRY_CUDA(cudaMemcpyAsync(&view, memory->views + row, sizeof view, cudaMemcpyDeviceToHost, stream));
    TRY_CUDA(cudaMemcpyAsync(offsets, names + row, sizeof offsets, cudaMemcpyDeviceToHost, stream));
    TRY_CUDA(cudaStreamSynchronize(stream));
    return status_fail(STATUS_UNSUPPORTED, "row %zu needs %zu bytes, its input has %lld; a preallocated row has no more", row,
                       view.size, (long long)(offsets[1] - offsets[0]));
}

/* work: room for each row where its name lies; null until it is allocated. */
template <typename O>
static Status redact(const VariantArgs *args, ViewsMemory<O, PreallocatedFound> *memory, unsigned char **work) {
    const StringsView<O> in[2] = {strings_input<O>(args, 0), strings_input<O>(args, 3)};
    const size_t rows = in[0].rows;
    CudfColumn<O> names, visibilities;
    {
        const StepRange step("allocate");
        if (rows == 0) return cudf_no_rows(args, &memory->out);
        TRY(views_prepare(args, in, memory, &names, &visibilities));
        TRY(memory_allocate(args, array_count(&args->in[1]), work));
        TRY(memory_allocate(args, rows, &memory->views));
        memory->out.rows = rows;
    }
    {
        const StepRange step("redact");
        TRY(launch(redact_kernel<O>, cudf_shape(args, rows), names, visibilities, StringSpan{memory->hidden, REDACTED_HIDDEN_BYTES},
                   *work, in[0].offsets, memory->views, memory->found));
    }
    TRY(views_to_column(args, in[0].validity || in[1].validity, memory, [&](const PreallocatedFound &found) {
        return found.misfit ? refuse(args, memory, (size_t)(NO_ROW - found.misfit)) : STATUS_OK;
    }));
    TRY_CUDA(cudaStreamSynchronize((cudaStream_t)args->stream));
    strings_hand_over(args, 0, &memory->out);
    return STATUS_OK;
}

template <typename O> static Status run_typed(const VariantArgs *args) {
    ViewsMemory<O, PreallocatedFound> memory = {};
    unsigned char *work = nullptr;
    const Status status = redact(args, &memory, &work);
    const StepRange step("release");
    memory_release(args, &work);
    views_release(args, &memory);
    return status;
}

static Status run(const VariantArgs *args) {
    return args->problem->dtype == DTYPE_I64 ? run_typed<int64_t>(args) : run_typed<int32_t>(args);
}

RUNGS_VARIANT(redact, cuda_preallocated) = {
    .backend = BACKEND_CUDA,
    .summary = "public rows written where their names lie in a buffer of the input's size, then string views to a column; checks "
               "that each fits",
    .origin = "Wendt and Kimball 2022, the custom kernel with preallocated memory, as published",
    .tunables = TUNABLES,
    .supports = cudf_supports,
    .run = run,
};
