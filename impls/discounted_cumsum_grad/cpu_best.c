/* Idea: all cores; both recurrences as in discounted_cumsum/cpu_best, eight positions at a time, then dgamma by vectors.
 *   rows              up to 2^15 positions, enough for all threads: a row at a time for each, which keeps y in a row of scratch, so
 * in its cache. longer, or fewer  blocks: all are read to see what each carries out, forth and back; what comes into each follows
 * from that, row by row; then all are done, each with y in scratch. No thread waits for another, whichever way the rows go. k > 0
 * each window forth and back by itself, O(n k); threads share the outputs.
 * Traffic: x, dy, gamma once in, or twice in blocks; dx once out, dgamma too if each element has its own.
 * Rounding: recurrences in double, y and z to the dtype once; sums of dgamma in double.
 * Limits: O(n k) operations for sums of k terms. Sums of k terms: |gamma|^(k-1) within the range of double. After a sum that is not
 *   finite, what comes into the blocks behind it is found by one thread.
 * Origin: torch-discounted-cumsum 1.1.0 (backward); Blelloch (1990). */
#ifdef __AVX512F__
#pragma GCC target("prefer-vector-width=512")
#endif
#include "common/cpu_chain.h"
#include "discounted_cumsum_grad/_shared.h"

#include <omp.h>

enum { PART = 4096 /* positions whose gradients are gathered at a time, k > 0 */ };

/* Doubles that hold this many bytes. */
static size_t doubles(size_t bytes) {
    return (bytes + sizeof(double) - 1) / sizeof(double);
}

/* What a block carries out with nothing carried in, what a carry in is worth there, and what is carried in. */
typedef struct Carry {
    double out, weight, in;
} Carry;

typedef struct Block {
    Carry forward, adjoint;
} Block;

typedef struct Layout {
    size_t parts, per_row; /* partial sums of dgamma: per row and in all */
    size_t own;            /* doubles of a thread: y of a row or block, or those of k > 0 */
    size_t blocks;         /* of all rows; 0: a thread takes whole rows */
} Layout;

static Layout layout(const DcsJob *job) {
    Layout self = {.per_row = 1};
    const size_t size = job->f32 ? sizeof(float) : sizeof(double);
    if (job->k > 0) {
        self.per_row = dcs_blocks(job->n, PART);
        self.own = job->k + 2 * PART;
    } else if (job->n > job->block) {
        self.per_row = dcs_blocks(job->n, job->block);
        self.blocks = job->rows * self.per_row;
        self.own = doubles((job->block + 2) * size);
    } else {
        self.own = doubles(job->n * size);
    }
    self.parts = job->rows * self.per_row;
    return self;
}

static void share(DcsJob *job, long long threads) {
    const size_t elements = job->rows * job->n;
    job->threads = chain_threads(threads, omp_get_max_threads(), elements);
    job->block = job->rows >= (size_t)job->threads ? CHAIN_BLOCK : chain_block_size(elements, job->threads);
}

static size_t scratch_bytes(const VariantArgs *args) {
    DcsJob job = dcs_job(args);
    share(&job, params_int(args->tunables, "threads"));
    const Layout room = layout(&job);
    return (room.parts + (size_t)job.threads * room.own) * sizeof(double) + room.blocks * sizeof(Block);
}

/* dgamma of `count` elements, none of them the first that is read: z is dx, y that of the element read before. */
#define DEFINE_PRODUCTS(T, suffix)                                                                                                 \
    static double products_##suffix(const T *restrict z, const T *restrict y, const uint8_t *restrict reset, T *restrict dgamma,   \
                                    size_t count) {                                                                                \
        double sum = 0;                                                                                                            \
        _Pragma("omp simd reduction(+ : sum)") for (size_t i = 0; i < count; i++) {                                                \
            const double product = reset && reset[i] != 0 ? 0 : (double)z[i] * (double)y[i];                                       \
            if (dgamma) dgamma[i] = (T)product;                                                                                    \
            sum += product;                                                                                                        \
        }                                                                                                                          \
        return sum;                                                                                                                \
    }
DEFINE_PRODUCTS(float, f32)
DEFINE_PRODUCTS(double, f64)

/* Positions [from, end) of a row, whose y are at y[0 .. n-1]. */
static double products(const DcsGradient *self, size_t row, const void *y, size_t from, size_t end) {
    const DcsJob *job = &self->forward;
    if (from == 0) {
        if (job->gamma_element) dcs_put(self->dgamma, dcs_walk(job, row, 0).first, job->f32, 0);
        from = 1;
    }
    if (from >= end) return 0;
    const size_t low = job->right ? job->n - end : from, first = row * job->n + low, before = job->right ? low + 1 : low - 1;
    const uint8_t *reset = job->reset ? job->reset + first : NULL;
    if (job->f32)
        return products_f32((const float *)self->dx + first, (const float *)y + before, reset,
                            job->gamma_element ? (float *)self->dgamma + first : NULL, end - from);
    return products_f64((const double *)self->dx + first, (const double *)y + before, reset,
                        job->gamma_element ? (double *)self->dgamma + first : NULL, end - from);
}

