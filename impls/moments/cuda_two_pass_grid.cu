/* Idea: the corrected two-pass of cuda_two_pass for any shape, with loads of 16 bytes. Pass 1 makes the means and the extremes,
 *   pass 2 sums powers of the deviations, the first of which corrects the others for the error of the mean. Blocks take slabs of
 *   columns x chunks of rows, as many as the device holds at once (_lines.cuh); a thread has 4 (float) or 2 (double) columns in
 *   registers, a block adds its threads as a tree in shared memory, and a second kernel per pass adds the chunks: a tree over many
 *   blocks, where the published program has one block. With leaf > 0 sums are trees all the way, which the source discusses
 *   and leaves out: a thread adds at most `leaf` rows, and launches merge 256 partial results (2048 of one column) until 1 is left.
 * Traffic: 2 reads of the matrix in loads of 16 bytes, 8 in flight per thread (the second an L2 hit where the matrix fits);
 *   partial results of 24 and 32 bytes (float data, order 4) per column and chunk, 1% or less of a tall matrix, or per leaf * ty
 *   rows. 4 launches; 2 for a single chunk of whole rows; with leaf > 0 one for every level of the tree.
 * Rounding: a thread adds its rows in turn, above that are trees. In double by default; with accumulate=data and float32 a
 *   thread's chain has rows / (chunks ty) float additions; with leaf > 0 `leaf`, then about log2(rows / leaf) more, so that float
 *   sums are nearly as good as double ones. Deviations are scaled by a power of two per column where sums are in the
 *   precision of the data, so that their fourth and sixth powers do not overflow.
 * Limits: none.
 * Origin: two passes with correction by Chan, Golub and LeVeque 1983; higher moments by Pebay 2008; pairwise
 *   sums by Higham 1993. */
#include "_lines.cuh"

static const ParamSpec TUNABLES[] = {
    ACCUMULATE_TUNABLE("f64"),
    SLAB_TUNABLE,
    CHUNKS_TUNABLE,
    {"leaf", "rows that a thread adds in turn, which decides the chunks; 0: `chunks` does", PARAM_INT, "0", 0, 65536, NULL},
    {},
};

/* What the first pass leaves of every column. Arrays [cols]. */
template <typename A> struct Means { A *mean, *weight, *scale; };

/* Of a part of a column, in the first pass. */
template <typename T, typename A> struct SumPart {
    A sum = 0, weight = 0; /* weight only if there are weights */
    Range<T> range;
    __device__ void merge(const SumPart &b) {
        sum += b.sum;
        weight += b.weight;
        range.merge(b.range);
    }
};

/* Second pass: of a part of a column. */
template <typename A, int ORDER> struct PowerPart {
    A s[ORDER] = {}; /* s[p-1] = sum w d^p */
    __device__ void merge(const PowerPart &b) {
#pragma unroll
        for (int p = 0; p < ORDER; p++) s[p] += b.s[p];
    }
};

template <typename T, typename A, bool WEIGHTED> struct SumColumn {
    SumPart<T, A> all;
    Extremes<T> extremes;

    __device__ void push(T x, T w) {
        all.sum += WEIGHTED ? (A)w * (A)x : (A)x;
        if (WEIGHTED) all.weight += (A)w;
        extremes.push(x);
    }
    __device__ SumPart<T, A> partial() {
        all.range = extremes.done();
        return all;
    }
};

/* Deviations are scaled by a power of two where powers of the data could leave the range of A: not those of floats in double. */
template <typename T, typename A> static __host__ __device__ constexpr bool is_scaled() {
    return sizeof(T) == sizeof(A);
}

