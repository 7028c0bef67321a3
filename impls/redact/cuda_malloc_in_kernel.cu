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
#include "_cudf.cuh"

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/transform_iterator.h>

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

/* libcudf's factory, from string views to a column: kernels 2 to 7 of a call. */
enum { VALID_THREADS = 256, COPY_THREADS = 256, COPY_ROWS = 2 /* a thread */, LONG_BYTES = 64, LONG_BLOCKS_MAX = 65536 };

/* A thread has a row: a warp's vote is a word of the bitmap, a block's number of valid rows one atomic addition. */
static __global__ void __launch_bounds__(VALID_THREADS)
    valid_kernel(const StringSpan *views, size_t rows, unsigned char *validity, unsigned *valid_count) {
    __shared__ unsigned counts[VALID_THREADS / 32];
    const size_t row = (size_t)blockIdx.x * VALID_THREADS + threadIdx.x;
    const bool valid = row < rows && views[row].bytes;
    validity_write(validity, rows, row, valid);
    const unsigned word = __ballot_sync(0xffffffffu, valid);
    if (threadIdx.x % 32 == 0) counts[threadIdx.x / 32] = (unsigned)__popc(word);
    __syncthreads();
    if (threadIdx.x > 0) return;
    unsigned count = 0;
    for (int warp = 0; warp < VALID_THREADS / 32; warp++) count += counts[warp];
    atomicAdd(valid_count, count);
}

/* A thread has two rows, 256 apart, and copies byte by byte. */
template <typename O>
static __global__ void __launch_bounds__(COPY_THREADS) copy_kernel(const StringSpan *views, StringsColumn<O> out) {
    for (int k = 0; k < COPY_ROWS; k++) {
        const size_t row = ((size_t)blockIdx.x * COPY_ROWS + k) * COPY_THREADS + threadIdx.x;
        if (row < out.rows && views[row].bytes) cudf_copy(out.chars + out.offsets[row], views[row]);
    }
}

