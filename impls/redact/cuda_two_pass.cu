/* Idea: a first pass writes how long every row becomes, a library's scan makes offsets of the lengths in place, exactly as
 *   much memory is allocated, and a second pass writes the bytes. A thread has a row, in blocks of 128; both passes search
 *   the name for its space, byte by byte, and the second copies byte by byte.
 * Traffic: offsets, visibilities and names up to their space twice, the second time from the L2 cache where it fits; 4 bytes
 *   a row (8 of int64 offsets) written, scanned in place (read and written) and read. Output bytes once. 4 kernels: sizes, 2
 *   of the scan, bytes. 5 allocations (two columns' children, offsets, the scan's memory, bytes). The host waits 5 times: for
 *   both columns' children, after the scan, for the last offset, at the end.
 * Rounding: none; exact.
 * Limits: a warp takes as long as its longest row, and neighbouring threads read bytes as far apart as their rows. At most
 *   2^31 - 2 rows. Added to the source: null rows (a bitmap that the first pass writes, if an input has one), and 64-bit
 *   offsets. Where int32 offsets might not hold the output (names and 5 bytes a row exceed 2^31 - 1) the sizes are summed in
 *   64 bits before the scan, 2 kernels and a wait more. Positions in a name are bytes: the source counts characters, with one
 *   more pass over the name.
 * Origin: Wendt and Kimball, "Mastering String Transformations in RAPIDS libcudf" (2022), the optimized custom kernel, as
 *   published. */
#include "_cudf.cuh"

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/transform_iterator.h>

#include <type_traits>

static const ParamSpec TUNABLES[] = {MEMORY_TUNABLE, {}};

/* Whole warps vote for the bitmap, so threads past the last row leave after that. */
template <typename O>
static __global__ void __launch_bounds__(CUDF_THREADS)
    sizes_kernel(CudfColumn<O> names, CudfColumn<O> visibilities, O *sizes, unsigned char *validity) {
    const unsigned row = threadIdx.x + blockIdx.x * CUDF_THREADS;
    const bool valid = row < names.rows && names.valid(row) && visibilities.valid(row);
    validity_write(validity, names.rows, row, valid);
    if (row >= names.rows) return;
    size_t size = 0;
    if (valid) {
        const StringSpan name = names.element(row), visibility = visibilities.element(row);
        size = REDACTED_HIDDEN_BYTES;
        if (string_is_public(visibility)) {
            const RedactedRow redacted = redacted_public(name, cudf_find_space(name));
            size = redacted_size(&redacted);
        }
    }
    sizes[row] = (O)size;
    if (row + 1 == names.rows) sizes[row + 1] = 0; /* the scan reads it; the source leaves it unwritten */
}

template <typename O>
static __global__ void __launch_bounds__(CUDF_THREADS)
    redact_kernel(CudfColumn<O> names, CudfColumn<O> visibilities, const O *offsets, unsigned char *chars) {
    const unsigned row = threadIdx.x + blockIdx.x * CUDF_THREADS;
    if (row >= names.rows) return;
    unsigned char *to = chars + offsets[row];
    if (!names.valid(row) || !visibilities.valid(row)) return;
    const StringSpan name = names.element(row), visibility = visibilities.element(row);
    if (string_is_public(visibility)) {
        cudf_write_public(redacted_public(name, cudf_find_space(name)), to);
    } else {
        to[0] = to[2] = 'X';
        to[1] = ' ';
    }
}

/* What a call allocates; null: not yet, or released. */
template <typename O> struct TwoPassMemory {
    CudfChildren<O> *names, *visibilities;
    unsigned char *library; /* the scan's, while it runs */
    StringsColumn<O> out;
};

/* A size that int32 cannot hold is right as an unsigned number: a row has at most 2^31 - 1 + 5 bytes. */
template <typename O> struct TwoPassSize {
    __host__ __device__ unsigned long long operator()(O size) const { return (std::make_unsigned_t<O>)size; }
};

