/* Idea: one read at the bandwidth of the memory, and nothing but sums. Blocks take slabs of columns x chunks of rows (_lines.cuh),
 * as many as the device holds at once; a thread has 4 columns in registers and 8 loads in flight. Distances are from the same point
 * in all blocks, the column's first row. So the sums of threads, of blocks and of chunks simply add up. A second kernel, one block
 * for a few columns, adds the chunks' sums and moves them to the mean; it is launched early (early_launch.cuh), so its blocks wait
 * in their places for the last sums. A matrix of few rows has one block for each pack of columns, and no second kernel.
 * Traffic: 1 read of the matrix in loads of 16 bytes (e4m3, e5m2: 8), 8 in flight per thread; 40 bytes (order 4) per column and
 *   chunk, written once and read once from the L2 cache. 2 launches; 1 if there is a single chunk of whole rows.
 * Rounding: in double; within a thread types below 32 bits in float (_narrow.cuh), of 256 lines at most: errors grow with their
 *   number, and those of 1,250 exceed the bound. The first row is one of the data, so it is at most sqrt(n) sigma from the mean,
 *   and sums exceed the moments n-fold at most, however far out it is: relative errors of n 2^-53. That is below the bound of
 *   float data for any n, not for doubles.
 * Limits: no float64, no weights: the first row may weigh next to nothing.
 * Origin: shifted sums by Chan, Golub and LeVeque 1983; ours. */
#include "_narrow.cuh"
#include "common/early_launch.cuh"

static const ParamSpec TUNABLES[] = {AUTO_SLAB_TUNABLE, SLAB_THREADS_TUNABLE, CHUNKS_TUNABLE, {}};

enum { WIDE_THREADS = 96, WIDE_BLOCKS_PER_SM = 4 /* up to 168 registers per thread */ };
enum { NARROW_LINES = 256 /* that a thread adds up in float */ };

static bool too_many_lines(const VariantArgs *args, const MomentsPlan &plan) {
    return dtype_is_narrow(args->problem->dtype) && plan.chunk_lines > (size_t)plan.ty * NARROW_LINES;
}

static MomentsPlan plan_of(const VariantArgs *args) {
    MomentsPlan plan = slab_plan(args, WIDE_THREADS, 1);
    if (params_int(args->tunables, "chunks") == 0 && too_many_lines(args, plan))
        plan_chunked(&plan, divide_up(plan.lines, (size_t)plan.ty * NARROW_LINES));
    return plan;
}

/* Of some rows of a column, about its first row. */
template <int ORDER> struct ColumnSums {
    double s[ORDER] = {}; /* s[p - 1] = sum (x - first)^p */
    Range<float> range;

    __device__ void merge(const ColumnSums &b) {
#pragma unroll
        for (int p = 0; p < ORDER; p++) s[p] += b.s[p];
        range.merge(b.range);
    }
    /* Lanes of a warp that lie `distance` apart: both get the sum. */
    __device__ void join_lanes(unsigned distance) {
        ColumnSums b;
#pragma unroll
        for (int p = 0; p < ORDER; p++) b.s[p] = __shfl_xor_sync(0xffffffffu, s[p], distance);
        b.range = {__shfl_xor_sync(0xffffffffu, range.low, distance), __shfl_xor_sync(0xffffffffu, range.high, distance)};
        merge(b);
    }
};

template <typename T> static __device__ inline float first_row(const MomentsView<T> &view, size_t c) {
    return view.rows > 0 ? wide(view.x[c]) : 0;
}

template <typename T, int ORDER>
static __device__ void write_column(const MomentsView<T> &view, size_t c, float first, const ColumnSums<ORDER> &all) {
    double sums[ORDER + 1];
#pragma unroll
    for (int p = 1; p <= ORDER; p++) sums[p] = all.s[p - 1];
    moments_write(view, c, Central<double, ORDER>::about((double)first, (double)view.rows, sums), all.range);
}

/* Column j of a thread's pack, before its first element. */
template <int ORDER, typename T>
static __device__ ShiftedColumn<float, ORDER> empty_column(const MomentsView<T> &view, const MomentsPlan &plan,
                                                           const MomentsPart &part, unsigned j) {
    ShiftedColumn<float, ORDER> column;
    column.center = part.works ? first_row(view, line_column(plan, view.cols, part.offset + j)) : 0;
    return column;
}
/* And with the element that lies after the last complete line. */
template <int ORDER, typename T>
static __device__ ShiftedColumn<float, ORDER> with_rest(const MomentsView<T> &view, const MomentsPlan &plan,
                                                        const MomentsPart &part, unsigned j, ShiftedColumn<float, ORDER> column) {
    if (part.works && part.has_rest && part.offset + j < plan.rest)
        column.push(wide(view.x[plan.lines * plan.line + part.offset + j]));
    return column;
}

