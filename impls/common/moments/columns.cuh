/* columns.cuh - one pass over a matrix that leaves one result per column, for any shape.
 *
 *     rows_kernel    every block reduces a chunk of lines of its slab: each thread its own columns in registers, then the block's
 *                    threads of the same column as a tree in shared memory. Leaves partial results [chunks * fold, cols]; where
 *                    that is one row, the column is finished at once.
 *     reduce_kernel  merges those rows, REDUCE_ROWS per thread and then a tree, until one is left and the column is finished.
 *
 * A Pass<T, A, ORDER, WEIGHTED> says what is computed (moments/two_pass.cuh, moments/one_read.cuh):
 *     LINES               that a thread loads at once, as registers allow: 64 KiB per SM in flight are enough to fill the bus
 *     OPENING             values of a thread's column that start() looks at
 *     Given               what it knows of the columns beforehand
 *     Step                what all columns of a thread share while it walks over lines: step.next() before each line
 *     Column              the state of one column: init(given, c), start(first, n) with the first OPENING values that will be
 *                         pushed, or as many as there are, push(x, w, step), partial(step)
 *     Partial             default: of nothing; merge(other)
 *     finish(view, given, c, partial)
 */
#ifndef RUNGS_MOMENTS_COLUMNS_CUH
#define RUNGS_MOMENTS_COLUMNS_CUH

#include "common/moments/plan.cuh"

enum { REDUCE_THREADS = 256, REDUCE_COLUMNS = 8, REDUCE_ROWS = 8 };

template <typename T> struct alignas(16) Pack {
    static constexpr unsigned SIZE = 16 / sizeof(T);
    T v[SIZE];
};

/* Threads of equal x merge their COUNT results each into those of y = 0. All threads of the block take part; shared has room for
 * COUNT per thread, result i of thread (x, y) at [i * blockDim.x + y * tx + x]. */
template <unsigned COUNT, typename Partial> __device__ void merge_lanes(Partial *shared, unsigned tx, unsigned ty) {
    const unsigned y = threadIdx.x / tx;
    __syncthreads();
    for (unsigned active = ty; active > 1;) {
        const unsigned kept = (active + 1) / 2;
        if (y + kept < active) {
#pragma unroll
            for (unsigned i = 0; i < COUNT; i++) {
                Partial *own = shared + i * blockDim.x + threadIdx.x;
                own->merge(own[kept * tx]);
            }
        }
        __syncthreads();
        active = kept;
    }
}

/* Lines that a thread has taken. Integer: a count in float is exact only up to 2^24. */
struct CountStep {
    size_t count = 0;
    __device__ void next() { count++; }
};

/* One thread's walk: lines first, first + stride, ... of one pack. */
template <class Pass> struct Walk {
    using T = typename Pass::Element;
    static constexpr unsigned SIZE = Pack<T>::SIZE, LINES = Pass::LINES;
    const MomentsView<T> &view;
    const MomentsPlan &plan;
    typename Pass::Column column[SIZE];
    typename Pass::Step step;
    unsigned row_in_line[SIZE];

    __device__ T weight(size_t line, unsigned j) const {
        return Pass::IS_WEIGHTED ? view.weights[line * plan.fold + row_in_line[j]] : (T)1;
    }
    __device__ void take(const Pack<T> &pack, size_t line) {
        step.next();
#pragma unroll
        for (unsigned j = 0; j < SIZE; j++) column[j].push(pack.v[j], weight(line, j), step);
    }
    /* Loads of LINES lines are on their way at once; the last few with a guard. */
    __device__ void lines(size_t line, size_t end, size_t offset) {
        const T *at = view.x + line * plan.line + offset;
        const size_t stride = plan.ty * plan.line;
        Pack<T> batch[LINES];
        for (; line + (LINES - 1) * (size_t)plan.ty < end; line += LINES * (size_t)plan.ty) {
#pragma unroll
            for (unsigned u = 0; u < LINES; u++, at += stride) batch[u] = *reinterpret_cast<const Pack<T> *>(at);
#pragma unroll
            for (unsigned u = 0; u < LINES; u++) take(batch[u], line + u * (size_t)plan.ty);
        }
        if (line >= end) return;
#pragma unroll
        for (unsigned u = 0; u < LINES; u++, at += stride)
            if (line + u * (size_t)plan.ty < end) batch[u] = *reinterpret_cast<const Pack<T> *>(at);
#pragma unroll
        for (unsigned u = 0; u < LINES; u++)
            if (line + u * (size_t)plan.ty < end) take(batch[u], line + u * (size_t)plan.ty);
    }
};

