/* _views.cuh - from string views to a column, as libcudf's factory does it: a reduction and a scan of the sizes, the bitmap, the
 * bytes; kernels 2 to 7 of the published programs that leave a string view (a pointer and a size) of each row. */
#pragma once

#include "_cudf.cuh"

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/transform_iterator.h>

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

/* What a call allocates; null: not yet, or released. Found: what the first kernel tells the host, and the `bytes` of all views. */
template <typename O, typename Found> struct ViewsMemory {
    CudfChildren<O> *names, *visibilities;
    unsigned char *hidden; /* "X X" */
    Found *found;
    StringSpan *views;      /* of all rows */
    unsigned char *library; /* of a reduction or scan, while it runs */
    unsigned *valid_count;  /* while the bitmap is made */
    StringsColumn<O> out;
};

template <typename O, typename Found> static void views_release(const VariantArgs *args, ViewsMemory<O, Found> *memory) {
    memory_release(args, &memory->valid_count);
    memory_release(args, &memory->library);
    memory_release(args, &memory->views);
    memory_release(args, &memory->found);
    memory_release(args, &memory->hidden);
    memory_release(args, &memory->visibilities);
    memory_release(args, &memory->names);
    strings_release(args, &memory->out); /* after success it has nothing any more */
}

/* The columns as kernels see them, and what they need beside the rows' memory. */
template <typename O, typename Found>
static Status views_prepare(const VariantArgs *args, const StringsView<O> in[2], ViewsMemory<O, Found> *memory,
                            CudfColumn<O> *names, CudfColumn<O> *visibilities) {
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
template <typename O, typename Found>
static Status views_sum_bytes(const VariantArgs *args, ViewsMemory<O, Found> *memory, Found *found) {
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
template <typename O, typename Found> static Status views_scan_offsets(const VariantArgs *args, ViewsMemory<O, Found> *memory) {
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
template <typename O, typename Found>
static Status views_find_nulls(const VariantArgs *args, ViewsMemory<O, Found> *memory, unsigned *valid_count) {
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
template <typename O, typename Found>
static Status views_copy_rows(const VariantArgs *args, ViewsMemory<O, Found> *memory, size_t valid_count) {
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

/* check(found): whether the first kernel could do all rows. */
template <typename O, typename Found, typename Check>
static Status views_to_column(const VariantArgs *args, bool nullable, ViewsMemory<O, Found> *memory, Check check) {
    const StepRange step("column");
    Found found;
    unsigned valid_count;
    TRY(views_sum_bytes(args, memory, &found));
    TRY(check(found));
    TRY(offsets_check<O>("redacted.chars", found.bytes));
    TRY(memory_allocate(args, memory->out.rows + 1, &memory->out.offsets));
    TRY(views_scan_offsets(args, memory));
    TRY(views_find_nulls(args, memory, &valid_count));
    if (!nullable) memory_release(args, &memory->out.validity);
    TRY(strings_allocate_chars(args, (size_t)found.bytes, &memory->out));
    return views_copy_rows(args, memory, valid_count);
}
