/* Idea: the textbook. One read sums x, x^2, x^3, x^4 of every column; the central moments come from the sums at the end. It is
 *   on the ladder to show where it fails: the sums are as large as mean^p, the result is as small as std^p. Blocks take slabs of
 *   columns x chunks of rows (_lines.cuh); each thread keeps the sums of its 4 (float) or 2 (double) columns in registers, its
 *   block adds them as a tree in shared memory, and a second kernel adds the chunks.
 * Traffic: 1 read of the matrix in loads of 16 bytes, 8 in flight per thread; partial results of 48 bytes (float data, order 4)
 *   per column and chunk, 1% or less of a tall matrix. 2 launches; 1 if there is a single chunk of whole rows.
 * Rounding: in double by default. Error about n u (|mean| / std)^p: nothing is left of a variance at |mean| / std = 1e8 in
 *   double (1e4 in float). A variance may come out negative; skewness and kurtosis are then NaN.
 * Limits: none.
 * Origin: textbooks; the CPU loops of EgyipTomi425/statistics. */
#include "_lines.cuh"

static const ParamSpec TUNABLES[] = {
    ACCUMULATE_TUNABLE("f64"),
    SLAB_TUNABLE,
    CHUNKS_TUNABLE,
    {},
};

/* Of a part of a column. */
template <typename T, typename A, int ORDER> struct PowerSums {
    A s[ORDER + 1] = {}; /* s[p] = sum w x^p; s[0] only if there are weights */
    Range<T> range;
    __device__ void merge(const PowerSums &b) {
#pragma unroll
        for (int p = 0; p <= ORDER; p++) s[p] += b.s[p];
        range.merge(b.range);
    }
};

/* One column of a thread while values arrive. */
template <typename T, typename A, int ORDER, bool WEIGHTED> struct RawColumn {
    A s[ORDER + 1] = {};
    Extremes<T> extremes;

    __device__ void push(T x, T w) {
        const A value = (A)x;
        A term = WEIGHTED ? (A)w * value : value;
        if (WEIGHTED) s[0] += (A)w;
        s[1] += term;
#pragma unroll
        for (int p = 2; p <= ORDER; p++) s[p] += term *= value;
        extremes.push(x);
    }
    __device__ PowerSums<T, A, ORDER> partial() const {
        PowerSums<T, A, ORDER> all;
#pragma unroll
        for (int p = 0; p <= ORDER; p++) all.s[p] = s[p];
        all.range = extremes.done();
        return all;
    }
};

/* From sums about 0 to central moments: here the digits are lost. */
template <typename T, typename A, int ORDER, bool WEIGHTED>
static __device__ void write_column(const MomentsView<T> &view, size_t c, const PowerSums<T, A, ORDER> &all) {
    const double weight = WEIGHTED ? (double)all.s[0] : (double)view.rows;
    double sums[ORDER + 1];
#pragma unroll
    for (int p = 1; p <= ORDER; p++) sums[p] = (double)all.s[p];
    moments_write(view, c, Central<double, ORDER>::about(0, weight, sums), all.range);
}