/* The walk of a row whose output is a row by itself. */
static void write_row(DcsJob job, size_t row, void *y) {
    const size_t size = job.f32 ? sizeof(float) : sizeof(double);
    job.y = (char *)y - row * job.n * size;
    dcs_write(&job, dcs_walk(&job, row, 0), job.n, 0);
}

/* x of a row that is read next: against the order of the rows, which hardware does not foresee. */
static void fetch_row(const DcsJob *job, size_t row) {
    const size_t bytes = job->n * (job->f32 ? sizeof(float) : sizeof(double));
    const char *x = (const char *)job->x + row * bytes;
    for (size_t b = 0; b < bytes; b += 64) __builtin_prefetch(x + b);
}

/* What comes into position 1 of the adjoint: position 0, which has been written. */
static double entry(const DcsGradient *self, size_t row) {
    return dcs_value(self->dx, dcs_walk(&self->adjoint, row, 0).first, self->forward.f32);
}

static void run_rows(const DcsGradient *self, const Layout *room, double *parts, double *y) {
    const DcsJob *job = &self->forward;
#pragma omp parallel for schedule(static) num_threads(self->forward.threads)
    for (size_t row = 0; row < job->rows; row++) {
        double *own = y + (size_t)omp_get_thread_num() * room->own;
        write_row(*job, row, own);
        if (row + 1 < job->rows) fetch_row(job, row + 1);
        dcs_adjoint_entry(self, row);
        dcs_write(&self->adjoint, dcs_walk(&self->adjoint, row, 1), job->n - 1, entry(self, row));
        parts[row] = products(self, row, own, 0, job->n);
    }
}

/* Positions of a block: [from, end) forward, [first, last) of the adjoint, whose position 0 has been written. */
typedef struct Range {
    size_t row, from, end, first, last;
} Range;

static Range range_of(const DcsJob *job, const Layout *room, size_t block) {
    Range self = {.row = block / room->per_row, .from = block % room->per_row * job->block};
    self.end = job->n - self.from < job->block ? job->n : self.from + job->block;
    self.first = self.end == job->n ? 1 : job->n - self.end;
    self.last = job->n - self.from;
    return self;
}

/* What a block carries out, unless nobody needs it. A row's last block need not be a multiple of eight: its adjoint begins. */
static void measure(const DcsGradient *self, const Layout *room, size_t block, Block *measured) {
    const DcsJob *forward = &self->forward, *adjoint = &self->adjoint;
    const Range at = range_of(forward, room, block);
    double ignored;
    *measured = (Block){.forward = {.out = 0}};
    if (at.end < forward->n)
        measured->forward.out =
            dcs_measure(forward, dcs_walk(forward, at.row, at.from), at.end - at.from, &measured->forward.weight);
    const DcsWalk back = dcs_walk(adjoint, at.row, at.first);
    if (at.end == forward->n)
        measured->adjoint.out = dcs_stretch(adjoint, false, back, at.last - at.first, entry(self, at.row), &ignored);
    else if (at.from > 0)
        measured->adjoint.out = dcs_measure(adjoint, back, at.last - at.first, &measured->adjoint.weight);
}

/* The carry out of a block: as measured, or step by step where it, or what comes in, is not finite. */
static double carry_out(const DcsJob *job, const Carry *carry, DcsWalk at, size_t count) {
    const double out = carry->out + carry->weight * carry->in;
    double ignored;
    const bool known = isfinite(carry->in) && fabs(carry->weight) <= DBL_MAX && fabs(out) <= dcs_limit(job->f32);
    return known ? out : dcs_stretch(job, false, at, count, carry->in, &ignored);
}

/* What comes into each block of a row: forth, then back. */
static void carry_through(const DcsGradient *self, const Layout *room, size_t row, Block *blocks) {
    const size_t first = row * room->per_row, last = first + room->per_row - 1;
    for (size_t b = first; b < last; b++) {
        const Range at = range_of(&self->forward, room, b);
        blocks[b + 1].forward.in =
            carry_out(&self->forward, &blocks[b].forward, dcs_walk(&self->forward, row, at.from), at.end - at.from);
    }
    blocks[last].adjoint.in = entry(self, row);
    if (last > first) blocks[last - 1].adjoint.in = blocks[last].adjoint.out; /* which was measured with what comes in */
    for (size_t b = last; b-- > first + 1;) {
        const Range at = range_of(&self->forward, room, b);
        blocks[b - 1].adjoint.in =
            carry_out(&self->adjoint, &blocks[b].adjoint, dcs_walk(&self->adjoint, row, at.first), at.last - at.first);
    }
}

