/* Idea: one read at the bandwidth of the memory. Blocks take slabs of columns x chunks of rows (_lines.cuh), as many as the device
 * holds at once; a thread has 4 (float) or 2 (double) columns in registers and 8 loads in flight. All threads of a block take
 * distances from the same point of a column, the mean of up to 32 of its rows that the block loads first. So the block's sums of
 * powers simply add up; no formula for merging moments runs until the block is done. A second kernel, one block for a few columns,
 *   merges the chunks in two steps that are sums too: the mean of the means, then each chunk's moments shifted to it. A matrix
 *   of few rows has one block for each pack of columns, and no second kernel.
 * Traffic: 1 read of the matrix in loads of 16 bytes, 8 in flight per thread; 56 bytes (float data, order 4) per column and chunk,
 *   written once and read twice from the L2 cache. 2 launches; 1 if there is a single chunk of whole rows.
 * Rounding: in double. A shift is some rows' mean, so a value far from the others among them shifts it by a 32nd of its distance:
 *   the sums exceed the moments, which that value dominates, by n / 32^p, n rows of a chunk. Columns of doubles whose
 *   distances have powers out of range are read twice more, by one block, scaled by a power of two.
 * Limits: no weights: rows may weigh 2^60 times as much as others, and a point that was chosen without the weights cancels then.
 * Origin: shifted sums by Chan, Golub and LeVeque 1983; ours. */
#include "_slab.cuh"

enum { OPENING_ROWS = 32 /* of a chunk: their mean is the shift */, SCALE_FREE = 150 /* sixth powers of 2^+-150 are in range */ };

/* Lines of threads whose first batches are those rows. */
template <typename T, int ORDER> constexpr unsigned OPENERS = OPENING_ROWS / SlabReader<T, ORDER>::LINES;

static const ParamSpec TUNABLES[] = {
    AUTO_SLAB_TUNABLE,
    SLAB_THREADS_TUNABLE,
    CHUNKS_TUNABLE,
    {},
};

static unsigned openers_of(const VariantArgs *args) {
    return moments_order(args) > 4 ? OPENERS<double, 6> : OPENERS<double, 4>;
}

/* In float64 as many threads to a column as a shift takes. A coarser one has its price there: 16 rows' mean is more than sigma from
 * the mean in one of 16,000 columns, and sums of sixth powers about it are tens of times the moment. */
static MomentsPlan plan_of(const VariantArgs *args) {
    return slab_plan(args, MOMENTS_THREADS / 2, args->problem->dtype == DTYPE_F64 ? openers_of(args) : 1);
}

/* Adds up one number of each thread; shared: [blockDim.x]. All threads get the sum. */
static __device__ double block_sum(double own, double *shared) {
    __syncthreads();
    shared[threadIdx.x] = own;
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    }
    __syncthreads();
    return shared[0];
}

/* Do powers of this column's distances leave the range of double? */
template <typename T> static __device__ bool out_of_range(Range<T> range) {
    if (sizeof(T) < sizeof(double)) return false;
    const double spread = 0.5 * (double)range.high - 0.5 * (double)range.low;
    if (!(spread > 0 && spread < __builtin_huge_val())) return false;
    const int exponent = ilogb(spread);
    return exponent < -SCALE_FREE || exponent > SCALE_FREE;
}

/* All threads of a block (blockDim.x a power of two): two passes over a column with distances scaled to about 1. Few columns need
 * it. */
template <typename T, int ORDER>
static __device__ __noinline__ void column_again(const MomentsView<T> &view, size_t c, Range<T> range, double *shared) {
    const double scale = distance_scale<double>(range), low = (double)range.low * scale;
    double own = 0, sums[ORDER + 1] = {};
    for (size_t row = threadIdx.x; row < view.rows; row += blockDim.x) own += (double)view.x[row * view.cols + c] * scale - low;
    const double mean = block_sum(own, shared) / (double)view.rows;
    for (size_t row = threadIdx.x; row < view.rows; row += blockDim.x) {
        const double d = (double)view.x[row * view.cols + c] * scale - low - mean;
        double term = 1;
#pragma unroll
        for (int p = 1; p <= ORDER; p++) sums[p] += term *= d;
    }
#pragma unroll
    for (int p = 1; p <= ORDER; p++) sums[p] = block_sum(sums[p], shared);
    if (threadIdx.x > 0) return;
    Central<double, ORDER> all = Central<double, ORDER>::about(mean, (double)view.rows, sums);
    all.mean = (double)range.low + all.mean / scale;
    moments_write(view, c, all, range, 1 / scale);
}

