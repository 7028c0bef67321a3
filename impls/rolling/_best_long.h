/* _best_long.h - long windows, w > 64: tiles. Part of _best_f32.c and _best_f64.c, as _best_short.h, whose helpers it uses.
 *
 * A window is the tail of one tile, whole tiles, and the head of another. Heads and tails are scanned in registers, once per tile:
 * a vector of L lanes in log2(L) shuffles and operations, then one more to join it to what came before, about one cycle per element
 * where a serial scan waits four. Moments are kept about each part's own first (head) or last (tail) element, which every use of
 * that part contains, and joined by Chan's rule. */
#pragma once

#include "_best_short.h"

#include <omp.h>

/* Shuffle indices (SCAN_UP, ...) for this vector. */
#define LANE_INDEX(rule, s) ((Lanes)SCAN_CALL_(SCAN_PASTE(SCAN_LIST, LANES), rule, s))

ALWAYS_INLINE Vector vector_join(ScanKind kind, Vector a, Vector b) {
    if (kind == SCAN_MIN) return VECTOR_MIN(a, b);
    if (kind == SCAN_MAX) return VECTOR_MAX(a, b);
    return a + b;
}

/* Lane i: all lanes up to i (forward) or from i on. */
ALWAYS_INLINE Vector vector_scan(ScanKind kind, bool forward, Vector v, Vector none) {
#define SHIFTED(s) /* an index must be a constant before anything is inlined, hence two shuffles */                                \
    (forward ? __builtin_shuffle(none, v, LANE_INDEX(SCAN_UP, s)) : __builtin_shuffle(none, v, LANE_INDEX(SCAN_DOWN, s)))
    v = vector_join(kind, v, SHIFTED(1));
#if LANES >= 4
    v = vector_join(kind, v, SHIFTED(2));
#endif
#if LANES >= 8
    v = vector_join(kind, v, SHIFTED(4));
#endif
#if LANES >= 16
    v = vector_join(kind, v, SHIFTED(8));
#endif
#undef SHIFTED
    return v;
}

/* The lane that holds the whole vector after a scan, in every lane. */
ALWAYS_INLINE Vector vector_total(bool forward, Vector v) {
    return forward ? __builtin_shuffle(v, LANE_INDEX(SCAN_LAST, 0)) : __builtin_shuffle(v, LANE_INDEX(SCAN_FIRST, 0));
}

/* Scans `tile` elements (a multiple of the lanes). one[k]: the sum or extreme of x[0..k], or of x[k..tile-1]. Moments: one is the
 * mean less `shift`, two the sum of squares about the mean; per_count[k] is the reciprocal of how many elements k stands for.
 * Returns whether an element is NaN (extremes only: they lose NaN here). */
ALWAYS_INLINE bool scan_elements(ScanKind kind, bool forward, size_t tile, const real *restrict x, real shift,
                                 const real *restrict per_count, real *restrict one, real *restrict two) {
    const Vector none = (Vector){0} + (kind == SCAN_MIN ? (real)INFINITY : kind == SCAN_MAX ? (real)-INFINITY : 0);
    Vector before = none, squares_before = none;
    Lanes unordered = {0};
    for (size_t step = 0; step < tile; step += LANES) {
        const size_t k = forward ? step : tile - LANES - step;
        Vector v = vector_load(x + k);
        if (kind == SCAN_MIN || kind == SCAN_MAX) unordered |= v != v;
        if (kind == SCAN_MOMENTS) v -= shift;
        const Vector s = vector_scan(kind, forward, v, none);
        const Vector sum = vector_join(kind, s, before);
        before = vector_join(kind, before, vector_total(forward, s));
        if (kind == SCAN_MOMENTS) {
            const Vector q = vector_scan(kind, forward, v * v, none);
            const Vector mean = sum * vector_load(per_count + k);
            const Vector m2 = (q + squares_before) - sum * mean;
            squares_before += vector_total(forward, q);
            vector_store(one + k, mean);
            vector_store(two + k, (Vector)((Lanes)m2 & ~(m2 < 0))); /* never below 0; NaN stays */
        } else {
            vector_store(one + k, sum);
        }
    }
    int64_t lanes[SCAN_BYTES / sizeof(int64_t)], any = 0;
    memcpy(lanes, &unordered, sizeof lanes);
    for (size_t l = 0; l < SCAN_BYTES / sizeof(int64_t); l++) any |= lanes[l];
    return any != 0;
}

/* One tile's scan: see scan_elements. */
typedef struct Scan {
    real one[BEST_TILE_BYTES / sizeof(real)] BEST_ALIGNED;
    real two[BEST_TILE_BYTES / sizeof(real)] BEST_ALIGNED;
    real shift;
    bool has_nan;
} Scan;

typedef struct TileWork {
    Scan head, tail;
    real out[BEST_TILE_BYTES / sizeof(real)] BEST_ALIGNED;
    real padded[BEST_TILE_BYTES / sizeof(real)] BEST_ALIGNED;
    real per_head[BEST_TILE_BYTES / sizeof(real)] BEST_ALIGNED; /* 1 / (k + 1) */
    real per_tail[BEST_TILE_BYTES / sizeof(real)] BEST_ALIGNED; /* 1 / (tile - k) */
} TileWork;

