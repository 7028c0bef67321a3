/* _lines.cuh - how the CUDA variants without shape limits cut a matrix [rows, cols]: into lines, slabs and chunks.
 *
 * Loads are 16 bytes wide (a pack: 8 elements of 16 bits, 4 floats or 2 doubles; of types of 8 bits 8 elements, too, for a thread
 * has no registers for 16 columns). `fold` rows are glued into one line, so that a line is a whole number
 * of packs: 4 rows of an odd number of floats, 1 row of a multiple of 4. Element e of a line belongs to column e % cols. A narrow
 * matrix has few columns but long lines, and neighbouring threads always read neighbouring memory.
 *
 * A block of 256 threads takes a slab of tx packs of the line, and a chunk of the lines, ty = 256 / tx at a time: thread (x, y)
 * takes pack x of the slab in lines y, y + ty, ... of the chunk, LINES loads in flight at once. Rows after the last complete line
 * (`rest` elements) are added by row y = 0 of the last chunk.
 *
 * A rows kernel leaves one partial result per element of a line and chunk, a matrix [chunks * fold, cols] that a reduction kernel
 * merges until one row is left: REDUCE_ROWS rows per thread, then a tree of the block's threads. */
#pragma once

#include "_shared.cuh"

enum { MOMENTS_THREADS = 256, MOMENTS_LINES = 8 /* the fewest lines per thread that a chunk is cut for */ };
enum { BLOCKS_PER_SM = 2 /* at 256 threads: up to 128 registers per thread */ };
enum { REDUCE_THREADS = 256, REDUCE_COLUMNS = 8, REDUCE_ROWS = 8 };

struct MomentsPlan {
    size_t fold, line;    /* rows and elements of a line */
    size_t lines, rest;   /* complete lines; elements after them, fewer than a line */
    size_t packs;         /* of a line */
    size_t slabs, chunks; /* of the grid */
    size_t chunk_lines;   /* complete lines of a chunk, the last one may have fewer */
    unsigned threads;     /* of a block: MOMENTS_THREADS at most */
    unsigned tx, ty;      /* those along a line, and lines side by side */
};

#define SLAB_TUNABLE                                                                                                               \
    { "slab", "most 16-byte packs of a line that a block takes", PARAM_INT, "16", 1, MOMENTS_THREADS, NULL }
#define CHUNKS_TUNABLE                                                                                                             \
    { "chunks", "chunks of rows; 0: as many as the device takes at once", PARAM_INT, "0", 0, 1e6, NULL }

__host__ __device__ constexpr size_t pack_elements(size_t size) {
    return size < 4 ? 8 : 16 / size;
}

/* Few enough chunks that all blocks are resident at once, and as many as that allows. If the slabs alone are more than that, or
 * fill the device badly: whole waves of blocks, up to four. */
static inline size_t plan_chunks(size_t slabs, size_t slots, size_t most) {
    size_t best = 1;
    double best_use = 0;
    for (size_t waves = 1; waves <= 4; waves++) {
        const size_t chunks = waves * slots / slabs;
        if (chunks == 0) continue;
        const size_t used = chunks < most ? chunks : most, blocks = slabs * used;
        const double use = (double)blocks / (double)(divide_up(blocks, slots) * slots);
        if (use > best_use + 0.05) best = used, best_use = use;
    }
    return best;
}

/* The lines of a matrix. */
static inline MomentsPlan plan_lines(const VariantArgs *args) {
    const size_t rows = moments_rows(args), cols = moments_cols(args), pack = pack_elements(dtype_size(args->problem->dtype));
    MomentsPlan plan = {};
    plan.fold = 1;
    while (plan.fold * cols % pack != 0) plan.fold *= 2; /* pack is a power of two */
    plan.line = plan.fold * cols;
    plan.lines = rows / plan.fold;
    plan.rest = rows % plan.fold * cols;
    plan.packs = plan.line / pack;
    return plan;
}

/* So many chunks, of whole turns of ty lines each. */
static inline void plan_chunked(MomentsPlan *plan, size_t chunks) {
    const size_t grid_allows = GRID_BLOCKS_MAX / plan->slabs;
    if (chunks > grid_allows) chunks = grid_allows;
    plan->chunk_lines = divide_up(divide_up(plan->lines, chunks > 0 ? chunks : 1), plan->ty) * plan->ty;
    plan->chunks = plan->lines > 0 ? divide_up(plan->lines, plan->chunk_lines) : 1;
}

/* And their cut. slab: most packs of a block. chunks: 0: what suits the device. lines_per_thread: 0, or the most lines that a
 * thread takes, which then decides the chunks. */