/* The mean of a thread's first lines, and then of those of the first threads of the block. */
template <typename T, int ORDER>
static __device__ void choose_centers(const MomentsPlan &plan, const MomentsPart &part, const LinePack<T> *batch, unsigned openers,
                                      double *shared, T *center) {
    constexpr unsigned SIZE = PACK<T>, LINES = SlabReader<T, ORDER>::LINES;
    const unsigned tx = plan.tx, ty = plan.ty, x = threadIdx.x % tx;
    if (part.works && part.y < openers) {
        const size_t turns = (part.end - part.begin + ty - 1) / ty, lines = turns < LINES ? turns : LINES;
#pragma unroll
        for (unsigned j = 0; j < SIZE; j++) {
            double sum = 0;
#pragma unroll
            for (unsigned u = 0; u < LINES; u++)
                if (u < lines) sum += (double)batch[u].at[j] / OPENING_ROWS; /* the sum alone could overflow */
            shared[(part.y * tx + x) * SIZE + j] = sum * ((double)OPENING_ROWS / (double)(lines * openers));
        }
    }
    __syncthreads();
#pragma unroll
    for (unsigned j = 0; j < SIZE; j++) {
        double mean = 0;
        for (unsigned y = 0; part.works && y < openers; y++) mean += shared[(y * tx + x) * SIZE + j];
        center[j] = mean - mean == 0 ? (T)mean : 0; /* an infinity: the sums do not matter */
    }
    __syncthreads(); /* the memory is used again */
}

/* partials: [chunks * fold, cols]. If that is one row, the outputs are written at once. */
template <typename T, int ORDER>
static __global__ void __launch_bounds__(MOMENTS_THREADS, BLOCKS_PER_SM)
    rows_kernel(MomentsView<T> view, MomentsPlan plan, CentralPartial<T, double, ORDER> *partials) {
    constexpr unsigned SIZE = PACK<T>;
    DYN_SHARED(double, shared);
    const MomentsPart part = part_of_thread<T>(plan);
    const size_t chunk_begin = part.begin - part.y, chunk_lines = part.end > chunk_begin ? part.end - chunk_begin : 0;
    const unsigned columns = plan.tx * SIZE, most = plan.ty < OPENERS<T, ORDER> ? plan.ty : OPENERS<T, ORDER>;
    SlabReader<T, ORDER> reader(view, plan, part);
    T center[SIZE];
    choose_centers<T, ORDER>(plan, part, reader.batch, chunk_lines < most ? (unsigned)chunk_lines : most, shared, center);
    ShiftedColumn<T, ORDER> column[SIZE];
#pragma unroll
    for (unsigned j = 0; j < SIZE; j++) column[j].center = center[j];
    reader.push_all([&](const LinePack<T> &pack) {
#pragma unroll
        for (unsigned j = 0; j < SIZE; j++) column[j].push(pack.at[j]);
    });
#pragma unroll
    for (unsigned j = 0; j < SIZE; j++) {
        if (!part.works || !part.has_rest || part.offset + j >= plan.rest) continue;
        const T rest = view.x[plan.lines * plan.line + part.offset + j];
        if (chunk_lines == 0) column[j].center = center[j] = rest;
        column[j].push(rest);
    }
    const SlabSums<T, ORDER> sums = slab_sums<T, ORDER>(plan, part, shared, [&](unsigned j) { return column[j]; });
    const unsigned x = threadIdx.x % plan.tx;
    if (part.y == 0) { /* threads[0] is free: the centers for the threads that finish a column */
#pragma unroll
        for (unsigned j = 0; j < SIZE; j++) shared[x * SIZE + j] = (double)center[j];
    }
    __syncthreads();
    const size_t first = part.offset - x * SIZE; /* of the slab */
    const bool finish = plan.chunks * plan.fold == 1;
    for (unsigned c = threadIdx.x; c < columns && first + c < plan.line; c += blockDim.x) {
        const bool one_more = part.chunk + 1 == plan.chunks && first + c < plan.rest;
        double s[ORDER + 1];
#pragma unroll
        for (unsigned p = 1; p <= ORDER; p++) s[p] = sums.segments[(p - 1) * columns + c];
        CentralPartial<T, double, ORDER> all;
        all.center = (T)shared[c];
        all.moments = Central<double, ORDER>::about(0, (double)(chunk_lines + one_more), s);
        all.range = {(T)sums.segments[ORDER * columns + c], (T)sums.segments[(ORDER + 1) * columns + c]};
        if (!finish)
            partials[part.chunk * plan.line + first + c] = all;
        else if (!out_of_range(all.range))
            central_write(view, first + c, all);
    }
    for (unsigned c = 0; finish && sizeof(T) == sizeof(double) && c < columns && first + c < plan.line; c++) {
        const Range<T> range = {(T)sums.segments[ORDER * columns + c], (T)sums.segments[(ORDER + 1) * columns + c]};
        if (out_of_range(range)) column_again<T, ORDER>(view, first + c, range, sums.threads);
    }
}