template <typename T, typename A, int ORDER, bool WEIGHTED> struct DeviationColumn {
    A center, scale;
    PowerPart<A, ORDER> all;

    __device__ void init(const Means<A> &means, size_t c) {
        center = means.mean[c];
        if (is_scaled<T, A>()) scale = means.scale[c];
    }
    __device__ void push(T x, T w) {
        const A distance = (A)x - center, d = is_scaled<T, A>() ? distance * scale : distance;
        A term = WEIGHTED ? (A)w * d : d;
        all.s[0] += term;
#pragma unroll
        for (int p = 1; p < ORDER; p++) all.s[p] += term *= d;
    }
};

template <typename T, typename A, bool WEIGHTED>
static __device__ void write_means(const MomentsView<T> &view, const Means<A> &means, size_t c, const SumPart<T, A> &all) {
    const double weight = WEIGHTED ? (double)all.weight : (double)view.rows;
    means.mean[c] = (A)((double)all.sum / weight);
    means.weight[c] = (A)weight;
    means.scale[c] = distance_scale<A>(all.range);
    view.out[OUT_MIN][c] = all.range.low;
    view.out[OUT_MAX][c] = all.range.high;
}

/* S1 corrects for the error of the mean. */
template <typename T, typename A, int ORDER, bool WEIGHTED>
static __device__ void write_column(const MomentsView<T> &view, const Means<A> &means, size_t c, const PowerPart<A, ORDER> &all) {
    const double weight = WEIGHTED ? (double)means.weight[c] : (double)view.rows;
    double sums[ORDER + 1];
#pragma unroll
    for (int p = 1; p <= ORDER; p++) sums[p] = (double)all.s[p - 1];
    const double unit = is_scaled<T, A>() ? 1 / (double)means.scale[c] : 1;
    Central<double, ORDER> exact = Central<double, ORDER>::about(0, weight, sums);
    exact.mean = (double)means.mean[c] + exact.mean * unit;
    moments_write(view, c, exact, Range<T>{view.out[OUT_MIN][c], view.out[OUT_MAX][c]}, unit);
}

