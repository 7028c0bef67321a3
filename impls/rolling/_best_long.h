/* _best_long.h - long windows: tiles. Part of _best_f32.c and _best_f64.c, as _best_short.h, whose helpers it uses. Here are sums
 * and extremes, and what moments (_best_moments.h) need too.
 *
 * The windows that end in a tile begin w - 1 earlier, so that lane k of a vector of tails belongs to lane k of the heads. What
 * follows the last of their first elements, up to the next tile, belongs to every tail: it is added up first (reduce). Then tails
 * are scanned backward into the first-level cache, heads forward in registers, and joined as they come: a vector of L lanes in
 * log2(L) shuffles and operations, then one more to join it to what came before. */
#pragma once

#include "_best_short.h"

#include <omp.h>

/* Shuffle indices (SCAN_UP, ...) for this vector. */
#define LANE_INDEX(rule, s) ((Lanes)SCAN_CALL_(SCAN_PASTE(SCAN_LIST, LANES), rule, s))

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

enum { GROUP = BEST_GROUP_BYTES / sizeof(real), VECTORS = GROUP / LANES };

/* What elements add up to, in all lanes; of extremes, which lose a NaN, not 0 in some lane of `nan` if there was one. */
typedef struct Carry {
    Vector sum;
    Lanes nan;
} Carry;

/* Each lane of v with all lanes before it (forward) or behind it, and with `before`, which v joins. */
ALWAYS_INLINE Vector scan_on(ScanKind kind, bool forward, Vector v, Carry *before) {
    const Vector s = vector_scan(kind, forward, v, none_of(kind)), joined = vector_join(kind, s, before->sum);
    if (kind != SCAN_SUM) before->nan |= v != v;
    before->sum = vector_join(kind, before->sum, vector_total(forward, s));
    return joined;
}

/* The `count` elements that end before `end`; whole groups are read, of the first one perhaps only the last lanes used. */
ALWAYS_INLINE Carry reduce(ScanKind kind, const real *end, size_t count) {
    const Vector none = none_of(kind);
    const size_t left = count % GROUP, whole = count - left;
    const real *first = end - (left > 0 ? whole : 0) - GROUP;
    Vector sum[VECTORS];
    Lanes lane = {0}, nan = {0};
    for (int l = 0; l < LANES; l++) lane[l] = l;
#pragma GCC unroll 8
    for (int j = 0; j < VECTORS; j++) {
        const Lanes use = lane >= (Lanes){0} + (int)(GROUP - left) - j * LANES;
        sum[j] = (Vector)(((Lanes)vector_load(first + j * LANES) & use) | ((Lanes)none & ~use));
        nan |= sum[j] != sum[j];
    }
    for (size_t done = 0; done < whole; done += GROUP) {
#pragma GCC unroll 8
        for (int j = 0; j < VECTORS; j++) {
            const Vector v = vector_load(end - done - GROUP + j * LANES);
            sum[j] = vector_join(kind, sum[j], v);
            nan |= v != v;
        }
    }
    for (int j = 1; j < VECTORS; j++) sum[0] = vector_join(kind, sum[0], sum[j]);
    return (Carry){.sum = vector_total(true, vector_scan(kind, true, sum[0], none)), .nan = nan};
}

enum { TILE = BEST_TILE_BYTES / sizeof(real), AHEAD = 4 * TILE /* elements that are asked for early */ };

typedef struct TileWork {
    real tail[TILE] BEST_ALIGNED, out[TILE] BEST_ALIGNED; /* lane by lane of a tile */
    real padded_head[TILE] BEST_ALIGNED, padded_tail[2 * TILE] BEST_ALIGNED;
} TileWork;

ALWAYS_INLINE bool lost_nan(ScanKind kind, const Carry *carry) {
    int64_t lanes[SCAN_BYTES / sizeof(int64_t)], any = 0;
    if (kind == SCAN_SUM) return false;
    memcpy(lanes, &carry->nan, sizeof lanes);
    for (size_t l = 0; l < SCAN_BYTES / sizeof(int64_t); l++) any |= lanes[l];
    return any != 0;
}