/* WIDE: matrices of many columns have blocks of WIDE_THREADS, so that a thread has the registers for 12 loads in flight.
 * partials: [chunks * fold, cols]. If that is one row, the outputs are written at once. */
template <typename T, int ORDER, bool WIDE>
static __global__ void __launch_bounds__(WIDE ? WIDE_THREADS : MOMENTS_THREADS, WIDE ? WIDE_BLOCKS_PER_SM : BLOCKS_PER_SM)
    rows_kernel(MomentsView<T> view, MomentsPlan plan, ColumnSums<ORDER> *partials) {
    constexpr unsigned SIZE = PACK<T>;
    DYN_SHARED(double, shared);
    const MomentsPart part = part_of_thread<T>(plan);
    SlabSums<T, ORDER> sums;
    if constexpr (sizeof(T) < sizeof(float)) {
        const size_t count = part.works && part.begin < part.end ? (part.end - part.begin + plan.ty - 1) / plan.ty : 0;
        const NarrowColumns<T, ORDER> narrow = narrow_sums<T, ORDER>(view, plan, part, count, (LinePack<T> *)shared);
        __syncthreads(); /* the memory is used again */
        early_allow();
        sums = slab_sums<T, ORDER>(plan, part, shared, [&](unsigned j) {
            ShiftedColumn<float, ORDER> column = empty_column<ORDER>(view, plan, part, j);
            if (count > 0 && !narrow.join(j, count, &column))
                for (size_t line = part.begin; line < part.end; line += plan.ty)
                    column.push(wide(view.x[line * plan.line + part.offset + j]));
            return with_rest(view, plan, part, j, column);
        });
    } else {
        SlabReader<T, ORDER, (ORDER > 4 ? 4 : WIDE ? 12 : 8)> reader(view, plan, part);
        ShiftedColumn<float, ORDER> column[SIZE];
#pragma unroll
        for (unsigned j = 0; j < SIZE; j++) column[j] = empty_column<ORDER>(view, plan, part, j);
        reader.push_all([&](const LinePack<T> &pack) {
#pragma unroll
            for (unsigned j = 0; j < SIZE; j++) column[j].push(pack.at[j]);
        });
        early_allow(); /* the merge's blocks take their places while this one adds up */
        sums = slab_sums<T, ORDER>(plan, part, shared, [&](unsigned j) { return with_rest(view, plan, part, j, column[j]); });
    }
    const unsigned columns = sums.columns;
    const size_t first = part.offset - threadIdx.x % plan.tx * SIZE; /* of the slab */
    for (unsigned c = threadIdx.x; c < columns && first + c < plan.line; c += blockDim.x) {
        ColumnSums<ORDER> all;
#pragma unroll
        for (unsigned p = 0; p < ORDER; p++) all.s[p] = sums.segments[p * columns + c];
        all.range = {(float)sums.segments[ORDER * columns + c], (float)sums.segments[(ORDER + 1) * columns + c]};
        if (plan.chunks * plan.fold == 1)
            write_column(view, first + c, first_row(view, first + c), all);
        else
            partials[part.chunk * plan.line + first + c] = all;
    }
}

/* in: [rows, cols]. Blocks: groups of tx columns; thread (x, y) takes rows y, y + ty, ... of column x. tx: a power of two, at
 * most 8. */
template <typename T, int ORDER>
static __global__ void __launch_bounds__(REDUCE_THREADS)
    merge_kernel(MomentsView<T> view, const ColumnSums<ORDER> *in, size_t rows, unsigned tx) {
    constexpr unsigned WARPS = REDUCE_THREADS / 32;
    __shared__ double shared[WARPS][REDUCE_COLUMNS][sizeof(ColumnSums<ORDER>) / sizeof(double)];
    const unsigned x = threadIdx.x % tx, y = threadIdx.x / tx, ty = REDUCE_THREADS / tx;
    const size_t c = (size_t)blockIdx.x * tx + x;
    const float first = c < view.cols ? first_row(view, c) : 0; /* arrives while the sums do */
    early_wait();
    ColumnSums<ORDER> own;
    for (size_t row = y; c < view.cols && row < rows; row += ty) own.merge(in[row * view.cols + c]);
    for (unsigned distance = 16; distance >= tx; distance /= 2) own.join_lanes(distance);
    if (threadIdx.x % 32 < tx) memcpy(shared[threadIdx.x / 32][x], &own, sizeof own);
    __syncthreads();
    if (c >= view.cols || y > 0) return;
    for (unsigned warp = 1; warp < WARPS; warp++) {
        ColumnSums<ORDER> other;
        memcpy(&other, shared[warp][x], sizeof other);
        own.merge(other);
    }
    write_column(view, c, first, own);
}