/* First pass. partials: [chunks * fold, cols]. If that is one row, the means are written at once. */
template <typename T, typename A, bool WEIGHTED>
static __global__ void __launch_bounds__(MOMENTS_THREADS, BLOCKS_PER_SM)
    sums_kernel(MomentsView<T> view, MomentsPlan plan, Means<A> means, SumPart<T, A> *partials) {
    using Partial = SumPart<T, A>;
    constexpr unsigned SIZE = PACK<T>, LINES = WEIGHTED ? 4 : 8;
    DYN_SHARED(Partial, shared); /* [SIZE][256] */
    const MomentsPart part = part_of_thread<T>(plan);
    if (part.works) {
        SumColumn<T, A, WEIGHTED> column[SIZE];
        unsigned row[SIZE]; /* of each element, within the line */
#pragma unroll
        for (unsigned j = 0; j < SIZE; j++) row[j] = line_row(plan, view.cols, part.offset + j);

        size_t line = part.begin;
        const size_t turn = plan.ty, stride = turn * plan.line;
        const T *at = view.x + line * plan.line + part.offset;
        LinePack<T> batch[LINES];
        for (; line + (LINES - 1) * turn < part.end; line += LINES * turn) {
#pragma unroll
            for (unsigned u = 0; u < LINES; u++, at += stride) batch[u] = pack_load(at);
#pragma unroll
            for (unsigned u = 0; u < LINES; u++) {
#pragma unroll
                for (unsigned j = 0; j < SIZE; j++)
                    column[j].push(batch[u].at[j], line_weight<WEIGHTED>(view, plan, line + u * turn, row[j]));
            }
        }
        if (line < part.end) { /* the last few lines, fewer than LINES */
#pragma unroll
            for (unsigned u = 0; u < LINES; u++, at += stride)
                if (line + u * turn < part.end) batch[u] = pack_load(at);
#pragma unroll
            for (unsigned u = 0; u < LINES; u++) {
                if (line + u * turn >= part.end) continue;
#pragma unroll
                for (unsigned j = 0; j < SIZE; j++)
                    column[j].push(batch[u].at[j], line_weight<WEIGHTED>(view, plan, line + u * turn, row[j]));
            }
        }
#pragma unroll
        for (unsigned j = 0; j < SIZE; j++) {
            Partial own = column[j].partial();
            if (part.has_rest && part.offset + j < plan.rest) {
                SumColumn<T, A, WEIGHTED> last;
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
            write_means<T, A, WEIGHTED>(view, means, part.offset + j, all);
        else
            partials[part.chunk * plan.line + part.offset + j] = all;
    }
}

/* in: [rows, cols]. Blocks: groups of tx columns x segments of rows. out: [segments, cols]; NULL: one segment, write the means. */
template <typename T, typename A, bool WEIGHTED>
static __global__ void __launch_bounds__(REDUCE_THREADS)
    means_kernel(MomentsView<T> view, Means<A> means, const SumPart<T, A> *in, size_t rows, size_t segment, unsigned tx,
                 SumPart<T, A> *out) {
    SumPart<T, A> own;
    reduce_segments(in, rows, view.cols, segment, tx, own, out,
                    [&](size_t c, const auto &all) { write_means<T, A, WEIGHTED>(view, means, c, all); });
}

/* Second pass. As sums_kernel, with powers of the deviations. */
template <typename T, typename A, int ORDER, bool WEIGHTED>
static __global__ void __launch_bounds__(MOMENTS_THREADS, BLOCKS_PER_SM)
    powers_kernel(MomentsView<T> view, MomentsPlan plan, Means<A> means, PowerPart<A, ORDER> *partials) {
    using Partial = PowerPart<A, ORDER>;
    constexpr unsigned SIZE = PACK<T>, LINES = ORDER > 4 && WEIGHTED ? 4 : 8;
    DYN_SHARED(Partial, shared); /* [SIZE][256] */
    const MomentsPart part = part_of_thread<T>(plan);
    if (part.works) {
        DeviationColumn<T, A, ORDER, WEIGHTED> column[SIZE];
        unsigned row[SIZE];
#pragma unroll
        for (unsigned j = 0; j < SIZE; j++) {
            row[j] = line_row(plan, view.cols, part.offset + j);
            column[j].init(means, line_column(plan, view.cols, part.offset + j));
        }

        read_lines<LINES>(view, plan, part, [&](const LinePack<T> &pack, size_t line) {
#pragma unroll
            for (unsigned j = 0; j < SIZE; j++) column[j].push(pack.at[j], line_weight<WEIGHTED>(view, plan, line, row[j]));
        });
#pragma unroll
        for (unsigned j = 0; j < SIZE; j++) {
            Partial own = column[j].all;
            if (part.has_rest && part.offset + j < plan.rest) {
                DeviationColumn<T, A, ORDER, WEIGHTED> last;
                last.init(means, (part.offset + j) % view.cols);
                last.push(view.x[plan.lines * plan.line + part.offset + j], line_weight<WEIGHTED>(view, plan, plan.lines, row[j]));
                own.merge(last.all);
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
            write_column<T, A, ORDER, WEIGHTED>(view, means, part.offset + j, all);
        else
            partials[part.chunk * plan.line + part.offset + j] = all;
    }
}

/* As means_kernel; the last launch writes the outputs. */
template <typename T, typename A, int ORDER, bool WEIGHTED>
static __global__ void __launch_bounds__(REDUCE_THREADS)
    moments_kernel(MomentsView<T> view, Means<A> means, const PowerPart<A, ORDER> *in, size_t rows, size_t segment, unsigned tx,
                   PowerPart<A, ORDER> *out) {
    PowerPart<A, ORDER> own;
    reduce_segments(in, rows, view.cols, segment, tx, own, out,
                    [&](size_t c, const auto &all) { write_column<T, A, ORDER, WEIGHTED>(view, means, c, all); });
}

static MomentsPlan plan_of(const VariantArgs *args) {
    return plan_make(args, (size_t)params_int(args->tunables, "chunks"), (size_t)params_int(args->tunables, "leaf"));
}

/* Scratch: means, weights and scales, then the partial results of one pass after the other. */
static size_t means_bytes(const VariantArgs *args, size_t element) {
    return divide_up(3 * moments_cols(args) * element, 256) * 256;
}

template <typename T, typename A, bool WEIGHTED>
static Status launch_means(const VariantArgs *args, const MomentsView<T> &view, const MomentsPlan &plan, const Means<A> &means) {
    using Partial = SumPart<T, A>;
    Partial *const partials = (Partial *)((char *)args->scratch + means_bytes(args, sizeof(A)));
    TRY(launch(sums_kernel<T, A, WEIGHTED>, plan_launch(args, plan, sizeof(Partial)), view, plan, means, partials));
    return reduce_rows(args, plan_partial_rows(plan), partials, [&](LaunchShape shape, auto... rest) {
        return launch(means_kernel<T, A, WEIGHTED>, shape, view, means, rest...);
    });
}

template <typename T, typename A, int ORDER, bool WEIGHTED>
static Status launch_moments(const VariantArgs *args, const MomentsView<T> &view, const MomentsPlan &plan, const Means<A> &means) {
    using Partial = PowerPart<A, ORDER>;
    Partial *const partials = (Partial *)((char *)args->scratch + means_bytes(args, sizeof(A)));
    TRY(launch(powers_kernel<T, A, ORDER, WEIGHTED>, plan_launch(args, plan, sizeof(Partial)), view, plan, means, partials));
    return reduce_rows(args, plan_partial_rows(plan), partials, [&](LaunchShape shape, auto... rest) {
        return launch(moments_kernel<T, A, ORDER, WEIGHTED>, shape, view, means, rest...);
    });
}

static Status run(const VariantArgs *args) {
    return moments_with_case(args, [args]<typename T, typename A, int ORDER, bool WEIGHTED>() {
        const MomentsView<T> view = moments_view<T>(args);
        const MomentsPlan plan = plan_of(args);
        A *const mean = (A *)args->scratch;
        const Means<A> means = {mean, mean + view.cols, mean + 2 * view.cols};
        TRY((launch_means<T, A, WEIGHTED>(args, view, plan, means)));
        return launch_moments<T, A, ORDER, WEIGHTED>(args, view, plan, means);
    });
}

/* Of the second pass; those of the first are smaller. */
static size_t partial_bytes(const VariantArgs *args) {
    return moments_with_case(args, [&]<typename T, typename A, int ORDER, bool>() { return sizeof(PowerPart<A, ORDER>); });
}
static_assert(sizeof(SumPart<double, double>) <= sizeof(PowerPart<double, 4>) &&
                  sizeof(SumPart<float, double>) <= sizeof(PowerPart<double, 4>) &&
                  sizeof(SumPart<float, float>) <= sizeof(PowerPart<float, 4>),
              "scratch for the second pass is enough for the first");

static size_t scratch_bytes(const VariantArgs *args) {
    return means_bytes(args, moments_in_double(args) ? sizeof(double) : sizeof(float)) +
           plan_scratch_bytes(plan_of(args), moments_cols(args), partial_bytes(args));
}

static Status configuration(const VariantArgs *args, LaunchNotes *out) {
    return plan_notes(plan_of(args), plan_shared_bytes(args, partial_bytes(args)), out);
}

RUNGS_VARIANT(moments, cuda_two_pass_grid) = {
    .backend = BACKEND_CUDA,
    .summary = "corrected two-pass, blocks of columns x rows, any shape",
    .origin = "Chan, Golub, LeVeque 1983; Pebay 2008; trees: Higham 1993",
    .tunables = TUNABLES,
    .scratch_bytes = scratch_bytes,
    .run = run,
    .configuration = configuration,
};