ALWAYS_INLINE TileSum tile_sum(ScanKind kind, const Carry *carry) {
    return (TileSum){lost_nan(kind, carry) ? NAN : (double)carry->sum[0], 0};
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

/* What all windows that end in a tile have in common: the whole tiles between tail and head, and the factor of a mean. */
typedef struct Middle {
    Vector sum, factor;
} Middle;

ALWAYS_INLINE Middle middle_of(const BestJob *job, ScanKind kind, TileSum core) {
    const Vector zero = {0}, sum = job->back > 1 ? zero + (real)core.a : none_of(kind);
    return (Middle){.sum = sum, .factor = zero + (real)(job->agg == BEST_MEAN ? 1 / (double)job->w : 1)};
}

/* The tails of all windows that end in a tile: they begin one element apart, and end before `end`. */
ALWAYS_INLINE Carry scan_tails(const BestJob *job, ScanKind kind, const real *end, TileWork *work) {
    const real *x = end - job->rest - job->tile;
    Carry carry = reduce(kind, end, job->rest);
    for (size_t k = job->tile; k > 0;) {
        k -= LANES;
        vector_store(work->tail + k, scan_on(kind, false, vector_load(x + k), &carry));
    }
    return carry;
}

/* Scans the heads and writes the outputs; returns what the tile adds up to. */
ALWAYS_INLINE Carry join_heads(const BestJob *job, ScanKind kind, const real *x, const TileWork *work, const Middle *from, real *y,
                               bool past) {
    const Middle middle = *from;
    Carry carry = {.sum = none_of(kind)};
    for (size_t k = 0; k < job->tile; k += LANES) {
        const Vector head = scan_on(kind, true, vector_load(x + k), &carry);
        __builtin_prefetch(x + k + AHEAD); /* the machine looks less far ahead where there is more to do than to copy */
        const Vector all = vector_join(kind, vector_join(kind, vector_load(work->tail + k), middle.sum), head);
        const Vector out = kind == SCAN_SUM ? all * middle.factor : all;
        scan_put(y + k, &out, past);
    }
    return carry;
}

/* Extremes where there is a NaN: one by one, with care. */
static inline void join_with_nan(const BestJob *job, ScanKind kind, const real *x, const real *end, double middle, TileWork *work) {
    const size_t tile = job->tile, length = tile + job->rest;
    const real *tails = end - length;
    double tail = (double)end[-1], head = (double)x[0];
    for (size_t k = length; k-- > 0;) {
        tail = extreme_of(kind, tail, (double)tails[k]);
        if (k < tile) work->tail[k] = (real)tail;
    }
    for (size_t k = 0; k < tile; k++) {
        head = extreme_of(kind, head, (double)x[k]);
        work->out[k] = (real)extreme_of(kind, extreme_of(kind, (double)work->tail[k], middle), head);
    }
}

/* The elements of tile t, padded with its first if it is the last; only heads of it are needed then. */
ALWAYS_INLINE const real *tile_begin(const BestJob *job, size_t t, TileWork *work) {
    const real *x = (const real *)job->x + t * job->tile;
    const size_t left = job->n - t * job->tile;
    if (left >= job->tile) return x;
    memcpy(work->padded_head, x, left * sizeof *x);
    for (size_t k = left; k < job->tile; k++) work->padded_head[k] = x[0];
    return work->padded_head;
}

/* Where the tails of tile t end, padded in front where the first windows would begin before the series. */
ALWAYS_INLINE const real *tails_end(const BestJob *job, size_t t, TileWork *work) {
    const real *end = (const real *)job->x + (t - job->back + 1) * job->tile;
    if (t > job->back) return end;
    for (size_t k = 0; k < job->rest; k++) work->padded_tail[k] = end[-1];
    memcpy(work->padded_tail + job->rest, end - job->tile, job->tile * sizeof *end);
    return work->padded_tail + job->rest + job->tile;
}

/* The outputs of tile t; by way of work->out if some of them, or whole vectors, do not belong to y. Returns the tile's carry. */
ALWAYS_INLINE Carry write_tile(const BestJob *job, ScanKind kind, size_t t, TileSum core, const real *x, TileWork *work) {
    const size_t tile = job->tile, left = job->n - t * tile, count = left < tile ? left : tile;
    const size_t begin = t > job->back ? 0 : job->rest;
    const real *tails = tails_end(job, t, work);
    const Middle middle = middle_of(job, kind, core);
    const Carry before = scan_tails(job, kind, tails, work);
    real *y = (real *)job->y + t * tile;
    const bool direct = begin == 0 && count == tile, extremes = kind == SCAN_MIN || kind == SCAN_MAX;
    Carry carry;
    if (direct && job->past_caches && (uintptr_t)y % sizeof(Vector) == 0)
        carry = join_heads(job, kind, x, work, &middle, y, true);
    else
        carry = join_heads(job, kind, x, work, &middle, direct ? y : work->out, false);
    const bool again = lost_nan(kind, &before) || lost_nan(kind, &carry) || (extremes && isnan(core.a));
    if (again) {
        scan_store_fence();
        join_with_nan(job, kind, x, tails, (double)middle.sum[0], work);
    }
    if (again || !direct) memcpy(y + begin, work->out + begin, (count - begin) * sizeof *y);
    return carry;
}

/* The outputs of tiles first .. end - 1. Sums of tiles from known_from on are there already and other threads read them. */
ALWAYS_INLINE void tile_region(const BestJob *job, ScanKind kind, size_t first, size_t end, size_t known_from, TileSum *front,
                               TileWork *work) {
    TileQueue queue = {.sums = job->sums, .tile = (double)job->tile, .front = front, .room = job->front_room};
    for (size_t t = first; t < end; t++) {
        const real *x = tile_begin(job, t, work);
        const TileSum core = tilequeue_window(&queue, kind, t - job->back + 1, t);
        const Carry carry = write_tile(job, kind, t, core, x, work);
        if (t < known_from) job->sums[t] = tile_sum(kind, &carry);
    }
}

/* [0, count) in equal parts: where part k of `parts` begins. */
static inline size_t part_begin(size_t count, size_t k, size_t parts) {
    return count / parts * k + (k < count % parts ? k : count % parts);
}

ALWAYS_INLINE void tile_sums(const BestJob *job, ScanKind kind, size_t first, size_t end, TileWork *work) {
    for (size_t t = first; t < end; t++) {
        const Carry carry = reduce(kind, tile_begin(job, t, work) + job->tile, job->tile);
        job->sums[t] = tile_sum(kind, &carry);
    }
}

/* A thread's stretch of tiles, in whole strips of several tiles. Sums of tiles from `known` on are computed before the others', as
 * the next threads look back on them. */
typedef struct Stretch {
    size_t back_first, back_end, first, end, known;
} Stretch;

static inline Stretch stretch_of(const BestJob *job, size_t strip) {
    const size_t thread = (size_t)omp_get_thread_num(), team = (size_t)omp_get_num_threads(), back = job->back;
    const size_t strips = (job->tiles - back + strip - 1) / strip, stop = back + strip * part_begin(strips, thread + 1, team);
    Stretch self = {.back_first = part_begin(back, thread, team), .back_end = part_begin(back, thread + 1, team)};
    self.first = back + strip * part_begin(strips, thread, team);
    self.end = stop < job->tiles ? stop : job->tiles;
    const size_t tiles = self.end - self.first;
    self.known = thread + 1 == team ? self.end : self.end - (back < tiles ? back : tiles);
    return self;
}

ALWAYS_INLINE void long_share(const BestJob *job, ScanKind kind) {
    const Stretch own = stretch_of(job, 1);
    TileWork work;
    tile_sums(job, kind, own.back_first, own.back_end, &work);
    tile_sums(job, kind, own.known, own.end, &work);
#pragma omp barrier
    tile_region(job, kind, own.first, own.end, own.known, job->fronts + (size_t)omp_get_thread_num() * job->front_room, &work);
    scan_store_fence();
}