static inline MomentsPlan plan_cut(const VariantArgs *args, unsigned threads, size_t slab, size_t chunks, size_t lines_per_thread) {
    MomentsPlan plan = plan_lines(args);
    plan.threads = threads;
    plan.slabs = divide_up(plan.packs, slab);
    plan.tx = (unsigned)divide_up(plan.packs, plan.slabs);
    plan.ty = threads / plan.tx;
    const size_t most = divide_up(plan.lines, (size_t)plan.ty * MOMENTS_LINES);
    if (lines_per_thread > 0)
        chunks = divide_up(plan.lines, plan.ty * lines_per_thread);
    else if (chunks == 0)
        chunks = plan_chunks(plan.slabs, device_sm_count() * BLOCKS_PER_SM, most > 0 ? most : 1);
    plan_chunked(&plan, chunks);
    return plan;
}

/* As the tunable `slab` says. */
static inline MomentsPlan plan_make(const VariantArgs *args, size_t chunks, size_t lines_per_thread) {
    return plan_cut(args, MOMENTS_THREADS, (size_t)params_int(args->tunables, "slab"), chunks, lines_per_thread);
}

/* Rows of partial results that a rows kernel leaves. */
static inline size_t plan_partial_rows(const MomentsPlan &plan) {
    return plan.chunks * plan.fold;
}

/* Dynamic shared memory of a rows kernel: a partial result for every thread and element of its pack. */
static inline size_t plan_shared_bytes(const VariantArgs *args, size_t partial_bytes) {
    return pack_elements(dtype_size(args->problem->dtype)) * MOMENTS_THREADS * partial_bytes;
}

static inline LaunchShape plan_launch(const VariantArgs *args, const MomentsPlan &plan, size_t partial_bytes) {
    return {dim3((unsigned)(plan.slabs * plan.chunks)), dim3(MOMENTS_THREADS), plan_shared_bytes(args, partial_bytes),
            args->stream};
}

/* Columns of a block of a reduction kernel: a power of two, at most 8. */
static inline unsigned reduce_columns(size_t cols) {
    unsigned tx = 1;
    while (tx < cols && tx < REDUCE_COLUMNS) tx *= 2;
    return tx;
}
/* Rows of partial results that a block of a reduction kernel merges into one. */
static inline size_t reduce_segment(size_t cols) {
    return (size_t)REDUCE_ROWS * (REDUCE_THREADS / reduce_columns(cols));
}

/* Partial results of a pass: those of the chunks, and those of the first reduction. Later reductions swap the two. */
static inline size_t plan_scratch_bytes(const MomentsPlan &plan, size_t cols, size_t partial_bytes) {
    const size_t rows = plan_partial_rows(plan), segment = reduce_segment(cols);
    const size_t reduced = rows > segment ? divide_up(rows, segment) : 0;
    return rows > 1 ? (rows + reduced) * cols * partial_bytes : 0;
}

/* Reduces rows of partial results to the outputs. Each step, call(shape, in, rows, segment, tx, out), launches a reduction kernel;
 * the last one has no `out`. */
template <typename Partial, typename Call> static Status reduce_rows(const VariantArgs *args, size_t rows, Partial *in, Call call) {
    const size_t cols = moments_cols(args), segment = reduce_segment(cols);
    const unsigned tx = reduce_columns(cols);
    Partial *out = in + rows * cols;
    while (rows > 1) {
        const size_t segments = divide_up(rows, segment);
        const LaunchShape shape = {dim3((unsigned)(divide_up(cols, tx) * segments)), dim3(REDUCE_THREADS),
                                   REDUCE_THREADS * sizeof(Partial), args->stream};
        TRY(call(shape, (const Partial *)in, rows, segment, tx, segments > 1 ? out : (Partial *)NULL));
        Partial *const swap = in;
        in = out;
        out = swap;
        rows = segments;
    }
    return STATUS_OK;
}

static inline Status plan_notes(const MomentsPlan &plan, size_t shared_bytes, LaunchNotes *out) {
    launch_note(out, "threads", plan.threads);
    launch_note(out, "blocks", (double)(plan.slabs * plan.chunks));
    launch_note(out, "slabs", (double)plan.slabs);
    launch_note(out, "chunks", (double)plan.chunks);
    launch_note(out, "rows_glued", (double)plan.fold);
    launch_note(out, "threads_along_row", plan.tx);
    launch_note(out, "shared_bytes", (double)shared_bytes);
    launch_note(out, "sm_count", (double)device_sm_count());
    return STATUS_OK;
}

template <typename T> constexpr unsigned PACK = (unsigned)pack_elements(sizeof(T));
template <typename T> using LinePack = Pack<T, PACK<T>>;