/* Not in the source, whose sum would wrap: refuses what the offsets cannot hold. Only where the inputs leave it open. */
template <typename O> static Status check_bytes(const VariantArgs *args, TwoPassMemory<O> *memory) {
    const size_t most = array_count(&args->in[1]) + REDACTED_GROWTH_MAX * memory->out.rows;
    if (most <= (size_t)std::numeric_limits<O>::max()) return STATUS_OK;
    const auto sizes = thrust::make_transform_iterator((const O *)memory->out.offsets, TwoPassSize<O>());
    const cudaStream_t stream = (cudaStream_t)args->stream;
    unsigned long long *total = nullptr, bytes = 0;
    size_t room = 0;
    TRY_CUDA(cub::DeviceReduce::Sum(nullptr, room, sizes, total, (int)memory->out.rows, stream));
    room = divide_up(room, sizeof *total) * sizeof *total;
    TRY(memory_allocate(args, room + sizeof *total, &memory->library));
    total = (unsigned long long *)(memory->library + room);
    TRY_CUDA(cub::DeviceReduce::Sum(memory->library, room, sizes, total, (int)memory->out.rows, stream));
    TRY_CUDA(cudaMemcpyAsync(&bytes, total, sizeof bytes, cudaMemcpyDeviceToHost, stream));
    TRY_CUDA(cudaStreamSynchronize(stream));
    memory_release(args, &memory->library);
    return offsets_check<O>("redacted.chars", bytes);
}

/* Sizes become offsets in place; the last one is the number of bytes. */
template <typename O> static Status scan_sizes(const VariantArgs *args, TwoPassMemory<O> *memory, O *bytes) {
    const StepRange step("scan");
    const cudaStream_t stream = (cudaStream_t)args->stream;
    O *offsets = memory->out.offsets;
    const int n = (int)(memory->out.rows + 1);
    size_t room = 0;
    TRY(check_bytes(args, memory));
    TRY_CUDA(cub::DeviceScan::ExclusiveSum(nullptr, room, offsets, offsets, n, stream));
    TRY(memory_allocate(args, room, &memory->library));
    TRY_CUDA(cub::DeviceScan::ExclusiveSum(memory->library, room, offsets, offsets, n, stream));
    TRY_CUDA(cudaStreamSynchronize(stream)); /* as thrust::exclusive_scan does */
    memory_release(args, &memory->library);
    TRY_CUDA(cudaMemcpyAsync(bytes, offsets + memory->out.rows, sizeof *bytes, cudaMemcpyDeviceToHost, stream));
    TRY_CUDA(cudaStreamSynchronize(stream));
    return STATUS_OK;
}

template <typename O> static Status redact(const VariantArgs *args, TwoPassMemory<O> *memory) {
    const StringsView<O> in[2] = {strings_input<O>(args, 0), strings_input<O>(args, 3)};
    const size_t rows = in[0].rows;
    StringsColumn<O> *out = &memory->out;
    CudfColumn<O> names, visibilities;
    O bytes;
    {
        const StepRange step("allocate");
        if (rows == 0) return cudf_no_rows(args, out);
        TRY(cudf_column(args, in[0], &memory->names, &names));
        TRY(cudf_column(args, in[1], &memory->visibilities, &visibilities));
        TRY(strings_allocate(args, rows, in[0].validity || in[1].validity, out));
    }
    {
        const StepRange step("sizes");
        TRY(launch(sizes_kernel<O>, cudf_shape(args, rows), names, visibilities, out->offsets, out->validity));
    }
    TRY(scan_sizes(args, memory, &bytes));
    {
        const StepRange step("allocate");
        TRY(strings_allocate_chars(args, (size_t)bytes, out));
    }
    const StepRange step("write");
    TRY(launch(redact_kernel<O>, cudf_shape(args, rows), names, visibilities, (const O *)out->offsets, out->chars));
    TRY_CUDA(cudaStreamSynchronize((cudaStream_t)args->stream));
    strings_hand_over(args, 0, out);
    return STATUS_OK;
}

template <typename O> static Status run_typed(const VariantArgs *args) {
    TwoPassMemory<O> memory = {};
    const Status status = redact(args, &memory);
    const StepRange step("release");
    memory_release(args, &memory.library);
    memory_release(args, &memory.visibilities);
    memory_release(args, &memory.names);
    strings_release(args, &memory.out); /* after success it has nothing any more */
    return status;
}

static Status run(const VariantArgs *args) {
    return args->problem->dtype == DTYPE_I64 ? run_typed<int64_t>(args) : run_typed<int32_t>(args);
}

RUNGS_VARIANT(redact, cuda_two_pass) = {
    .backend = BACKEND_CUDA,
    .summary = "sizes, a library's scan in place, exact allocation, bytes: a thread per row, the transform runs twice",
    .origin = "Wendt and Kimball 2022, the optimized custom kernel, as published",
    .tunables = TUNABLES,
    .supports = cudf_supports,
    .run = run,
};