ALWAYS_INLINE void scan_tile(const BestJob *job, ScanKind kind, bool forward, size_t t, TileWork *work) {
    Scan *scan = forward ? &work->head : &work->tail;
    const size_t tile = job->tile, left = job->n - t * tile;
    const real *x = (const real *)job->x + t * tile;
    scan->shift = x[forward ? 0 : tile - 1];
    if (left < tile) { /* the last tile; only heads of it are needed, so that what follows the end does not matter */
        memcpy(work->padded, x, left * sizeof *x);
        for (size_t k = left; k < tile; k++) work->padded[k] = scan->shift;
        x = work->padded;
    }
    scan->has_nan =
        scan_elements(kind, forward, tile, x, scan->shift, forward ? work->per_head : work->per_tail, scan->one, scan->two);
    if (!scan->has_nan) return;
    double extreme = (double)x[forward ? 0 : tile - 1]; /* again, one by one, with care for NaN */
    for (size_t step = 0; step < tile; step++) {
        const size_t k = forward ? step : tile - 1 - step;
        scan->one[k] = (real)(extreme = extreme_of(kind, extreme, (double)x[k]));
    }
}

/* The scanned head as the summary of its whole tile. */
ALWAYS_INLINE TileSum tile_sum(const BestJob *job, ScanKind kind, const Scan *head) {
    const double one = (double)head->one[job->tile - 1];
    return kind == SCAN_MOMENTS ? (TileSum){(double)head->shift + one, (double)head->two[job->tile - 1]} : (TileSum){one, 0};
}

/* a and b stand for na and nb elements; none of them: the other. */
ALWAYS_INLINE TileSum tilesum_merge(ScanKind kind, TileSum a, double na, TileSum b, double nb) {
    if (na == 0) return b;
    if (nb == 0) return a;
    if (kind == SCAN_SUM) return (TileSum){a.a + b.a, 0};
    if (kind != SCAN_MOMENTS) return (TileSum){extreme_of(kind, a.a, b.a), 0};
    const double share = nb / (na + nb), delta = b.a - a.a;
    return (TileSum){a.a + delta * share, a.b + b.b + delta * delta * (na * share)};
}

/* The merged sums of a window of whole tiles that moves forward: a queue of two stacks, so that nothing is ever subtracted.
 * front[k] merges the tiles from front_begin + k to front_end; back those from there to back_end. */
typedef struct TileQueue {
    const TileSum *sums;
    double tile; /* elements per tile */
    TileSum *front, back;
    size_t room, front_begin, front_end, back_end;
} TileQueue;

ALWAYS_INLINE TileSum tilequeue_window(TileQueue *self, ScanKind kind, size_t from, size_t to) {
    if (from >= to) return (TileSum){0, 0};
    if (from >= self->front_end) {
        size_t k = to - from < self->room ? to - from : self->room;
        self->front_begin = from;
        self->front_end = self->back_end = from + k;
        TileSum all = {0, 0};
        for (double n = 0; k-- > 0; n += self->tile)
            self->front[k] = all = tilesum_merge(kind, self->sums[from + k], self->tile, all, n);
    }
    for (; self->back_end < to; self->back_end++)
        self->back = tilesum_merge(kind, self->back, (double)(self->back_end - self->front_end) * self->tile,
                                   self->sums[self->back_end], self->tile);
    return tilesum_merge(kind, self->front[from - self->front_begin], (double)(self->front_end - from) * self->tile, self->back,
                         (double)(to - self->front_end) * self->tile);
}

/* Moments: tail and head by Chan's rule (their sizes add up to the same at every output), then the whole tiles. */
ALWAYS_INLINE void join_moments(const BestJob *job, const TileWork *work, size_t begin, size_t end, size_t from, TileSum core,
                                size_t core_tiles, real *restrict out) {
    const double w = (double)job->w, whole = (double)(core_tiles * job->tile), ends = w - whole;
    const real *restrict head_mean = work->head.one + begin, *restrict head_m2 = work->head.two + begin;
    const real *restrict tail_mean = work->tail.one + from, *restrict tail_m2 = work->tail.two + from;
    const real apart = work->head.shift - work->tail.shift, per_ends = (real)(1 / ends), divide = (real)(1 / (w - 1));
    const real core_mean = core_tiles ? (real)(core.a - (double)work->tail.shift) : 0, core_m2 = (real)core.b;
    const real weight = (real)(core_tiles ? ends * (whole / w) : 0), tail_first = (real)(job->tile - from);
    const real head_first = (real)(begin + 1);
#pragma omp simd
    for (int k = 0; k < (int)(end - begin); k++) {
        const real delta = apart + (head_mean[k] - tail_mean[k]);
        const real share = (head_first + (real)k) * per_ends;
        const real mean = tail_mean[k] + delta * share;
        const real m2 = (tail_m2[k] + head_m2[k]) + delta * delta * ((tail_first - (real)k) * share);
        const real to_core = core_mean - mean;
        out[k] = ((m2 + core_m2) + to_core * to_core * weight) * divide;
    }
}

