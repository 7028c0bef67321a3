/* Idea: all cores, vector registers, nothing ever subtracted from a sum.
 *   short    up to 24 doubles or 48 floats: each window from its elements, a vector of outputs at a time; sums and extremes from
 *            four quarters (_best_short.h).
 *   longer   tiles, at a cost independent of w. A window is a tail of one or two tiles, whole tiles, and the head of another; whole
 *            tiles are kept in a queue of two stacks. Sums and extremes: heads and tails scanned in registers, a vector of
 *            neighbours at a time (_best_long.h); moments: each lane scans elements of its own (_best_moments.h).
 *            Each thread takes one stretch of outputs; what it needs of the tiles before its stretch is summed first.
 *   The loops are compiled once for float and once for double (_best_f32.c, _best_f64.c); here is what surrounds them.
 * Traffic: reads every element once, and once more as it leaves where w elements outgrow the cache; before that, w elements per
 *   thread (at most n in all); writes past the caches where the output outgrows them.
 * Rounding: sums: a window's elements added in some order, chains of at most 36 + w/tile. Moments: about the mean of a third of
 *   the window or more (of short ones, of eight elements; about one, an outlier, 3% of arrays failed), chains of at most 64, parts
 *   joined by Chan's rule: no E[x^2] - E[x]^2. In the dtype, whole tiles in double. NaN and inf stay in their windows because only
 *   those windows are made of them.
 * Limits: agg=apply has its own variants.
 * Origin: van Herk (1992), Gil and Werman (1993); Chan, Golub, LeVeque (1979); the queue of two stacks is folklore. */
#include "_best.h"
#include "variant.h"

#include <omp.h>

static const ParamSpec TUNABLES[] = {
    {"threads", "threads; 0: all cores", PARAM_INT, "0", 0, 4096, NULL},
    {0},
};

static bool is_short(const BestJob *job, size_t size) {
    return job->w * size <= BEST_SHORT_BYTES;
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

static const ScanKind KINDS[BEST_APPLY + 1] = {[BEST_MEAN] = SCAN_SUM,    [BEST_SUM] = SCAN_SUM, [BEST_VAR] = SCAN_MOMENTS,
                                               [BEST_STD] = SCAN_MOMENTS, [BEST_MIN] = SCAN_MIN, [BEST_MAX] = SCAN_MAX};

/* A middle is a third of a window or more. */
static void plan_moments(BestJob *job, size_t size) {
    const size_t lanes = SCAN_BYTES / size, most = (job->w - 1) / 3 * 2;
    _Static_assert(BEST_SHORT_BYTES / sizeof(double) / 3 * 2 >= BEST_ROWS, "the shortest window has a tile");
    job->tile = BEST_ROWS;
    while (2 * job->tile <= most && job->tile < BEST_MOST_ROWS * lanes) job->tile *= 2;
    job->rows = job->tile > BEST_ROWS * lanes ? job->tile / lanes : BEST_ROWS;
}

static void plan_tile(BestJob *job, size_t size) {
    const size_t group = BEST_GROUP_BYTES / size;
    job->tile = smaller((job->w - 1) / group * group, BEST_TILE);
    while (job->tile >= BEST_TILE && job->tile * size < BEST_TILE_BYTES && 4 * job->tile < job->w) job->tile *= 2;
}

/* All but the pointers into scratch. */
static BestJob plan(const VariantArgs *args) {
    const Params *params = &args->problem->params;
    const size_t size = dtype_size(args->problem->dtype);
    BestJob job = {.x = args->in[0].data,
                   .y = args->out[0].data,
                   .n = array_count(&args->in[0]),
                   .w = (size_t)params_int(params, "window"),
                   .agg = (BestAgg)params_choice(params, "agg"),
                   .kind = KINDS[params_choice(params, "agg")],
                   .incomplete = params_choice(params, "incomplete") == 0 ? NAN : INFINITY,
                   .past_caches = array_bytes(&args->out[0]) >= SCAN_PAST_CACHES,
                   .threads = (int)params_int(args->tunables, "threads")};
    if (job.threads == 0) job.threads = omp_get_max_threads();
    if (job.w > job.n || is_short(&job, size)) return job;
    (job.kind == SCAN_MOMENTS ? plan_moments : plan_tile)(&job, size);
    job.tiles = (job.n - 1) / job.tile + 1;
    job.back = (job.w - 1) / job.tile;
    job.rest = (job.w - 1) % job.tile;
    job.front_room = smaller(job.back, (job.tiles - job.back) / (size_t)job.threads + 1) + 1;
    return job;
}

static size_t scratch_bytes(const VariantArgs *args) {
    const BestJob job = plan(args);
    return (2 * job.tiles + (size_t)job.threads * job.front_room) * sizeof(TileSum);
}

static void fill_incomplete(const BestJob *job, bool f32) {
    const size_t count = smaller(job->w - 1, job->n);
#pragma omp parallel for simd schedule(static) num_threads(job->threads)
    for (size_t i = 0; i < count; i++) {
        if (f32)
            ((float *)job->y)[i] = (float)job->incomplete;
        else
            ((double *)job->y)[i] = job->incomplete;
    }
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return params_choice(&args->problem->params, "agg") == BEST_APPLY ? variant_refuse(reason, "apply has its own variants") : true;
}

static Status run(const VariantArgs *args) {
    BestJob job = plan(args);
    const bool f32 = args->problem->dtype == DTYPE_F32;
    fill_incomplete(&job, f32);
    if (job.w > job.n) return STATUS_OK;
    job.sums = args->scratch;
    job.rests = job.sums + job.tiles;
    job.fronts = job.rests + job.tiles;
    void (*const share)(const BestJob *) = is_short(&job, dtype_size(args->problem->dtype))
                                               ? (f32 ? best_short_f32 : best_short_f64)
                                               : (f32 ? best_long_f32 : best_long_f64);
#pragma omp parallel num_threads(job.threads)
    share(&job);
    return STATUS_OK;
}

RUNGS_VARIANT(rolling, cpu_best) = {
    .backend = BACKEND_CPU,
    .summary = "short windows from their elements, long ones from heads and tails of tiles; vectors, all cores",
    .origin = "van Herk 1992, Gil and Werman 1993, Chan, Golub and LeVeque 1979",
    .tunables = TUNABLES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
