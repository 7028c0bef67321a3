/* Idea: all cores, vector registers, cost independent of w, nothing ever subtracted from a sum.
 *   w <= 64  doubling. The sums of 2^k elements that end at j come from those of 2^(k-1); w's binary digits say which to join
 *            (rolling/best_small.inc).
 *   w > 64   tiles of 64 to 256 elements. A window is the tail of one tile, whole tiles, and the head of another; heads and tails
 *            are scanned in registers, whole tiles kept in a queue of two stacks (rolling/best_tiles.inc). Each thread takes one
 *            stretch of outputs; what it needs of the tiles before its stretch is summed first.
 * Traffic: reads every element once, and once more as it leaves where w elements outgrow the cache; before that, w elements per
 *   thread (at most n in all); writes past the caches where the output outgrows them.
 * Rounding: sums: a window's elements added in some order, chains of at most 3 + 256/lanes + w/tile. Moments: shifted by an element
 *   of the part, at most 256 elements long, and joined by Chan's rule: no E[x^2] - E[x]^2 over a window. In the dtype, whole tiles
 *   in double. NaN and inf stay in their windows because only those windows are made of them.
 * Limits: agg=apply has its own variants.
 * Origin: van Herk (1992), Gil and Werman (1993); Chan, Golub, LeVeque (1979); the queue of two stacks is folklore. */
/* The work per element is small enough for full vectors to pay. */
#ifdef __AVX512F__
#pragma GCC target("prefer-vector-width=512")
#endif
#include "common/rolling/best.h"
#include "variant.h"

#include <omp.h>

static const ParamSpec TUNABLES[] = {
    {"threads", "threads; 0: all cores", PARAM_INT, "0", 0, 4096, NULL},
    {0},
};

enum { LARGE_BYTES = 16 << 20 /* an output from here on is written past the caches */ };

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* All but the pointers into scratch. */
static BestJob plan(const VariantArgs *args) {
    const Params *params = &args->problem->params;
    BestJob job = {.x = args->in[0].data,
                   .y = args->out[0].data,
                   .n = array_count(&args->in[0]),
                   .w = (size_t)params_int(params, "window"),
                   .agg = (BestAgg)params_choice(params, "agg"),
                   .incomplete = params_choice(params, "incomplete") == 0 ? NAN : INFINITY,
                   .past_caches = array_bytes(&args->out[0]) >= LARGE_BYTES,
                   .threads = (int)params_int(args->tunables, "threads")};
    if (job.threads == 0) job.threads = omp_get_max_threads();
    if (job.w > job.n || job.w <= BEST_SMALL) return job;
    for (job.tile = BEST_SMALL; job.tile < BEST_TILE_MAX && 4 * job.tile < job.w;) job.tile *= 2;
    job.tiles = (job.n - 1) / job.tile + 1;
    job.back = (job.w - 1) / job.tile;
    job.rest = (job.w - 1) % job.tile;
    job.front_room = smaller(job.back, (job.tiles - job.back) / (size_t)job.threads + 1) + 1;
    return job;
}

