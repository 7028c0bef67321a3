/* Idea: one read, without Welford's division and chain per value. A thread takes the first value of its part of a column as
 *   provisional mean (the mean of the first eight for orders 5 and 6, and where sums have no more digits than the data) and sums
 *   powers of the distances from it. At the end of the part the sums become central moments, once; parts are merged by Pebay's
 *   formulas as trees (Central in _shared.cuh). Blocks take slabs of columns x chunks of rows (_lines.cuh); a thread has 4 (float)
 *   or 2 (double) columns in registers, a block merges its threads in shared memory, and a second kernel merges the chunks.
 * Traffic: 1 read of the matrix in loads of 16 bytes, 8 in flight per thread; partial results of 56 bytes (float data, order 4)
 *   per column and chunk, 1% or less of a tall matrix. 2 launches; 1 if there is a single chunk of whole rows.
 * Rounding: in double by default. A part keeps its mean as a distance from one of its values, so a mean far from zero costs
 *   nothing; the conversion loses about (rows of a part) u. If the first value is an outlier, only its own part loses digits, and
 *   that part's moments are dominated by the outlier anyway. accumulate=data wants short parts: rows=256.
 * Limits: none.
 * Origin: shifted sums by Chan, Golub and LeVeque 1983; merging by Pebay 2008. */
#include "_lines.cuh"

static const ParamSpec TUNABLES[] = {
    ACCUMULATE_TUNABLE("f64"),
    {"rows", "most rows of a thread's part; 0: as many as make one wave of blocks", PARAM_INT, "0", 0, 1e6, NULL},
    SLAB_TUNABLE,
    CHUNKS_TUNABLE,
    {},
};

/* One column of a thread while values arrive. */
template <typename T, typename A, int ORDER, bool WEIGHTED> struct ShiftedColumn {
    /* Values that make the provisional mean. One, where sums have far more digits than the data and powers are at most the fourth.
     * Otherwise a first value 4 sigma away, as one column of ten thousand has, makes sums that are hundreds of times the moment. */
    static constexpr int OPENING = ORDER > 4 || sizeof(A) == sizeof(T) ? 8 : 1;

    T center = 0;
    A s[ORDER + 1] = {}; /* s[p] = sum w (x - center)^p; s[0] only if there are weights */
    Extremes<T> extremes;

    /* The provisional mean: that of the first n values of the part, up to OPENING. Never an infinity: every distance from it would
     * be infinite or NaN. */
    __device__ void start(const T *first, int n) {
        A sum = 0;
        for (int k = 0; k < n; k++) sum += (A)first[k];
        const T mean = (T)(sum / (A)n), near = mean - mean == 0 ? mean : *first;
        if (near - near == 0) center = near;
    }
    __device__ void push(T x, T w) {
        const A d = (A)x - (A)center;
        A term = WEIGHTED ? (A)w * d : d;
        if (WEIGHTED) s[0] += (A)w;
        s[1] += term;
#pragma unroll
        for (int p = 2; p <= ORDER; p++) s[p] += term *= d;
        extremes.push(x);
    }
    /* Overwrites s. */
    __device__ CentralPartial<T, A, ORDER> partial(size_t count) {
        const A weight = WEIGHTED ? s[0] : (A)count;
        return {center, Central<A, ORDER>::about(0, weight, s), extremes.done()};
    }
};