/* The first step of a merge: of some chunks of a column. */
template <typename T> struct ChunkMeans {
    double weight = 0, moment = 0; /* sum of weight * (mean - reference) */
    Range<T> range;
    __device__ void merge(const ChunkMeans &b) {
        weight += b.weight;
        moment += b.moment;
        range.merge(b.range);
    }
};
/* The second. */
template <int ORDER> struct ChunkPowers {
    double s[ORDER] = {}; /* s[p - 1] = sum (x - mean of the means)^p */
    __device__ void merge(const ChunkPowers &b) {
#pragma unroll
        for (int p = 0; p < ORDER; p++) s[p] += b.s[p];
    }
};

/* in: [rows, cols]. Blocks: groups of tx columns; thread (x, y) takes rows y, y + ty, ... of column x. */
template <typename T, int ORDER>
static __global__ void __launch_bounds__(REDUCE_THREADS)
    merge_kernel(MomentsView<T> view, const CentralPartial<T, double, ORDER> *in, size_t rows, unsigned tx) {
    __shared__ double again[REDUCE_THREADS];
    DYN_SHARED(ChunkPowers<ORDER>, powers); /* [256]; at least as large as ChunkMeans */
    static_assert(sizeof(ChunkMeans<T>) <= sizeof(ChunkPowers<ORDER>), "one memory for both steps");
    ChunkMeans<T> *const means = reinterpret_cast<ChunkMeans<T> *>(powers);
    const unsigned x = threadIdx.x % tx, y = threadIdx.x / tx, ty = REDUCE_THREADS / tx;
    const size_t c = (size_t)blockIdx.x * tx + x;
    const bool works = c < view.cols;
    const T reference = works ? in[c].center : 0;
    ChunkMeans<T> mean;
    for (size_t row = y; works && row < rows; row += ty) {
        const CentralPartial<T, double, ORDER> part = in[row * view.cols + c];
        const double weight = part.moments.weight, offset = (double)part.center - (double)reference + part.moments.mean;
        mean.merge({weight, weight > 0 ? weight * offset : 0, part.range});
    }
    means[threadIdx.x] = mean;
    merge_lanes<1>(means, tx, ty);
    mean = means[x];
    __syncthreads();
    const double center = mean.moment / mean.weight;
    ChunkPowers<ORDER> power;
    for (size_t row = y; works && row < rows; row += ty) {
        const CentralPartial<T, double, ORDER> part = in[row * view.cols + c];
        if (part.moments.weight == 0) continue;
        double sums[ORDER + 1] = {part.moments.weight, 0};
#pragma unroll
        for (int p = 2; p <= ORDER; p++) sums[p] = part.moments.m[p - 2];
        moments_shift<ORDER>(sums, (double)part.center - (double)reference + part.moments.mean - center);
#pragma unroll
        for (int p = 1; p <= ORDER; p++) power.s[p - 1] += sums[p];
    }
    powers[threadIdx.x] = power;
    merge_lanes<1>(powers, tx, ty);
    if (works && y == 0 && !out_of_range(mean.range)) {
        double sums[ORDER + 1];
#pragma unroll
        for (int p = 1; p <= ORDER; p++) sums[p] = powers[x].s[p - 1];
        central_write(
            view, c,
            CentralPartial<T, double, ORDER>{reference, Central<double, ORDER>::about(center, mean.weight, sums), mean.range});
    }
    for (unsigned k = 0; sizeof(T) == sizeof(double) && k < tx && (size_t)blockIdx.x * tx + k < view.cols; k++) {
        __syncthreads();
        if (threadIdx.x == k) again[0] = (double)mean.range.low, again[1] = (double)mean.range.high;
        __syncthreads();
        const Range<T> range = {(T)again[0], (T)again[1]};
        __syncthreads();
        if (out_of_range(range)) column_again<T, ORDER>(view, (size_t)blockIdx.x * tx + k, range, again);
    }
}