/* y of the block and of the position before it to `own`, z to dx, their products to dgamma. Returns the sum of dgamma. */
static double finish(const DcsGradient *self, const Range *at, const Block *block, double *own) {
    DcsJob job = self->forward;
    const size_t size = job.f32 ? sizeof(float) : sizeof(double), row_first = at->row * job.n;
    const size_t low = job.right ? job.n - at->end : at->from; /* in the row */
    char *first = (char *)own + size;                          /* y of that element */
    job.y = first - (row_first + low) * size;
    dcs_put(own, job.right ? at->end - at->from + 1 : 0, job.f32, block->forward.in);
    dcs_write(&job, dcs_walk(&job, at->row, at->from), at->end - at->from, block->forward.in);
    dcs_write(&self->adjoint, dcs_walk(&self->adjoint, at->row, at->first), at->last - at->first, block->adjoint.in);
    return products(self, at->row, first - low * size, at->from, at->end);
}

static void run_blocks(const DcsGradient *self, const Layout *room, double *parts, double *y, Block *blocks) {
#pragma omp parallel num_threads(self->forward.threads)
    {
#pragma omp for schedule(static)
        for (size_t row = 0; row < self->forward.rows; row++) dcs_adjoint_entry(self, row);
#pragma omp for schedule(static)
        for (size_t b = 0; b < room->blocks; b++) measure(self, room, b, &blocks[b]);
#pragma omp for schedule(static)
        for (size_t row = 0; row < self->forward.rows; row++) carry_through(self, room, row, blocks);
#pragma omp for schedule(static)
        for (size_t b = 0; b < room->blocks; b++) {
            const Range at = range_of(&self->forward, room, b);
            parts[b] = finish(self, &at, &blocks[b], y + (size_t)omp_get_thread_num() * room->own);
        }
    }
}

static void run_windows(const DcsGradient *self, const Layout *room, double *parts, double *scratch) {
    const DcsJob *job = &self->forward;
#pragma omp parallel for schedule(static) num_threads(self->forward.threads)
    for (size_t part = 0; part < room->parts; part++) {
        const size_t from = part % room->per_row * PART, end = job->n - from < PART ? job->n : from + PART;
        double *own = scratch + (size_t)omp_get_thread_num() * room->own;
        parts[part] = dcs_gradient_windows(self, part / room->per_row, from, end, own + 2 * PART, own, own + PART);
    }
}

static void add_up(const DcsGradient *self, const Layout *room, const double *parts) {
    const DcsJob *job = &self->forward;
    double all = 0;
    for (size_t row = 0; row < job->rows; row++) {
        double sum = 0;
        for (size_t part = 0; part < room->per_row; part++) sum += parts[row * room->per_row + part];
        if (job->gamma_row == 1) dcs_put(self->dgamma, row, job->f32, sum);
        all += sum;
    }
    if (job->gamma_row == 0) dcs_put(self->dgamma, 0, job->f32, all);
}

static Status run(const VariantArgs *args) {
    DcsGradient self = dcs_gradient(args);
    share(&self.forward, params_int(args->tunables, "threads"));
    self.adjoint.threads = self.forward.threads;
    self.adjoint.block = self.forward.block;
    const Layout room = layout(&self.forward);
    double *parts = args->scratch, *own = parts + room.parts;
    if (self.forward.n == 0)
        for (size_t part = 0; part < room.parts; part++) parts[part] = 0;
    else if (self.forward.k > 0)
        run_windows(&self, &room, parts, own);
    else if (room.blocks > 0)
        run_blocks(&self, &room, parts, own, (Block *)(own + (size_t)self.forward.threads * room.own));
    else
        run_rows(&self, &room, parts, own);
    if (!self.forward.gamma_element) add_up(&self, &room, parts);
    return STATUS_OK;
}

static const ParamSpec TUNABLES[] = {
    {"threads", "threads; 0: all cores, fewer where there is little to do", PARAM_INT, "0", 0, 4096, NULL},
    {0},
};

RUNGS_VARIANT(discounted_cumsum_grad, cpu_best) = {
    .backend = BACKEND_CPU,
    .summary = "both recurrences by vectors and blocks, all cores",
    .origin = "torch-discounted-cumsum's backward; Blelloch 1990",
    .tunables = TUNABLES,
    .supports = dcs_gradient_fits,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