/* For rows of more than 64 bytes on average: a warp has a row, then the one behind those of all warps; a lane every 32nd byte. */
template <typename O>
static __global__ void __launch_bounds__(CUDF_THREADS) copy_long_kernel(const StringSpan *views, StringsColumn<O> out) {
    const size_t warps = (size_t)gridDim.x * (CUDF_THREADS / 32);
    for (size_t row = ((size_t)blockIdx.x * CUDF_THREADS + threadIdx.x) / 32; row < out.rows; row += warps) {
        const StringSpan view = views[row];
        if (!view.bytes) continue;
        for (size_t i = threadIdx.x % 32; i < view.size; i += 32) out.chars[out.offsets[row] + i] = view.bytes[i];
    }
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

/* What a call allocates; null: not yet, or released. */
template <typename O> struct MallocMemory {
    CudfChildren<O> *names, *visibilities;
    unsigned char *hidden; /* "X X" */
    MallocFound *found;
    StringSpan *views;      /* of all rows */
    unsigned char *library; /* of a reduction or scan, while it runs */
    unsigned *valid_count;  /* while the bitmap is made */
    StringsColumn<O> out;
};

/* The columns as kernels see them, and what they need beside the rows' memory. */
template <typename O>
static Status prepare_inputs(const VariantArgs *args, const StringsView<O> in[2], MallocMemory<O> *memory, CudfColumn<O> *names,
                             CudfColumn<O> *visibilities) {
    const cudaStream_t stream = (cudaStream_t)args->stream;
    TRY(cudf_column(args, in[0], &memory->names, names));
    TRY(cudf_column(args, in[1], &memory->visibilities, visibilities));
    TRY(memory_allocate(args, REDACTED_HIDDEN_BYTES, &memory->hidden));
    TRY_CUDA(cudaMemcpyAsync(memory->hidden, "X X", REDACTED_HIDDEN_BYTES, cudaMemcpyHostToDevice, stream));
    TRY(memory_allocate(args, 1, &memory->found));
    TRY_CUDA(cudaMemsetAsync(memory->found, 0, sizeof *memory->found, stream));
    return STATUS_OK;
}

/* Kernels 2 and 3: the views' bytes, as a number on the host, and with it what the first kernel found. */
template <typename O> static Status sum_bytes(const VariantArgs *args, MallocMemory<O> *memory, MallocFound *found) {
    const cudaStream_t stream = (cudaStream_t)args->stream;
    const auto sizes = thrust::make_transform_iterator((const StringSpan *)memory->views, CudfViewSize<unsigned long long>());
    unsigned long long *const total = &memory->found->bytes;
    const int rows = (int)memory->out.rows;
    size_t room = 0;
    TRY_CUDA(cub::DeviceReduce::Sum(nullptr, room, sizes, total, rows, stream));
    TRY(memory_allocate(args, room, &memory->library));
    TRY_CUDA(cub::DeviceReduce::Sum(memory->library, room, sizes, total, rows, stream));
    TRY_CUDA(cudaMemcpyAsync(found, memory->found, sizeof *found, cudaMemcpyDeviceToHost, stream));
    TRY_CUDA(cudaStreamSynchronize(stream));
    memory_release(args, &memory->library);
    return STATUS_OK;
}

/* Kernels 4 and 5: the views' sizes, added up, are the offsets behind the first. */
template <typename O> static Status scan_offsets(const VariantArgs *args, MallocMemory<O> *memory) {
    const cudaStream_t stream = (cudaStream_t)args->stream;
    const auto sizes = thrust::make_transform_iterator((const StringSpan *)memory->views, CudfViewSize<O>());
    O *const ends = memory->out.offsets + 1;
    const int rows = (int)memory->out.rows;
    size_t room = 0;
    TRY_CUDA(cub::DeviceScan::InclusiveSum(nullptr, room, sizes, ends, rows, stream));
    TRY(memory_allocate(args, room, &memory->library));
    TRY_CUDA(cub::DeviceScan::InclusiveSum(memory->library, room, sizes, ends, rows, stream));
    TRY_CUDA(cudaStreamSynchronize(stream)); /* as thrust::inclusive_scan does */
    memory_release(args, &memory->library);
    TRY_CUDA(cudaMemsetAsync(memory->out.offsets, 0, sizeof(O), stream));
    return STATUS_OK;
}

/* Kernel 6: the bitmap, always made, and how many rows are valid. */
template <typename O> static Status find_nulls(const VariantArgs *args, MallocMemory<O> *memory, unsigned *valid_count) {
    const cudaStream_t stream = (cudaStream_t)args->stream;
    const size_t rows = memory->out.rows;
    TRY(memory_allocate(args, validity_room(rows), &memory->out.validity));
    TRY(memory_allocate(args, 1, &memory->valid_count));
    TRY_CUDA(cudaMemsetAsync(memory->valid_count, 0, sizeof *memory->valid_count, stream));
    TRY(launch(valid_kernel, {dim3((unsigned)divide_up(rows, VALID_THREADS)), dim3(VALID_THREADS), 0, args->stream},
               (const StringSpan *)memory->views, rows, memory->out.validity, memory->valid_count));
    TRY_CUDA(cudaMemcpyAsync(valid_count, memory->valid_count, sizeof *valid_count, cudaMemcpyDeviceToHost, stream));
    TRY_CUDA(cudaStreamSynchronize(stream));
    memory_release(args, &memory->valid_count);
    return STATUS_OK;
}

/* Kernel 7: the bytes. */
template <typename O> static Status copy_rows(const VariantArgs *args, MallocMemory<O> *memory, size_t valid_count) {
    StringsColumn<O> *const out = &memory->out;
    const StringSpan *const views = memory->views;
    const unsigned blocks = (unsigned)divide_up(out->rows, COPY_THREADS * COPY_ROWS);
    const size_t warps = divide_up(out->rows, CUDF_THREADS / 32);
    const unsigned long_blocks = (unsigned)(warps < LONG_BLOCKS_MAX ? warps : (size_t)LONG_BLOCKS_MAX);
    if (out->bytes / (valid_count ? valid_count : 1) > LONG_BYTES)
        TRY(launch(copy_long_kernel<O>, {dim3(long_blocks), dim3(CUDF_THREADS), 0, args->stream}, views, *out));
    else
        TRY(launch(copy_kernel<O>, {dim3(blocks), dim3(COPY_THREADS), 0, args->stream}, views, *out));
    TRY_CUDA(cudaStreamSynchronize((cudaStream_t)args->stream)); /* as thrust::for_each_n does */
    return STATUS_OK;
}

/* Views become a column. */
template <typename O> static Status make_column(const VariantArgs *args, bool nullable, MallocMemory<O> *memory) {
    const StepRange step("column");
    MallocFound found;
    unsigned valid_count;
    TRY(sum_bytes(args, memory, &found));
    if (found.missed)
        return status_fail(STATUS_MEMORY, "%llu of %zu rows did not fit the device heap of %zu MiB; set heap_mib", found.missed,
                           memory->out.rows, *(const size_t *)args->state / MIB);
    TRY(offsets_check<O>("redacted.chars", found.bytes));
    TRY(memory_allocate(args, memory->out.rows + 1, &memory->out.offsets));
    TRY(scan_offsets(args, memory));
    TRY(find_nulls(args, memory, &valid_count));
    if (!nullable) memory_release(args, &memory->out.validity);
    TRY(strings_allocate_chars(args, (size_t)found.bytes, &memory->out));
    return copy_rows(args, memory, valid_count);
}

template <typename O> static Status redact(const VariantArgs *args, MallocMemory<O> *memory) {
    const StringsView<O> in[2] = {strings_input<O>(args, 0), strings_input<O>(args, 3)};
    const size_t rows = in[0].rows;
    CudfColumn<O> names, visibilities;
    {
        const StepRange step("allocate");
        if (rows == 0) return cudf_no_rows(args, &memory->out);
        TRY(prepare_inputs(args, in, memory, &names, &visibilities));
        TRY(memory_allocate(args, rows, &memory->views));
        memory->out.rows = rows;
    }
    const StringSpan hidden = {memory->hidden, REDACTED_HIDDEN_BYTES};
    {
        const StepRange step("redact");
        TRY(launch(redact_kernel<O>, cudf_shape(args, rows), names, visibilities, hidden, memory->views, memory->found));
    }
    const Status made = make_column(args, in[0].validity || in[1].validity, memory);
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
    MallocMemory<O> memory = {};
    const Status status = redact(args, &memory);
    const StepRange step("release");
    memory_release(args, &memory.valid_count);
    memory_release(args, &memory.library);
    memory_release(args, &memory.views);
    memory_release(args, &memory.found);
    memory_release(args, &memory.hidden);
    memory_release(args, &memory.visibilities);
    memory_release(args, &memory.names);
    strings_release(args, &memory.out); /* after success it has nothing any more */
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