/* partials: [chunks * fold, cols]. If that is one row, the outputs are written at once. */
template <typename T, typename A, int ORDER, bool WEIGHTED>
static __global__ void __launch_bounds__(MOMENTS_THREADS, BLOCKS_PER_SM)
    rows_kernel(MomentsView<T> view, MomentsPlan plan, PowerSums<T, A, ORDER> *partials) {
    using Partial = PowerSums<T, A, ORDER>;
    constexpr unsigned SIZE = PACK<T>, LINES = (ORDER > 4 ? 4 : 8) / (WEIGHTED ? 2 : 1);
    DYN_SHARED(Partial, shared); /* [SIZE][256] */
    const MomentsPart part = part_of_thread<T>(plan);
    if (part.works) {
        RawColumn<T, A, ORDER, WEIGHTED> column[SIZE];
        unsigned row[SIZE]; /* of each element, within the line */
#pragma unroll
        for (unsigned j = 0; j < SIZE; j++) row[j] = line_row(plan, view.cols, part.offset + j);

        read_lines<LINES>(view, plan, part, [&](const LinePack<T> &pack, size_t line) {
#pragma unroll
            for (unsigned j = 0; j < SIZE; j++) column[j].push(pack.at[j], line_weight<WEIGHTED>(view, plan, line, row[j]));
        });
#pragma unroll
        for (unsigned j = 0; j < SIZE; j++) {
            Partial own = column[j].partial();
            if (part.has_rest && part.offset + j < plan.rest) {
                RawColumn<T, A, ORDER, WEIGHTED> last;
                last.push(view.x[plan.lines * plan.line + part.offset + j], line_weight<WEIGHTED>(view, plan, plan.lines, row[j]));
                own.merge(last.partial());
            }
            shared[j * MOMENTS_THREADS + threadIdx.x] = own;
        }
    } else {
#pragma unroll
        for (unsigned j = 0; j < SIZE; j++) shared[j * MOMENTS_THREADS + threadIdx.x] = Partial();
    }
    merge_lanes<SIZE>(shared, plan.tx, plan.ty);
    if (!part.works || part.y > 0) return;
#pragma unroll
    for (unsigned j = 0; j < SIZE; j++) {
        const Partial &all = shared[j * MOMENTS_THREADS + threadIdx.x];
        if (plan.chunks * plan.fold == 1)
            write_column<T, A, ORDER, WEIGHTED>(view, part.offset + j, all);
        else
            partials[part.chunk * plan.line + part.offset + j] = all;
    }
}

/* in: [rows, cols]. Blocks: groups of tx columns x segments of rows. out: [segments, cols]; NULL: one segment, write the outputs.
 */
template <typename T, typename A, int ORDER, bool WEIGHTED>
static __global__ void __launch_bounds__(REDUCE_THREADS)
    reduce_kernel(MomentsView<T> view, const PowerSums<T, A, ORDER> *in, size_t rows, size_t segment, unsigned tx,
                  PowerSums<T, A, ORDER> *out) {
    PowerSums<T, A, ORDER> own;
    reduce_segments(in, rows, view.cols, segment, tx, own, out,
                    [&](size_t c, const auto &all) { write_column<T, A, ORDER, WEIGHTED>(view, c, all); });
}

static MomentsPlan plan_of(const VariantArgs *args) {
    return plan_make(args, (size_t)params_int(args->tunables, "chunks"), 0);
}

static Status run(const VariantArgs *args) {
    return moments_with_case(args, [args]<typename T, typename A, int ORDER, bool WEIGHTED>() {
        using Partial = PowerSums<T, A, ORDER>;
        const MomentsView<T> view = moments_view<T>(args);
        const MomentsPlan plan = plan_of(args);
        Partial *const partials = (Partial *)args->scratch;
        TRY(launch(rows_kernel<T, A, ORDER, WEIGHTED>, plan_launch(args, plan, sizeof(Partial)), view, plan, partials));
        return reduce_rows(args, plan_partial_rows(plan), partials, [&](LaunchShape shape, auto... rest) {
            return launch(reduce_kernel<T, A, ORDER, WEIGHTED>, shape, view, rest...);
        });
    });
}

static size_t partial_bytes(const VariantArgs *args) {
    return moments_with_case(args, [&]<typename T, typename A, int ORDER, bool>() { return sizeof(PowerSums<T, A, ORDER>); });
}

static size_t scratch_bytes(const VariantArgs *args) {
    return plan_scratch_bytes(plan_of(args), moments_cols(args), partial_bytes(args));
}

static Status configuration(const VariantArgs *args, LaunchNotes *out) {
    return plan_notes(plan_of(args), plan_shared_bytes(args, partial_bytes(args)), out);
}

RUNGS_VARIANT(moments, cuda_power_sums) = {
    .backend = BACKEND_CUDA,
    .summary = "raw power sums, unstable by design",
    .origin = "textbook formulas",
    .tunables = TUNABLES,
    .bound = "power_sums",
    .scratch_bytes = scratch_bytes,
    .run = run,
    .configuration = configuration,
};