/* Element j of the pack at `offset` in the line that is not complete. */
template <class Pass>
__device__ typename Pass::Partial rest_partial(const Walk<Pass> &walk, typename Pass::Given given, size_t offset, unsigned j) {
    const MomentsPlan &plan = walk.plan;
    if (offset + j >= plan.rest) return {};
    const auto x = walk.view.x[plan.lines * plan.line + offset + j];
    typename Pass::Column column;
    typename Pass::Step step;
    column.init(given, (offset + j) % walk.view.cols);
    column.start(&x, 1);
    step.next();
    column.push(x, walk.weight(plan.lines, j), step);
    return column.partial(step);
}

template <class Pass>
static __global__ void __launch_bounds__(MOMENTS_THREADS, Pass::BLOCKS_PER_SM)
    rows_kernel(MomentsView<typename Pass::Element> view, MomentsPlan plan, typename Pass::Given given,
                typename Pass::Partial *partials) {
    using T = typename Pass::Element;
    using Partial = typename Pass::Partial;
    constexpr unsigned SIZE = Pack<T>::SIZE;
    DYN_SHARED(Partial, shared);
    const size_t slab = blockIdx.x % plan.slabs, chunk = blockIdx.x / plan.slabs;
    const unsigned x = threadIdx.x % plan.tx, y = threadIdx.x / plan.tx;
    const size_t pack = slab * plan.tx + x, offset = pack * SIZE;
    const bool works = y < plan.ty && pack < plan.packs, has_rest = chunk + 1 == plan.chunks && y == 0;
    const size_t begin = chunk * plan.chunk_lines + y, chunk_end = (chunk + 1) * plan.chunk_lines;
    const size_t end = chunk_end < plan.lines ? chunk_end : plan.lines;
    if (works) {
        Walk<Pass> walk = {view, plan, {}, {}, {}};
#pragma unroll
        for (unsigned j = 0; j < SIZE; j++) {
            walk.row_in_line[j] = plan.fold == 1 ? 0 : (unsigned)((offset + j) / view.cols);
            walk.column[j].init(given, plan.fold == 1 ? offset + j : (offset + j) % view.cols);
            T opening[Pass::OPENING];
            int values = 0;
#pragma unroll
            for (int k = 0; k < Pass::OPENING; k++) {
                const size_t line = begin + (size_t)k * plan.ty;
                if (line < end) opening[values++] = view.x[line * plan.line + offset + j];
            }
            if (values > 0) walk.column[j].start(opening, values);
        }
        walk.lines(begin, end, offset);
#pragma unroll
        for (unsigned j = 0; j < SIZE; j++) {
            Partial own = walk.column[j].partial(walk.step);
            if (has_rest) own.merge(rest_partial(walk, given, offset, j));
            shared[j * MOMENTS_THREADS + threadIdx.x] = own;
        }
    } else {
#pragma unroll
        for (unsigned j = 0; j < SIZE; j++) shared[j * MOMENTS_THREADS + threadIdx.x] = Partial();
    }
    merge_lanes<SIZE>(shared, plan.tx, plan.ty);
    if (!works || y > 0) return;
#pragma unroll
    for (unsigned j = 0; j < SIZE; j++) {
        const Partial &all = shared[j * MOMENTS_THREADS + threadIdx.x];
        if (plan.chunks * plan.fold == 1)
            Pass::finish(view, given, offset + j, all);
        else
            partials[chunk * plan.line + offset + j] = all;
    }
}

/* in: [rows, cols]. Blocks: groups of tx columns x segments of `segment` rows. out: [segments, cols]; NULL: one segment, finish. */
template <class Pass>
static __global__ void __launch_bounds__(REDUCE_THREADS)
    reduce_kernel(MomentsView<typename Pass::Element> view, typename Pass::Given given, const typename Pass::Partial *in,
                  size_t rows, size_t segment, unsigned tx, typename Pass::Partial *out) {
    using Partial = typename Pass::Partial;
    DYN_SHARED(Partial, shared);
    const size_t groups = (view.cols + tx - 1) / tx, at = blockIdx.x / groups;
    const size_t c = blockIdx.x % groups * tx + threadIdx.x % tx;
    const size_t segment_end = (at + 1) * segment, end = segment_end < rows ? segment_end : rows;
    const unsigned y = threadIdx.x / tx, ty = REDUCE_THREADS / tx;
    Partial all;
    if (c < view.cols) {
#pragma unroll 4
        for (size_t row = at * segment + y; row < end; row += ty) all.merge(in[row * view.cols + c]);
    }
    shared[threadIdx.x] = all;
    merge_lanes<1>(shared, tx, ty);
    if (c >= view.cols || y > 0) return;
    if (out)
        out[at * view.cols + c] = shared[threadIdx.x];
    else
        Pass::finish(view, given, c, shared[threadIdx.x]);
}

/* Columns of a block of reduce_kernel: a power of two, so that they divide it. */
static inline unsigned reduce_columns(size_t cols) {
    unsigned tx = 1;
    while (tx < cols && tx < REDUCE_COLUMNS) tx *= 2;
    return tx;
}
static inline size_t reduce_segment(size_t cols) {
    return (size_t)REDUCE_ROWS * (REDUCE_THREADS / reduce_columns(cols));
}