static size_t scratch_bytes(const VariantArgs *args) {
    const BestJob job = plan(args);
    return (job.tiles + (size_t)job.threads * job.front_room) * sizeof(TileSum);
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

/* [0, count) in equal parts: where part k of `parts` begins. */
static size_t part_begin(size_t count, size_t k, size_t parts) {
    return count / parts * k + smaller(k, count % parts);
}

/* For each element type and kind a thread's work, so that inside it both are constants. */
#define DEFINE_THREAD_WORK(type, kind)                                                                                             \
    static void small_##type##_##kind(const BestJob *job) {                                                                        \
        SmallWork_##type work;                                                                                                     \
        _Pragma("omp for schedule(static)") for (size_t b = (job->w - 1) / BEST_BLOCK_##type;                                      \
                                                 b <= (job->n - 1) / BEST_BLOCK_##type; b++) {                                     \
            const size_t block = b * BEST_BLOCK_##type, first = block < job->w - 1 ? job->w - 1 : block;                           \
            small_block_##type(job, kind, first, smaller(block + BEST_BLOCK_##type, job->n) - first, &work);                       \
        }                                                                                                                          \
        scan_store_fence();                                                                                                        \
    }                                                                                                                              \
    static void sums_##type##_##kind(const BestJob *job, size_t first, size_t end, TileWork_##type *work) {                        \
        for (size_t t = first; t < end; t++) {                                                                                     \
            tile_scan_##type(job, kind, true, t, work);                                                                            \
            job->sums[t] = tile_sum_##type(job, kind, &work->head);                                                                \
        }                                                                                                                          \
    }                                                                                                                              \
    static void tiles_##type##_##kind(const BestJob *job) {                                                                        \
        const size_t thread = (size_t)omp_get_thread_num(), team = (size_t)omp_get_num_threads(), back = job->back;                \
        const size_t first = back + part_begin(job->tiles - back, thread, team);                                                   \
        const size_t end = back + part_begin(job->tiles - back, thread + 1, team);                                                 \
        const size_t known =                                                                                                       \
            thread + 1 == team ? end : end - smaller(back, end - first); /* the next threads look back on these */                 \
        TileWork_##type work;                                                                                                      \
        tile_tables_##type(job->tile, &work);                                                                                      \
        sums_##type##_##kind(job, part_begin(back, thread, team), part_begin(back, thread + 1, team), &work);                      \
        sums_##type##_##kind(job, known, end, &work);                                                                              \
        _Pragma("omp barrier") tile_region_##type(job, kind, first, end, known, job->fronts + thread * job->front_room, &work);    \
        scan_store_fence();                                                                                                        \
    }
DEFINE_THREAD_WORK(f32, SCAN_SUM)
DEFINE_THREAD_WORK(f32, SCAN_MOMENTS)
DEFINE_THREAD_WORK(f32, SCAN_MIN)
DEFINE_THREAD_WORK(f32, SCAN_MAX)
DEFINE_THREAD_WORK(f64, SCAN_SUM)
DEFINE_THREAD_WORK(f64, SCAN_MOMENTS)
DEFINE_THREAD_WORK(f64, SCAN_MIN)
DEFINE_THREAD_WORK(f64, SCAN_MAX)

typedef void (*ThreadWork)(const BestJob *job);

/* [tiled?][f32?][kind] */
static const ThreadWork WORK[2][2][4] = {
    {{small_f64_SCAN_SUM, small_f64_SCAN_MOMENTS, small_f64_SCAN_MIN, small_f64_SCAN_MAX},
     {small_f32_SCAN_SUM, small_f32_SCAN_MOMENTS, small_f32_SCAN_MIN, small_f32_SCAN_MAX}},
    {{tiles_f64_SCAN_SUM, tiles_f64_SCAN_MOMENTS, tiles_f64_SCAN_MIN, tiles_f64_SCAN_MAX},
     {tiles_f32_SCAN_SUM, tiles_f32_SCAN_MOMENTS, tiles_f32_SCAN_MIN, tiles_f32_SCAN_MAX}},
};

static const ScanKind KINDS[] = {[BEST_MEAN] = SCAN_SUM,    [BEST_SUM] = SCAN_SUM, [BEST_VAR] = SCAN_MOMENTS,
                                 [BEST_STD] = SCAN_MOMENTS, [BEST_MIN] = SCAN_MIN, [BEST_MAX] = SCAN_MAX};

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return params_choice(&args->problem->params, "agg") == BEST_APPLY ? variant_refuse(reason, "apply has its own variants") : true;
}

static Status run(const VariantArgs *args) {
    BestJob job = plan(args);
    const bool f32 = args->problem->dtype == DTYPE_F32;
    fill_incomplete(&job, f32);
    if (job.w > job.n) return STATUS_OK;
    job.sums = args->scratch;
    job.fronts = job.sums + job.tiles;
    const ThreadWork work = WORK[job.w > BEST_SMALL][f32][KINDS[job.agg]];
#pragma omp parallel num_threads(job.threads)
    work(&job);
    return STATUS_OK;
}

RUNGS_VARIANT(rolling, cpu_best) = {
    .backend = BACKEND_CPU,
    .summary = "doubling for short windows, tiles of heads and tails for long ones; vectors, all cores, any w at the same cost",
    .origin = "van Herk 1992, Gil and Werman 1993, Chan, Golub and LeVeque 1979",
    .tunables = TUNABLES,
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
