/* Idea: all cores; both recurrences as in discounted_cumsum/cpu_best, eight positions at a time, then dgamma by vectors.
 *   many rows         for half the threads at least: a row at a time for each, which keeps y in a row of scratch, so in its cache.
 *   few long rows     y to scratch, z to dx, dgamma from both: three passes, each shared by all threads.
 *   k > 0             each window forth and back by itself, O(n k); threads share the outputs.
 * Traffic: x, dy, gamma once in, dx once out; few long rows: y once out and once in, dx once more in. dgamma once out if each element has its own.
 * Rounding: recurrences in double, y and z to the dtype once; sums of dgamma in double.
 * Limits: O(n k) operations for sums of k terms. Sums of k terms: |gamma|^(k-1) within the range of double.
 * Origin: torch-discounted-cumsum 1.1.0 (backward); Blelloch (1990). */
#ifdef __AVX512F__
#pragma GCC target("prefer-vector-width=512")
#endif
#include "common/discounted_cumsum/stretch.h"
#include "discounted_cumsum_grad/_shared.h"

enum { PART = 4096 /* positions whose gradients are gathered at a time, k > 0 */, SEGMENT = 1 << 14 };

/* Doubles that hold this many bytes. */
static size_t doubles(size_t bytes) {
    return (bytes + sizeof(double) - 1) / sizeof(double);
}

typedef struct Layout {
    size_t parts, per_row; /* partial sums of dgamma: per row and in all */
    size_t y;              /* doubles of room for y: of all rows, or a row per thread */
    size_t links, windows; /* doubles: of the chain; of a thread's k > 0 */
} Layout;

static Layout layout(const DcsJob *job) {
    Layout self = {0};
    self.per_row = job->k > 0 ? dcs_blocks(job->n, PART) : dcs_is_chained(job) ? dcs_blocks(job->n, SEGMENT) : 1;
    self.parts = job->rows * self.per_row;
    const size_t size = job->f32 ? sizeof(float) : sizeof(double);
    if (job->k > 0)
        self.windows = (size_t)job->threads * (job->k + 2 * PART);
    else if (dcs_is_chained(job))
        self.y = doubles(job->rows * job->n * size), self.links = doubles(dcs_chain_bytes(job));
    else
        self.y = (size_t)job->threads * doubles(job->n * size);
    return self;
}

static size_t scratch_bytes(const VariantArgs *args) {
    DcsJob job = dcs_job(args);
    dcs_share(&job, params_int(args->tunables, "threads"));
    const Layout room = layout(&job);
    return (room.parts + room.y + room.links + room.windows) * sizeof(double);
}

/* dgamma of `count` elements, none of them the first that is read: z is dx, y that of the element read before. */
static double products_f32(const float *restrict z, const float *restrict y, const uint8_t *restrict reset, float *restrict dgamma,
                           size_t count) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < count; i++) {
        const double product = reset && reset[i] != 0 ? 0 : (double)z[i] * (double)y[i];
        if (dgamma) dgamma[i] = (float)product;
        sum += product;
    }
    return sum;
}

static double products_f64(const double *restrict z, const double *restrict y, const uint8_t *restrict reset,
                           double *restrict dgamma, size_t count) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < count; i++) {
        const double product = reset && reset[i] != 0 ? 0 : (double)z[i] * (double)y[i];
        if (dgamma) dgamma[i] = (double)product;
        sum += product;
    }
    return sum;
}

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

static void run_rows(const DcsGradient *self, double *parts, double *y) {
    const DcsJob *job = &self->forward;
    const size_t room = doubles(job->n * (job->f32 ? sizeof(float) : sizeof(double)));
#pragma omp parallel for schedule(static) num_threads(self->forward.threads)
    for (size_t row = 0; row < job->rows; row++) {
        double *own = y + (size_t)omp_get_thread_num() * room;
        write_row(*job, row, own);
        dcs_adjoint_entry(self, row);
        dcs_write(&self->adjoint, dcs_walk(&self->adjoint, row, 1), job->n - 1, dcs_entry(&self->adjoint, row));
        parts[row] = products(self, row, own, 0, job->n);
    }
}

static void run_long(const DcsGradient *self, const Layout *room, double *parts, double *y, void *links) {
    DcsJob job = self->forward;
    job.y = y;
    dcs_run_chained(&job, links);
    for (size_t row = 0; row < job.rows; row++) dcs_adjoint_entry(self, row);
    dcs_run_chained(&self->adjoint, links);
    const size_t size = job.f32 ? sizeof(float) : sizeof(double);
#pragma omp parallel for schedule(static) num_threads(self->forward.threads)
    for (size_t part = 0; part < room->parts; part++) {
        const size_t row = part / room->per_row, from = part % room->per_row * SEGMENT;
        const size_t end = job.n - from < SEGMENT ? job.n : from + SEGMENT;
        parts[part] = products(self, row, (const char *)y + row * job.n * size, from, end);
    }
}

static void run_windows(const DcsGradient *self, const Layout *room, double *parts, double *scratch) {
    const DcsJob *job = &self->forward;
#pragma omp parallel for schedule(static) num_threads(self->forward.threads)
    for (size_t part = 0; part < room->parts; part++) {
        const size_t from = part % room->per_row * PART, end = job->n - from < PART ? job->n : from + PART;
        double *own = scratch + (size_t)omp_get_thread_num() * (job->k + 2 * PART);
        parts[part] = dcs_gradient_windows(self, part / room->per_row, from, end, own + 2 * PART, own, own + PART);
    }
}

/* In the same order for any number of threads. */
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
    dcs_share(&self.forward, params_int(args->tunables, "threads"));
    self.adjoint.threads = self.forward.threads;
    self.adjoint.block = self.forward.block;
    const Layout room = layout(&self.forward);
    double *parts = args->scratch, *y = parts + room.parts, *windows = y + room.y + room.links;
    void *links = y + room.y;
    if (self.forward.n == 0)
        for (size_t part = 0; part < room.parts; part++) parts[part] = 0;
    else if (self.forward.k > 0)
        run_windows(&self, &room, parts, windows);
    else if (dcs_is_chained(&self.forward))
        run_long(&self, &room, parts, y, links);
    else
        run_rows(&self, parts, y);
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