/* ---- Host. */

template <typename T, int ORDER> static Status launch_all(const VariantArgs *args) {
    using Partial = CentralPartial<T, double, ORDER>;
    const MomentsView<T> view = moments_view<T>(args);
    const MomentsPlan plan = plan_of(args);
    Partial *const partials = (Partial *)args->scratch;
    TRY(launch(rows_kernel<T, ORDER>,
               {dim3((unsigned)(plan.slabs * plan.chunks)), dim3(plan.threads), slab_shared_bytes<T, ORDER>(plan), args->stream},
               view, plan, partials));
    if (plan_partial_rows(plan) == 1) return STATUS_OK;
    const unsigned tx = merge_columns(view.cols);
    return launch(
        merge_kernel<T, ORDER>,
        {dim3((unsigned)divide_up(view.cols, tx)), dim3(REDUCE_THREADS), REDUCE_THREADS * sizeof(ChunkPowers<ORDER>), args->stream},
        view, (const Partial *)partials, plan_partial_rows(plan), tx);
}

/* What call.operator()<T, ORDER>() returns. Order 5 is computed as 6. */
template <typename Call> static auto with_case(const VariantArgs *args, Call call) {
    const bool high = moments_order(args) > 4;
    if (args->problem->dtype == DTYPE_F64)
        return high ? call.template operator()<double, 6>() : call.template operator()<double, 4>();
    return high ? call.template operator()<float, 6>() : call.template operator()<float, 4>();
}

static Status run(const VariantArgs *args) {
    return with_case(args, [args]<typename T, int ORDER>() { return launch_all<T, ORDER>(args); });
}

static size_t scratch_bytes(const VariantArgs *args) {
    const size_t part = with_case(args, [&]<typename T, int ORDER>() { return sizeof(CentralPartial<T, double, ORDER>); });
    const size_t rows = plan_partial_rows(plan_of(args));
    return rows > 1 ? rows * moments_cols(args) * part : 0;
}

static size_t shared_bytes_of(const VariantArgs *args) {
    const MomentsPlan plan = plan_of(args);
    return with_case(args, [&plan]<typename T, int ORDER>() { return slab_shared_bytes<T, ORDER>(plan); });
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (moments_weighted(args))
        return variant_refuse(reason, "weights: the shift is chosen before they are known; cuda_two_pass_grid reads twice");
    const MomentsPlan plan = plan_of(args);
    const unsigned openers = openers_of(args), lines = OPENING_ROWS / openers;
    if (args->problem->dtype == DTYPE_F64 && plan.ty < openers && plan.chunk_lines > plan.ty * lines)
        return variant_refuse(reason, "float64: the mean of %u rows is too coarse a shift; set slab to %u or less", plan.ty * lines,
                              plan.threads / openers);
    const size_t needed = shared_bytes_of(args), most = device_block_shared_max();
    if (needed <= most) return true;
    return variant_refuse(reason, "shared memory: a block takes %zu bytes, this device has %zu; set a smaller slab", needed, most);
}

static Status configuration(const VariantArgs *args, LaunchNotes *out) {
    return plan_notes(plan_of(args), shared_bytes_of(args), out);
}

RUNGS_VARIANT(moments, cuda_one_read_shared_shift) = {
    .backend = BACKEND_CUDA,
    .summary = "one read: the threads of a block share a shift, so that sums of powers add up; chunks merged by sums",
    .origin = "Chan, Golub, LeVeque 1983; ours",
    .tunables = TUNABLES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
    .configuration = configuration,
};
