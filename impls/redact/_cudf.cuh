/* _cudf.cuh - what the three published programs take from libcudf: a column as kernels see it, and string views' search and copy.
 *
 * A kernel gets a column by value; the pointers of its two children, offsets and bytes, lie in device memory. So each column costs
 * a call one small allocation, one copy to the device and a wait, and each thread one more load. */
#pragma once

#include "_column.cuh"

enum { CUDF_THREADS = 128 /* of the published kernels: a thread has a row */ };
constexpr size_t CUDF_ROWS_MAX = 2147483646; /* rows + 1 is of 32 bits there */

template <typename O> struct CudfChildren {
    const O *offsets;
    const unsigned char *chars;
};

template <typename O> struct CudfColumn {
    const CudfChildren<O> *children; /* in device memory */
    const unsigned char *validity;
    unsigned rows;

    __device__ bool valid(unsigned i) const { return !validity || (validity[i / 8] >> i % 8 & 1); }
    __device__ StringSpan element(unsigned i) const {
        const O begin = children->offsets[i], end = children->offsets[i + 1];
        return {children->chars + begin, (size_t)(end - begin)};
    }
};

/* *memory is the caller's to release. */
template <typename O>
static Status cudf_column(const VariantArgs *args, const StringsView<O> &view, CudfChildren<O> **memory, CudfColumn<O> *out) {
    const cudaStream_t stream = (cudaStream_t)args->stream;
    const CudfChildren<O> children = {view.offsets, view.chars};
    TRY(memory_allocate(args, 1, memory));
    TRY_CUDA(cudaMemcpyAsync(*memory, &children, sizeof children, cudaMemcpyHostToDevice, stream));
    TRY_CUDA(cudaStreamSynchronize(stream));
    *out = {*memory, view.validity, (unsigned)view.rows};
    return STATUS_OK;
}

static inline LaunchShape cudf_shape(const VariantArgs *args, size_t rows) {
    return {dim3((unsigned)divide_up(rows, CUDF_THREADS)), dim3(CUDF_THREADS), 0, args->stream};
}

static inline bool cudf_supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const size_t rows = args->in[0].shape[0] - 1;
    if (rows <= CUDF_ROWS_MAX) return true;
    return variant_refuse(reason, "rows=%zu: the published program counts rows in 32 bits, %zu at most", rows, CUDF_ROWS_MAX);
}

/* A column of no rows: one offset, 0. */
template <typename O> static Status cudf_no_rows(const VariantArgs *args, StringsColumn<O> *out) {
    TRY(strings_allocate(args, 0, false, out));
    TRY_CUDA(cudaMemsetAsync(out->offsets, 0, sizeof(O), (cudaStream_t)args->stream));
    strings_hand_over(args, 0, out);
    return STATUS_OK;
}

/* Byte by byte. Positions are bytes where libcudf counts characters: the same parts of a name in valid UTF-8. */
static __device__ inline size_t cudf_find_space(StringSpan s) {
    size_t i = 0;
    while (i < s.size && s.bytes[i] != ' ') i++;
    return i;
}

/* memcpy in device code: a loop over bytes. Returns the end. */
static __device__ inline unsigned char *cudf_copy(unsigned char *to, StringSpan s) {
    for (size_t i = 0; i < s.size; i++) to[i] = s.bytes[i];
    return to + s.size;
}

/* Bytes of a string view for the library's sums; a null row has no pointer. */
template <typename T> struct CudfViewSize {
    __host__ __device__ T operator()(const StringSpan &view) const { return view.bytes ? (T)view.size : 0; }
};

static __device__ inline void cudf_write_public(const RedactedRow &row, unsigned char *to) {
    to = cudf_copy(to, row.initial);
    *to++ = ' ';
    cudf_copy(to, row.rest);
}
