/* plan.cuh - how a matrix of any shape is cut for a grid: see moments/columns.cuh for the kernels.
 *
 * Loads are 16 bytes wide, so `fold` rows are glued into one line of a multiple of PACK elements: 4 rows of an odd number of
 * floats, 1 row of a multiple of 4. Element e of a line belongs to column e % cols, always; what narrow matrices lack in columns
 * they have in glued rows, and neighbouring threads read neighbouring memory. A block takes a slab of `tx` packs of the line's
 * `packs` and a chunk of lines, `ty` at a time. */
#ifndef RUNGS_MOMENTS_PLAN_CUH
#define RUNGS_MOMENTS_PLAN_CUH

#include "common/moments/case.cuh"

enum { MOMENTS_THREADS = 256, MOMENTS_LINES = 8 /* that a thread loads at once; a block has work for a whole turn of them */ };

struct MomentsPlan {
    size_t fold, line;    /* rows and elements of a line */
    size_t lines, rest;   /* complete lines; elements after them, fewer than a line */
    size_t packs;         /* of a line */
    size_t slabs, chunks; /* of the grid */
    size_t chunk_lines;   /* complete lines of a chunk, the last one may have fewer */
    unsigned tx, ty;      /* threads of a block along a line, and lines side by side */
};

/* Rows of the matrix of partial results that a pass leaves: [chunks * fold, cols]. */
static inline size_t plan_partial_rows(const MomentsPlan &plan) {
    return plan.chunks * plan.fold;
}

/* Few enough chunks that all blocks are on the device at once, and as many as that allows; if slabs alone are more, or fill it
 * badly, then whole waves, up to four. */
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

/* slab: most packs of a block; chunks: 0: what suits the device; lines_per_thread: 0, or how many lines a thread takes at most,
 * which decides chunks too. */
static MomentsPlan plan_make(const VariantArgs *args, size_t pack, size_t blocks_per_sm, size_t slab, size_t chunks,
                             size_t lines_per_thread) {
    const size_t rows = moments_rows(args), cols = moments_cols(args);
    MomentsPlan plan = {};
    plan.fold = 1;
    while (plan.fold * cols % pack != 0) plan.fold *= 2; /* pack is a power of two */
    plan.line = plan.fold * cols;
    plan.lines = rows / plan.fold;
    plan.rest = rows % plan.fold * cols;
    plan.packs = plan.line / pack;
    plan.slabs = divide_up(plan.packs, slab);
    plan.tx = (unsigned)divide_up(plan.packs, plan.slabs);
    plan.ty = MOMENTS_THREADS / plan.tx;
    const size_t most = divide_up(plan.lines, (size_t)plan.ty * MOMENTS_LINES);
    if (lines_per_thread > 0)
        chunks = divide_up(plan.lines, plan.ty * lines_per_thread);
    else if (chunks == 0)
        chunks = plan_chunks(plan.slabs, device_sm_count() * blocks_per_sm, most > 0 ? most : 1);
    const size_t grid_allows = GRID_BLOCKS_MAX / plan.slabs;
    if (chunks > grid_allows) chunks = grid_allows;
    /* Whole turns of ty lines each. */
    plan.chunk_lines = divide_up(divide_up(plan.lines, chunks > 0 ? chunks : 1), plan.ty) * plan.ty;
    plan.chunks = plan.lines > 0 ? divide_up(plan.lines, plan.chunk_lines) : 1;
    return plan;
}

#define SLAB_TUNABLE                                                                                                               \
    { "slab", "most 16-byte packs of a line that a block takes", PARAM_INT, "16", 1, MOMENTS_THREADS, NULL }
#define CHUNKS_TUNABLE                                                                                                             \
    { "chunks", "chunks of rows; 0: as many as the device takes at once", PARAM_INT, "0", 0, 1e6, NULL }

#endif