template <typename T> static __device__ LinePack<T> pack_load(const T *at) {
    return *reinterpret_cast<const LinePack<T> *>(at);
}

/* What a thread of a rows kernel takes: the pack at `offset` of lines begin, begin + ty, ... below end. */
struct MomentsPart {
    size_t chunk, offset, begin, end;
    unsigned y;
    bool works;    /* else beyond the slab or the block's whole lines */
    bool has_rest; /* takes the rest's elements of its pack too */
};

template <typename T> static __device__ MomentsPart part_of_thread(const MomentsPlan &plan) {
    const size_t slab = blockIdx.x % plan.slabs, chunk = blockIdx.x / plan.slabs;
    const unsigned x = threadIdx.x % plan.tx, y = threadIdx.x / plan.tx;
    const size_t pack = slab * plan.tx + x, offset = pack * PACK<T>;
    const bool works = y < plan.ty && pack < plan.packs, has_rest = chunk + 1 == plan.chunks && y == 0;
    const size_t begin = chunk * plan.chunk_lines + y, chunk_end = (chunk + 1) * plan.chunk_lines;
    const size_t end = chunk_end < plan.lines ? chunk_end : plan.lines;
    return {chunk, offset, begin, end, y, works, has_rest};
}

/* Column and row, within its line, of element e. */
static __device__ inline size_t line_column(const MomentsPlan &plan, size_t cols, size_t e) {
    return plan.fold == 1 ? e : e % cols;
}
static __device__ inline unsigned line_row(const MomentsPlan &plan, size_t cols, size_t e) {
    return plan.fold == 1 ? 0 : (unsigned)(e / cols);
}

/* The weight of a row of a line; 1 without weights. */
template <bool WEIGHTED, typename T>
static __device__ SumOf<T> line_weight(const MomentsView<T> &view, const MomentsPlan &plan, size_t line, unsigned row) {
    return WEIGHTED ? wide(view.weights[line * plan.fold + row]) : (SumOf<T>)1;
}

/* Threads of equal x merge their COUNT results each into those of y = 0, as a tree. All threads of the block take part; shared has
 * room for COUNT per thread, result i of thread (x, y) at [i * blockDim.x + y * tx + x]. */
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

/* Calls push(pack, line) with the thread's pack of each of its lines, LINES loads in flight at once. */
template <unsigned LINES, typename T, typename Push>
static __device__ void read_lines(const MomentsView<T> &view, const MomentsPlan &plan, const MomentsPart &part, Push push) {
    size_t line = part.begin;
    const size_t turn = plan.ty, stride = turn * plan.line;
    const T *at = view.x + line * plan.line + part.offset;
    LinePack<T> batch[LINES];
    for (; line + (LINES - 1) * turn < part.end; line += LINES * turn) {
#pragma unroll
        for (unsigned u = 0; u < LINES; u++, at += stride) batch[u] = pack_load(at);
#pragma unroll
        for (unsigned u = 0; u < LINES; u++) push(batch[u], line + u * turn);
    }
    if (line >= part.end) return;
#pragma unroll
    for (unsigned u = 0; u < LINES; u++, at += stride) /* the last few lines, fewer than LINES */
        if (line + u * turn < part.end) batch[u] = pack_load(at);
#pragma unroll
    for (unsigned u = 0; u < LINES; u++)
        if (line + u * turn < part.end) push(batch[u], line + u * turn);
}

/* A reduction kernel. in: [rows, cols]. Blocks: groups of tx columns x segments of rows. own: an empty result of the thread. out:
 * [segments, cols]; NULL: one segment, and write(column, result). */
template <typename Partial, typename Write>
static __device__ void reduce_segments(const Partial *in, size_t rows, size_t cols, size_t segment, unsigned tx, Partial &own,
                                       Partial *out, Write write) {
    DYN_SHARED(Partial, shared); /* [256] */
    const size_t groups = (cols + tx - 1) / tx, at = blockIdx.x / groups;
    const size_t c = blockIdx.x % groups * tx + threadIdx.x % tx;
    const size_t segment_end = (at + 1) * segment, end = segment_end < rows ? segment_end : rows;
    const unsigned y = threadIdx.x / tx, ty = REDUCE_THREADS / tx;
    if (c < cols) {
#pragma unroll 4
        for (size_t row = at * segment + y; row < end; row += ty) own.merge(in[row * cols + c]);
    }
    shared[threadIdx.x] = own;
    merge_lanes<1>(shared, tx, ty);
    if (c >= cols || y > 0) return;
    if (out)
        out[at * cols + c] = shared[threadIdx.x];
    else
        write(c, shared[threadIdx.x]);
}