template <class Pass> static size_t pass_shared_bytes() {
    return Pack<typename Pass::Element>::SIZE * MOMENTS_THREADS * sizeof(typename Pass::Partial);
}

/* The configuration of a pass, for the row. */
template <class Pass> static Status pass_notes(const MomentsPlan &plan, LaunchNotes *out) {
    launch_note(out, "threads", MOMENTS_THREADS);
    launch_note(out, "blocks", (double)(plan.slabs * plan.chunks));
    launch_note(out, "slabs", (double)plan.slabs);
    launch_note(out, "chunks", (double)plan.chunks);
    launch_note(out, "rows_glued", (double)plan.fold);
    launch_note(out, "threads_along_row", plan.tx);
    launch_note(out, "shared_bytes", (double)pass_shared_bytes<Pass>());
    launch_note(out, "sm_count", (double)device_sm_count());
    return STATUS_OK;
}

/* Scratch for the partial results of a pass: the chunks', and those of the first reduction; later ones go back and forth. */
template <class Pass> static size_t pass_scratch_bytes(const MomentsPlan &plan, size_t cols) {
    const size_t rows = plan_partial_rows(plan), segment = reduce_segment(cols);
    const size_t reduced = rows > segment ? divide_up(rows, segment) : 0;
    return rows > 1 ? (rows + reduced) * cols * sizeof(typename Pass::Partial) : 0;
}

template <class Pass>
static Status pass_launch(const VariantArgs *args, const MomentsView<typename Pass::Element> &view, const MomentsPlan &plan,
                          typename Pass::Given given, void *scratch) {
    using Partial = typename Pass::Partial;
    size_t rows = plan_partial_rows(plan);
    Partial *in = (Partial *)scratch, *out = in + rows * view.cols;
    TRY(launch(rows_kernel<Pass>,
               {dim3((unsigned)(plan.slabs * plan.chunks)), dim3(MOMENTS_THREADS), pass_shared_bytes<Pass>(), args->stream}, view,
               plan, given, in));
    const unsigned tx = reduce_columns(view.cols);
    const size_t segment = reduce_segment(view.cols), groups = divide_up(view.cols, tx);
    while (rows > 1) {
        const size_t segments = divide_up(rows, segment);
        TRY(launch(reduce_kernel<Pass>,
                   {dim3((unsigned)(groups * segments)), dim3(REDUCE_THREADS), REDUCE_THREADS * sizeof(Partial), args->stream},
                   view, given, (const Partial *)in, rows, segment, tx, segments > 1 ? out : (Partial *)NULL));
        Partial *const swap = in;
        in = out;
        out = swap;
        rows = segments;
    }
    return STATUS_OK;
}

/* A method of one pass; one of two is TwoPass. Noted: the pass whose configuration a row tells. */
template <class Pass> struct OnePass {
    using Element = typename Pass::Element;
    using Noted = Pass;
    static size_t scratch_bytes(const MomentsPlan &plan, size_t cols) { return pass_scratch_bytes<Pass>(plan, cols); }
    static Status launch_on(const VariantArgs *args, const MomentsPlan &plan) {
        return pass_launch<Pass>(args, moments_view<Element>(args), plan, {}, args->scratch);
    }
};

/* The functions of a variant that uses this grid: its method, and its tunables as a plan for packs of so many elements. */
template <template <typename, typename, int, bool> class Method, MomentsPlan (*plan_of)(const VariantArgs *args, size_t pack)>
struct GridVariant {
    template <typename T, typename A, int ORDER, bool WEIGHTED> struct Kernels {
        using Own = Method<T, A, ORDER, WEIGHTED>;
        static MomentsPlan plan(const VariantArgs *args) { return plan_of(args, Pack<T>::SIZE); }
        static size_t scratch_bytes(const VariantArgs *args) { return Own::scratch_bytes(plan(args), moments_cols(args)); }
        static Status launch_on(const VariantArgs *args) { return Own::launch_on(args, plan(args)); }
        static Status configuration(const VariantArgs *args, LaunchNotes *out) {
            return pass_notes<typename Own::Noted>(plan(args), out);
        }
    };
    static Status run(const VariantArgs *args) {
        return moments_dispatch<Kernels>(args, [args]<class K>() { return K::launch_on(args); });
    }
    static size_t scratch_bytes(const VariantArgs *args) {
        return moments_dispatch<Kernels>(args, [args]<class K>() { return K::scratch_bytes(args); });
    }
    static Status configuration(const VariantArgs *args, LaunchNotes *out) {
        return moments_dispatch<Kernels>(args, [args, out]<class K>() { return K::configuration(args, out); });
    }
};

#endif
