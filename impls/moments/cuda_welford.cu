/* Idea: one read. Every thread updates mean and central moments of its columns with one value at a time (Welford), then threads,
 *   blocks and chunks of rows are merged by Pebay's formulas (Central in _shared.cuh), as PyTorch does for the variance. Blocks
 *   take slabs of columns x chunks of rows (_lines.cuh); a thread has 4 (float) or 2 (double) columns in registers, a block merges
 *   its threads as a tree in shared memory, and a second kernel merges the chunks.
 * Traffic: 1 read of the matrix in loads of 16 bytes, 8 in flight per thread; partial results of 56 bytes (float data, order 4)
 *   per column and chunk, 1% or less of a tall matrix. 2 launches; 1 if there is a single chunk of whole rows.
 * Rounding: the mean of a thread's part is rounded at each value, so errors grow slowly with |mean| / std: in double by default.
 * Limits: none. About 20 dependent operations per value and one division per line: double arithmetic is the limit, not memory.
 * Origin: Welford 1962; higher moments by Terriberry 2007, merging by Pebay 2008. */
#include "_lines.cuh"

static const ParamSpec TUNABLES[] = {
    ACCUMULATE_TUNABLE("f64"),
    SLAB_TUNABLE,
    CHUNKS_TUNABLE,
    {},
};

/* One column of a thread while values arrive. */
template <typename T, typename A, int ORDER, bool WEIGHTED> struct WelfordColumn {
    Central<A, ORDER> moments;
    Extremes<T> extremes;

    /* inverse: 1 / number of values, this one included; with weights it is not used. */
    __device__ void push(T x, T w, A inverse) {
        if (WEIGHTED) moments.weight += (A)w;
        const A share = WEIGHTED ? (A)w / moments.weight : inverse;
        moments.template join<true>((A)x - moments.mean, (A)w, 0, share, NULL);
        extremes.push(x);
    }
    /* Its center stays 0. */
    __device__ CentralPartial<T, A, ORDER> partial(size_t count) const {
        CentralPartial<T, A, ORDER> all;
        all.moments = moments;
        all.range = extremes.done();
        if (!WEIGHTED) all.moments.weight = (A)count;
        return all;
    }
};

/* partials: [chunks * fold, cols]. If that is one row, the outputs are written at once. */
template <typename T, typename A, int ORDER, bool WEIGHTED>
static __global__ void __launch_bounds__(MOMENTS_THREADS, sizeof(T) < sizeof(float) ? 1 : BLOCKS_PER_SM)
    rows_kernel(MomentsView<T> view, MomentsPlan plan, CentralPartial<SumOf<T>, A, ORDER> *partials) {
    using Partial = CentralPartial<SumOf<T>, A, ORDER>;
    using Column = WelfordColumn<SumOf<T>, A, ORDER, WEIGHTED>;
    constexpr unsigned SIZE = PACK<T>, LINES = (ORDER > 4 ? 4 : 8) / (WEIGHTED ? 2 : 1);
    DYN_SHARED(Partial, shared); /* [SIZE][256] */
    const MomentsPart part = part_of_thread<T>(plan);
    if (part.works) {
        Column column[SIZE];
        unsigned row[SIZE]; /* of each element, within the line */
        size_t count = 0;   /* lines taken. An integer: a float counts exactly only to 2^24 */
#pragma unroll
        for (unsigned j = 0; j < SIZE; j++) row[j] = line_row(plan, view.cols, part.offset + j);

        read_lines<LINES>(view, plan, part, [&](const LinePack<T> &pack, size_t line) {
            count++;
            const A inverse = WEIGHTED ? 0 : 1 / (A)count; /* one division serves all columns of the thread */
#pragma unroll
            for (unsigned j = 0; j < SIZE; j++)
                column[j].push(wide(pack.at[j]), line_weight<WEIGHTED>(view, plan, line, row[j]), inverse);
        });
#pragma unroll
        for (unsigned j = 0; j < SIZE; j++) {
            Partial own = column[j].partial(count);
            if (part.has_rest && part.offset + j < plan.rest) {
                Column last;
                last.push(wide(view.x[plan.lines * plan.line + part.offset + j]),
                          line_weight<WEIGHTED>(view, plan, plan.lines, row[j]), 1);
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
    reduce_kernel(MomentsView<T> view, const CentralPartial<SumOf<T>, A, ORDER> *in, size_t rows, size_t segment, unsigned tx,
                  CentralPartial<SumOf<T>, A, ORDER> *out) {
    CentralPartial<SumOf<T>, A, ORDER> own;
    reduce_segments(in, rows, view.cols, segment, tx, own, out, [&](size_t c, const auto &all) { central_write(view, c, all); });
}

static MomentsPlan plan_of(const VariantArgs *args) {
    return plan_make(args, (size_t)params_int(args->tunables, "chunks"), 0);
}

/* moments_with_case(), of narrow types with sums in double only. */
template <typename Call> static auto with_case(const VariantArgs *args, Call call) {
    if (!dtype_is_narrow(args->problem->dtype)) return moments_with_case(args, call);
    return moments_with_narrow(args, [args, call]<typename T>() { return moments_with_order<T, double>(args, call); });
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    if (moments_in_double(args)) return true;
    if (!case_is_usual(args->problem)) return variant_refuse(reason, "accumulate=data: sums of this case are in double");
    if (!dtype_is_narrow(args->problem->dtype)) return true;
    return variant_refuse(reason, "accumulate=data: of f16, bf16, e4m3 and e5m2 sums are in double only");
}

static Status run(const VariantArgs *args) {
    return with_case(args, [args]<typename T, typename A, int ORDER, bool WEIGHTED>() {
        using Partial = CentralPartial<SumOf<T>, A, ORDER>;
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
    return with_case(args, [&]<typename T, typename A, int ORDER, bool>() { return sizeof(CentralPartial<SumOf<T>, A, ORDER>); });
}

static size_t scratch_bytes(const VariantArgs *args) {
    return plan_scratch_bytes(plan_of(args), moments_cols(args), partial_bytes(args));
}

static Status configuration(const VariantArgs *args, LaunchNotes *out) {
    return plan_notes(plan_of(args), plan_shared_bytes(args, partial_bytes(args)), out);
}
static const DType ACCUMULATES[] = {DTYPE_F64, DTYPE_COUNT};

RUNGS_VARIANT(moments, cuda_welford) = {
    .backend = BACKEND_CUDA,
    .summary = "one value at a time, merged thread, block, grid",
    .origin = "Welford 1962; Terriberry 2007; Pebay 2008",
    .tunables = TUNABLES,
    .dtypes = MOMENTS_TYPES,
    .accumulates = ACCUMULATES,
    .bound = "updating",
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
    .configuration = configuration,
};