/* ---- Host. */
template <typename T, int ORDER> static size_t block_bytes(const MomentsPlan &plan) {
    const size_t sums = slab_shared_bytes<T, ORDER>(plan),
                 ring = sizeof(T) < sizeof(float) ? narrow_ring_bytes<T>(plan.threads) : 0;
    return sums > ring ? sums : ring;
}

template <typename T, int ORDER> static Status launch_all(const VariantArgs *args) {
    const MomentsView<T> view = moments_view<T>(args);
    const MomentsPlan plan = plan_of(args);
    ColumnSums<ORDER> *const partials = (ColumnSums<ORDER> *)args->scratch;
    TRY(launch(plan.threads == WIDE_THREADS ? rows_kernel<T, ORDER, true> : rows_kernel<T, ORDER, false>,
               {dim3((unsigned)(plan.slabs * plan.chunks)), dim3(plan.threads), block_bytes<T, ORDER>(plan), args->stream}, view,
               plan, partials));
    if (plan_partial_rows(plan) == 1) return STATUS_OK;
    const unsigned tx = merge_columns(view.cols);
    return launch_early(merge_kernel<T, ORDER>, {dim3((unsigned)divide_up(view.cols, tx)), dim3(REDUCE_THREADS), 0, args->stream},
                        view, (const ColumnSums<ORDER> *)partials, plan_partial_rows(plan), tx);
}

/* Order 5 is computed as 6. */
static Status run(const VariantArgs *args) {
    return moments_with_narrow(
        args, [args]<typename T>() { return moments_order(args) > 4 ? launch_all<T, 6>(args) : launch_all<T, 4>(args); });
}

static size_t scratch_bytes(const VariantArgs *args) {
    const size_t rows = plan_partial_rows(plan_of(args)),
                 part = moments_order(args) > 4 ? sizeof(ColumnSums<6>) : sizeof(ColumnSums<4>);
    return rows > 1 ? rows * moments_cols(args) * part : 0;
}

static size_t shared_bytes(const VariantArgs *args) {
    const MomentsPlan plan = plan_of(args);
    return moments_with_narrow(
        args, [args, &plan]<typename T>() { return moments_order(args) > 4 ? block_bytes<T, 6>(plan) : block_bytes<T, 4>(plan); });
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (args->problem->dtype == DTYPE_F64)
        return variant_refuse(reason, "float64: rounding about the first row is outside the bound; cuda_one_read_shared_shift has "
                                      "its own point in each block");
    if (moments_weighted(args))
        return variant_refuse(reason, "weights: the first row may weigh next to nothing; cuda_two_pass_grid reads twice");
    if (dtype_is_narrow(args->problem->dtype) && !case_is_usual(args->problem))
        return variant_refuse(reason, "accumulate=f64: a thread adds f16, bf16, e4m3 and e5m2 in float; cuda_welford does not");
    const MomentsPlan plan = plan_of(args);
    if (too_many_lines(args, plan))
        return variant_refuse(reason,
                              "chunks=%zu: a thread adds %zu lines in float, %d at most keep to the bound; set more chunks, or 0",
                              plan.chunks, plan.chunk_lines / plan.ty, NARROW_LINES);
    const size_t needed = shared_bytes(args), most = device_block_shared_max();
    if (needed <= most) return true;
    return variant_refuse(reason, "shared memory: a block takes %zu bytes, this device has %zu; set a smaller slab", needed, most);
}

static Status configuration(const VariantArgs *args, LaunchNotes *out) {
    return plan_notes(plan_of(args), shared_bytes(args), out);
}

static const DType ACCUMULATES[] = {DTYPE_F64, DTYPE_COUNT};

RUNGS_VARIANT(moments, cuda_one_read_first_row) = {
    .backend = BACKEND_CUDA,
    .summary = "one read: all distances from a column's first row, so that sums of blocks and chunks add up; not float64",
    .origin = "Chan, Golub, LeVeque 1983; ours",
    .tunables = TUNABLES,
    .dtypes = MOMENTS_TYPES,
    .accumulates = ACCUMULATES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
    .configuration = configuration,
};
