/* Idea: one call of cub::DeviceSegmentedReduce, a segment for each column. Its input iterator makes a part of each value (a weight,
 * a mean, moments of 0), its operator joins two parts by Pebay's formulas (Central in _shared.cuh), its output iterator writes the
 *   outputs of the column whose part is assigned to it. An offset has the column in its upper bits and the row in its lower 40, so
 *   that nobody divides. CUB gives a block to each column: its threads take rows in turn, then join their parts.
 * Traffic: 1 read of the matrix, a value at a time. Neighbouring threads are a row apart, so a load fetches a sector of 32 bytes for
 *   each value; blocks of neighbouring columns find it in the L2 cache, if they are as far as this one.
 * Rounding: a mean is rounded at each value, in double.
 * Limits: fewer columns than the device has places for blocks leave some of it idle. Up to 2^40 rows.
 * Origin: CUB; merging by Pebay 2008. */
#include "_shared.cuh"
#include "common/cub_text.cuh"
#include "common/scan_iterator.cuh"

#include <cub/device/device_segmented_reduce.cuh>

enum { ROW_BITS = 40 };

namespace { /* types of this variant alone */
/* A value of the matrix as a part of its column. */
template <typename T, int ORDER, bool WEIGHTED>
struct ValueParts : ScanIterator<ValueParts<T, ORDER, WEIGHTED>, CentralPartial<SumOf<T>, double, ORDER>,
                                 CentralPartial<SumOf<T>, double, ORDER>> {
    MomentsView<T> view;
    __device__ CentralPartial<SumOf<T>, double, ORDER> at(size_t offset) const {
        const size_t row = offset & (((size_t)1 << ROW_BITS) - 1), column = offset >> ROW_BITS;
        const SumOf<T> x = wide(view.x[row * view.cols + column]);
        CentralPartial<SumOf<T>, double, ORDER> part;
        part.center = part.range.low = part.range.high = x;
        part.moments.weight = WEIGHTED ? (double)view.weights[row] : 1;
        return part;
    }
};

/* Where the column of a segment begins in ValueParts, or ends. */
struct ColumnEdge : ScanIterator<ColumnEdge, long long, long long> {
    size_t rows; /* 0: where it begins */
    __host__ __device__ long long at(size_t column) const { return (long long)((column << ROW_BITS) + rows); }
};

/* Assigning the part of column c writes its outputs. */
template <typename T, int ORDER> struct ColumnOutput {
    const MomentsView<T> *view;
    size_t c;
    __device__ void operator=(const CentralPartial<SumOf<T>, double, ORDER> &all) const { central_write(*view, c, all); }
};
template <typename T, int ORDER>
struct ColumnOutputs : ScanIterator<ColumnOutputs<T, ORDER>, CentralPartial<SumOf<T>, double, ORDER>, ColumnOutput<T, ORDER>> {
    MomentsView<T> view;
    __device__ ColumnOutput<T, ORDER> at(size_t c) const { return {&view, c}; }
};

struct JoinParts {
    template <typename Part> __device__ Part operator()(Part first, const Part &other) const {
        first.merge(other);
        return first;
    }
};

} // namespace

/* moments_with_case(), with sums in double. */
template <typename Call> static Status with_case(const VariantArgs *args, Call call) {
    if (args->problem->dtype == DTYPE_F64) return moments_with_order<double, double>(args, call);
    return moments_with_narrow(args, [args, call]<typename T>() { return moments_with_order<T, double>(args, call); });
}

/* CUB's call: enqueues the reduction, or, if temporary is NULL, only sets *bytes to the size of the temporary memory it needs. */
static Status reduce(const VariantArgs *args, void *temporary, size_t *bytes) {
    if (moments_cols(args) == 0) return STATUS_OK;
    return with_case(args, [=]<typename T, typename, int ORDER, bool WEIGHTED>() {
        ValueParts<T, ORDER, WEIGHTED> in;
        ColumnOutputs<T, ORDER> out;
        ColumnEdge begin, end;
        in.view = out.view = moments_view<T>(args);
        begin.rows = 0, end.rows = moments_rows(args);
        TRY_CUDA(cub::DeviceSegmentedReduce::Reduce(temporary, *bytes, in, out, (long long)moments_cols(args), begin, end,
                                                    JoinParts(), CentralPartial<SumOf<T>, double, ORDER>(),
                                                    (cudaStream_t)args->stream));
        return STATUS_OK;
    });
}

static Status run(const VariantArgs *args) {
    size_t bytes = args->scratch_bytes;
    return reduce(args, args->scratch, &bytes);
}

static size_t scratch_bytes(const VariantArgs *args) {
    size_t bytes = 0;
    return reduce(args, NULL, &bytes) == STATUS_OK ? bytes : 0;
}

static const DType ACCUMULATES[] = {DTYPE_F64, DTYPE_COUNT};

RUNGS_VARIANT(moments, cuda_cub_segmented_reduce) = {
    .backend = BACKEND_CUDA,
    .summary = "one cub::DeviceSegmentedReduce, a segment for each column",
    .origin = "CUB; Pebay 2008",
    .library = CUB_TEXT,
    .dtypes = MOMENTS_TYPES,
    .accumulates = ACCUMULATES,
    .bound = "updating",
    .scratch_bytes = scratch_bytes,
    .run = run,
};