/* partials: [chunks * fold, cols]. If that is one row, the outputs are written at once. */
template <typename T, typename A, int ORDER, bool WEIGHTED>
static __global__ void __launch_bounds__(MOMENTS_THREADS, BLOCKS_PER_SM)
    rows_kernel(MomentsView<T> view, MomentsPlan plan, CentralPartial<T, A, ORDER> *partials) {
    using Partial = CentralPartial<T, A, ORDER>;
    constexpr unsigned SIZE = PACK<T>, LINES = (ORDER > 4 ? 4 : 8) / (WEIGHTED ? 2 : 1);
    constexpr int OPENING = ShiftedColumn<T, A, ORDER, WEIGHTED>::OPENING;
    DYN_SHARED(Partial, shared); /* [SIZE][256] */
    const MomentsPart part = part_of_thread<T>(plan);
    if (part.works) {
        ShiftedColumn<T, A, ORDER, WEIGHTED> column[SIZE];
        unsigned row[SIZE]; /* of each element, within the line */
        size_t count = 0;   /* lines taken. An integer: a float counts exactly only to 2^24 */
#pragma unroll
        for (unsigned j = 0; j < SIZE; j++) {
            row[j] = line_row(plan, view.cols, part.offset + j);
            T opening[OPENING];
            int values = 0;
#pragma unroll
            for (int k = 0; k < OPENING; k++) {
                const size_t line = part.begin + (size_t)k * plan.ty;
                if (line < part.end) opening[values++] = view.x[line * plan.line + part.offset + j];
            }
            if (values > 0) column[j].start(opening, values);
        }

        read_lines<LINES>(view, plan, part, [&](const LinePack<T> &pack, size_t line) {
            count++;
#pragma unroll
            for (unsigned j = 0; j < SIZE; j++) column[j].push(pack.at[j], line_weight<WEIGHTED>(view, plan, line, row[j]));
        });
#pragma unroll
        for (unsigned j = 0; j < SIZE; j++) {
            Partial own = column[j].partial(count);
            if (part.has_rest && part.offset + j < plan.rest) {
                ShiftedColumn<T, A, ORDER, WEIGHTED> last;
                const T x = view.x[plan.lines * plan.line + part.offset + j];
                last.start(&x, 1);
                last.push(x, line_weight<WEIGHTED>(view, plan, plan.lines, row[j]));
                own.merge(last.partial(1));
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
            central_write(view, part.offset + j, all);
        else
            partials[part.chunk * plan.line + part.offset + j] = all;
    }
}

/* in: [rows, cols]. Blocks: groups of tx columns x segments of rows. out: [segments, cols]; NULL: one segment, write the outputs.
 */
template <typename T, typename A, int ORDER>
static __global__ void __launch_bounds__(REDUCE_THREADS)
    reduce_kernel(MomentsView<T> view, const CentralPartial<T, A, ORDER> *in, size_t rows, size_t segment, unsigned tx,
                  CentralPartial<T, A, ORDER> *out) {
    CentralPartial<T, A, ORDER> own;
    reduce_segments(in, rows, view.cols, segment, tx, own, out, [&](size_t c, const auto &all) { central_write(view, c, all); });
}

static MomentsPlan plan_of(const VariantArgs *args) {
    return plan_make(args, (size_t)params_int(args->tunables, "chunks"), (size_t)params_int(args->tunables, "rows"));
}

static Status run(const VariantArgs *args) {
    return moments_with_case(args, [args]<typename T, typename A, int ORDER, bool WEIGHTED>() {
        using Partial = CentralPartial<T, A, ORDER>;
        const MomentsView<T> view = moments_view<T>(args);
        const MomentsPlan plan = plan_of(args);
        Partial *const partials = (Partial *)args->scratch;
        TRY(launch(rows_kernel<T, A, ORDER, WEIGHTED>, plan_launch(args, plan, sizeof(Partial)), view, plan, partials));
        return reduce_rows(args, plan_partial_rows(plan), partials, [&](LaunchShape shape, auto... rest) {
            return launch(reduce_kernel<T, A, ORDER>, shape, view, rest...);
        });
    });
}

static size_t partial_bytes(const VariantArgs *args) {
    return moments_with_case(args, [&]<typename T, typename A, int ORDER, bool>() { return sizeof(CentralPartial<T, A, ORDER>); });
}

static size_t scratch_bytes(const VariantArgs *args) {
    return plan_scratch_bytes(plan_of(args), moments_cols(args), partial_bytes(args));
}

static Status configuration(const VariantArgs *args, LaunchNotes *out) {
    return plan_notes(plan_of(args), plan_shared_bytes(args, partial_bytes(args)), out);
}

RUNGS_VARIANT(moments, cuda_one_read_blocked) = {
    .backend = BACKEND_CUDA,
    .summary = "one read: shifted power sums of blocks, corrected and merged",
    .origin = "Chan, Golub, LeVeque 1983; Pebay 2008",
    .tunables = TUNABLES,
    .scratch_bytes = scratch_bytes,
    .run = run,
    .configuration = configuration,
};