/* Outputs begin .. end - 1 of the tile of the heads, whose windows begin in the tile of the tails, the first of them at `from`. */
ALWAYS_INLINE void join_segment(const BestJob *job, ScanKind kind, const TileWork *work, size_t begin, size_t end, size_t from,
                                TileSum core, size_t core_tiles, real *restrict out) {
    const real *restrict head = work->head.one + begin, *restrict tail = work->tail.one + from;
    const size_t count = end - begin;
    if (kind == SCAN_MOMENTS) {
        join_moments(job, work, begin, end, from, core, core_tiles, out);
    } else if (kind == SCAN_SUM) {
        const real middle = (real)core.a, factor = job->agg == BEST_MEAN ? (real)(1 / (double)job->w) : 1;
#pragma omp simd
        for (size_t k = 0; k < count; k++) out[k] = ((tail[k] + middle) + head[k]) * factor;
    } else {
        const double none = kind == SCAN_MIN ? INFINITY : -INFINITY, middle = core_tiles ? core.a : none;
        const real fast = (real)middle;
        if (work->head.has_nan || work->tail.has_nan || isnan(middle)) {
            for (size_t k = 0; k < count; k++)
                out[k] = (real)extreme_of(kind, extreme_of(kind, (double)tail[k], middle), (double)head[k]);
            return;
        }
#pragma omp simd
        for (size_t k = 0; k < count; k++) out[k] = join(kind, join(kind, tail[k], fast), head[k]);
    }
}

/* The outputs of tiles first .. end - 1. Sums of tiles from known_from on are there already and other threads read them. */
ALWAYS_INLINE void tile_region(const BestJob *job, ScanKind kind, size_t first, size_t end, size_t known_from, TileSum *front,
                               TileWork *work) {
    const size_t tile = job->tile, back = job->back, rest = job->rest;
    TileQueue queue = {.sums = job->sums, .tile = (double)tile, .front = front, .room = job->front_room};
    if (first > back && first < end) scan_tile(job, kind, false, first - back - 1, work);
    for (size_t t = first; t < end; t++) {
        const size_t left = job->n - t * tile, count = left < tile ? left : tile;
        const size_t split = rest < count ? rest : count, begin = t > back ? 0 : split;
        scan_tile(job, kind, true, t, work);
        if (t < known_from) job->sums[t] = tile_sum(job, kind, &work->head);
        const TileSum shorter = tilequeue_window(&queue, kind, t - back + 1, t);
        if (begin < split) {
            const TileSum longer = tilesum_merge(kind, job->sums[t - back], (double)tile, shorter, (double)((back - 1) * tile));
            join_segment(job, kind, work, begin, split, tile - rest, longer, back, work->out);
        }
        if (split < count) {
            scan_tile(job, kind, false, t - back, work);
            join_segment(job, kind, work, split, count, 0, shorter, back - 1, work->out + split);
        }
        if (job->agg == BEST_STD) take_roots(work->out, tile);
        scan_store((real *)job->y + t * tile + begin, work->out + begin, (count - begin) * sizeof(real), job->past_caches);
    }
}

/* [0, count) in equal parts: where part k of `parts` begins. */
static inline size_t part_begin(size_t count, size_t k, size_t parts) {
    return count / parts * k + (k < count % parts ? k : count % parts);
}

ALWAYS_INLINE void tile_sums(const BestJob *job, ScanKind kind, size_t first, size_t end, TileWork *work) {
    for (size_t t = first; t < end; t++) {
        scan_tile(job, kind, true, t, work);
        job->sums[t] = tile_sum(job, kind, &work->head);
    }
}

/* Each thread has one stretch of tiles. The sums that it or the next threads look back on are computed before the barrier. */
ALWAYS_INLINE void long_share(const BestJob *job, ScanKind kind) {
    const size_t thread = (size_t)omp_get_thread_num(), team = (size_t)omp_get_num_threads(), back = job->back;
    const size_t first = back + part_begin(job->tiles - back, thread, team);
    const size_t end = back + part_begin(job->tiles - back, thread + 1, team);
    const size_t looked_at = back < end - first ? back : end - first, known = thread + 1 == team ? end : end - looked_at;
    TileWork work;
    for (size_t k = 0; k < job->tile; k++) work.per_head[k] = work.per_tail[job->tile - 1 - k] = (real)(1 / (double)(k + 1));
    tile_sums(job, kind, part_begin(back, thread, team), part_begin(back, thread + 1, team), &work);
    tile_sums(job, kind, known, end, &work);
#pragma omp barrier
    tile_region(job, kind, first, end, known, job->fronts + thread * job->front_room, &work);
    scan_store_fence();
}

static inline void long_windows(const BestJob *job) {
    if (job->kind == SCAN_SUM) long_share(job, SCAN_SUM);
    if (job->kind == SCAN_MOMENTS) long_share(job, SCAN_MOMENTS);
    if (job->kind == SCAN_MIN) long_share(job, SCAN_MIN);
    if (job->kind == SCAN_MAX) long_share(job, SCAN_MAX);
}
