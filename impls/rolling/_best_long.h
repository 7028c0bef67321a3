/* _best_long.h - long windows, w > 64: tiles. Part of _best_f32.c and _best_f64.c, as _best_short.h, whose helpers it uses.
 *
 * The windows that end in a tile begin w - 1 earlier, so that lane k of a vector of tails belongs to lane k of the heads. What
 * follows the last of their first elements, up to the next tile, belongs to every tail: it is added up first (reduce). Then tails
 * are scanned backward into the first-level cache, heads forward in registers, and joined as they come: a vector of L lanes in
 * log2(L) shuffles and operations, then one more to join it to what came before. Moments are kept about the mean of eight elements
 * that every use of a part contains, in the first group of a part of eight beyond its edge, which those windows contain, and joined
 * by Chan's rule. */
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

/* Rounding: chains are as short as in the widest registers, because the vectors of a group are added up first. */
enum { GROUP = BEST_GROUP_BYTES / sizeof(real), VECTORS = GROUP / LANES };

/* What elements add up to, in all lanes: a sum or an extreme; of moments also the sum of squares, both about a shift; of extremes,
 * which lose a NaN, not 0 in some lane of `nan` if there was one. */
typedef struct Carry {
    Vector shift, sum, squares;
    Vector group_sum, group_squares; /* of moments, for those of a group that are not in these yet */
    Lanes nan;
} Carry;

/* Each lane of v with all lanes before it (forward) or behind it, and with `before` and `group`, which v joins; ends: as the last
 * of its group. */
ALWAYS_INLINE Vector scan_on(ScanKind kind, bool forward, Vector v, Vector *before, Vector *group, bool ends) {
    const Vector s = vector_scan(kind, forward, v, none_of(kind)), total = vector_total(forward, s);
    const bool in_groups = kind == SCAN_MOMENTS && VECTORS > 1;
    const Vector joined = vector_join(kind, in_groups ? s + *group : s, *before);
    if (in_groups) *group += total;
    if (in_groups && !ends) return joined;
    *before = vector_join(kind, *before, in_groups ? *group : total);
    *group = (Vector){0};
    return joined;
}

/* The scanned sums or extremes. Of moments: means less the shift, and in *m2 sums of squares about the means. */
ALWAYS_INLINE Vector scan_part(ScanKind kind, bool forward, Vector v, const real *per_count, Carry *before, bool ends, Vector *m2) {
    if (kind == SCAN_MIN || kind == SCAN_MAX) before->nan |= v != v;
    if (kind != SCAN_MOMENTS) return scan_on(kind, forward, v, &before->sum, &before->group_sum, ends);
    const Vector apart = v - before->shift;
    const Vector squares = scan_on(kind, forward, apart * apart, &before->squares, &before->group_squares, ends);
    const Vector sum = scan_on(kind, forward, apart, &before->sum, &before->group_sum, ends), mean = sum * vector_load(per_count);
    *m2 = not_negative(squares - sum * mean);
    return mean;
}

/* The `count` elements that end before `end`; whole groups are read, of the first one perhaps only the last lanes used. */
ALWAYS_INLINE Carry reduce(ScanKind kind, const real *end, size_t count, Vector shift) {
    const Vector none = none_of(kind), start = kind == SCAN_MOMENTS ? shift : (Vector){0};
    const size_t left = count % GROUP, whole = count - left;
    const real *first = end - (left > 0 ? whole : 0) - GROUP;
    Vector sum[VECTORS], squares[VECTORS];
    Lanes lane = {0}, nan = {0};
    for (int l = 0; l < LANES; l++) lane[l] = l;
#pragma GCC unroll 8
    for (int j = 0; j < VECTORS; j++) {
        const Lanes use = lane >= (Lanes){0} + (int)(GROUP - left) - j * LANES;
        sum[j] = (Vector)(((Lanes)(vector_load(first + j * LANES) - start) & use) | ((Lanes)none & ~use));
        squares[j] = sum[j] * sum[j];
        nan |= sum[j] != sum[j];
    }
    for (size_t done = 0; done < whole; done += GROUP) {
#pragma GCC unroll 8
        for (int j = 0; j < VECTORS; j++) {
            const Vector v = vector_load(end - done - GROUP + j * LANES) - start;
            sum[j] = vector_join(kind, sum[j], v);
            squares[j] += v * v;
            nan |= v != v;
        }
    }
    for (int j = 1; j < VECTORS; j++) sum[0] = vector_join(kind, sum[0], sum[j]), squares[0] += squares[j];
    Carry self = {.shift = start, .sum = vector_total(true, vector_scan(kind, true, sum[0], none)), .nan = nan};
    if (kind == SCAN_MOMENTS) self.squares = vector_total(true, vector_scan(kind, true, squares[0], none));
    return self;
}

/* How far the mean of eight elements is from one of them, if it is finite. */
static inline real to_mean(const real *x, real one) {
    const real mean = (((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]))) / 8, by = mean - one;
    return by - by == 0 ? by : 0;
}

enum { TILE = BEST_TILE_BYTES / sizeof(real), AHEAD = 4 * TILE /* elements that are asked for early */ };

/* Lane by lane of a tile. */
typedef struct TileWork {
    real tail[TILE] BEST_ALIGNED, tail_m2[TILE] BEST_ALIGNED;
    real per_head[TILE] BEST_ALIGNED, per_tail[TILE] BEST_ALIGNED; /* reciprocals of their counts */
    real share[TILE] BEST_ALIGNED, cross[TILE] BEST_ALIGNED;       /* of the head in head and tail; that times the tail's count */
    real out[TILE] BEST_ALIGNED, padded_head[TILE] BEST_ALIGNED, padded_tail[2 * TILE] BEST_ALIGNED;
} TileWork;

ALWAYS_INLINE bool lost_nan(ScanKind kind, const Carry *carry) {
    int64_t lanes[SCAN_BYTES / sizeof(int64_t)], any = 0;
    if (kind == SCAN_SUM || kind == SCAN_MOMENTS) return false;
    memcpy(lanes, &carry->nan, sizeof lanes);
    for (size_t l = 0; l < SCAN_BYTES / sizeof(int64_t); l++) any |= lanes[l];
    return any != 0;
}

/* A whole tile. */
ALWAYS_INLINE TileSum tile_sum(const BestJob *job, ScanKind kind, const Carry *carry) {
    const double sum = (double)carry->sum[0], mean = sum / (double)job->tile, m2 = (double)carry->squares[0] - sum * mean;
    if (lost_nan(kind, carry)) return (TileSum){NAN, 0};
    return kind == SCAN_MOMENTS ? (TileSum){(double)carry->shift[0] + mean, m2 < 0 ? 0 : m2} : (TileSum){sum, 0};
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

/* What all windows that end in a tile have in common: the whole tiles between tail and head, and factors. */
typedef struct Middle {
    Vector sum, factor;             /* factor: of the mean */
    Vector apart, mean, m2, weight; /* of moments. apart: the head's shift less the tail's; mean: less the tail's shift */
    real first_group;               /* how far from its first element the head's first group has its shift */
    bool roots;
} Middle;

ALWAYS_INLINE Middle middle_of(const BestJob *job, ScanKind kind, TileSum core, real head_shift, real tail_shift) {
    const double w = (double)job->w, whole = (double)((job->back - 1) * job->tile);
    const Vector zero = {0};
    if (kind == SCAN_MOMENTS)
        return (Middle){.apart = zero + (head_shift - tail_shift),
                        .mean = zero + (whole > 0 ? (real)(core.a - (double)tail_shift) : 0),
                        .m2 = zero + (real)core.b,
                        .weight = zero + (real)((w - whole) * (whole / w)),
                        .factor = zero + (real)(1 / (w - 1)),
                        .roots = job->agg == BEST_STD};
    if (kind == SCAN_SUM) return (Middle){.sum = zero + (real)core.a, .factor = zero + (real)(job->agg == BEST_MEAN ? 1 / w : 1)};
    return (Middle){.sum = whole > 0 ? zero + (real)core.a : none_of(kind)};
}

/* Moments: tail and head by Chan's rule (their sizes add up to the same at every output), then the whole tiles. */
ALWAYS_INLINE Vector join_parts(ScanKind kind, const TileWork *work, size_t k, const Middle *middle, Vector head, Vector head_m2) {
    const Vector tail = vector_load(work->tail + k);
    if (kind == SCAN_SUM) return ((tail + middle->sum) + head) * middle->factor;
    if (kind != SCAN_MOMENTS) return vector_join(kind, vector_join(kind, tail, middle->sum), head);
    const Vector delta = middle->apart + (head - tail), mean = tail + delta * vector_load(work->share + k);
    const Vector m2 = (vector_load(work->tail_m2 + k) + head_m2) + delta * delta * vector_load(work->cross + k);
    const Vector to_core = middle->mean - mean;
    const Vector variance = ((m2 + middle->m2) + to_core * to_core * middle->weight) * middle->factor;
    return middle->roots ? VECTOR_SQRT(variance) : variance;
}

/* The tails of all windows that end in a tile: they begin one element apart, and end before `end`. Means are stored less the last
 * element, whatever they were kept about: apart is how far from it those of the first group are. */
ALWAYS_INLINE Carry scan_tails(const BestJob *job, ScanKind kind, const real *end, real apart, TileWork *work) {
    const real *x = end - job->rest - job->tile, last = end[-1];
    const bool moments = kind == SCAN_MOMENTS, shared = job->rest >= 8;
    const real by = moments ? to_mean(end - 8, last) : 0;
    if (shared) apart = by;
    Carry carry = reduce(kind, end, job->rest, (Vector){0} + (last + apart));
    for (size_t k = job->tile, stop = k - GROUP; k > 0; stop = 0) {
        while (k > stop) {
            k -= LANES;
            Vector m2;
            const Vector tail = scan_part(kind, false, vector_load(x + k), work->per_tail + k, &carry, k % GROUP == 0, &m2);
            vector_store(work->tail + k, moments ? tail + apart : tail);
            if (moments) vector_store(work->tail_m2 + k, m2);
        }
        if (!moments || shared || stop == 0) continue;
        apart = by;
        carry = reduce(kind, end, job->rest + GROUP, (Vector){0} + (last + apart));
    }
    return carry;
}

/* Scans the heads and writes the outputs; returns what the tile adds up to. */
ALWAYS_INLINE Carry join_heads(const BestJob *job, ScanKind kind, const real *x, const TileWork *work, const Middle *from, real *y,
                               bool past) {
    const Middle middle = *from;
    const bool moments = kind == SCAN_MOMENTS;
    const real by = moments ? to_mean(x, x[0]) : 0;
    real apart = middle.first_group;
    Carry carry = {.shift = (Vector){0} + (x[0] + apart), .sum = none_of(kind)};
    for (size_t k = 0, stop = GROUP; k < job->tile; stop = job->tile) {
        for (; k < stop; k += LANES) {
            Vector m2;
            const bool ends = (k + LANES) % GROUP == 0;
            const Vector head = scan_part(kind, true, vector_load(x + k), work->per_head + k, &carry, ends, &m2);
            __builtin_prefetch(x + k + AHEAD); /* the machine looks less far ahead where there is more to do than to copy */
            const Vector out = join_parts(kind, work, k, &middle, moments ? head + apart : head, m2);
            scan_put(y + k, &out, past);
        }
        if (!moments || stop == job->tile) continue;
        apart = by;
        carry = reduce(kind, x + GROUP, GROUP, (Vector){0} + (x[0] + apart));
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
    const real *tails = tails_end(job, t, work), *whole = (const real *)job->x + t * tile, *behind = whole - (job->back - 1) * tile;
    const bool moments = kind == SCAN_MOMENTS, reaches = (size_t)(behind - (const real *)job->x) + 8 <= job->n;
    Middle middle = middle_of(job, kind, core, x[0], tails[-1]);
    middle.first_group = moments ? to_mean(whole - 8, x[0]) : 0;
    const Carry before = scan_tails(job, kind, tails, moments && reaches ? to_mean(behind, tails[-1]) : 0, work);
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
        if (t < known_from) job->sums[t] = tile_sum(job, kind, &carry);
    }
}

/* [0, count) in equal parts: where part k of `parts` begins. */
static inline size_t part_begin(size_t count, size_t k, size_t parts) {
    return count / parts * k + (k < count % parts ? k : count % parts);
}

ALWAYS_INLINE void tile_sums(const BestJob *job, ScanKind kind, size_t first, size_t end, TileWork *work) {
    for (size_t t = first; t < end; t++) {
        const real *x = tile_begin(job, t, work);
        const Carry carry = reduce(kind, x + job->tile, job->tile, (Vector){0} + (x[0] + to_mean(x, x[0])));
        job->sums[t] = tile_sum(job, kind, &carry);
    }
}

ALWAYS_INLINE void fill_counts(const BestJob *job, TileWork *work) {
    for (size_t k = 0; k < job->tile; k++) {
        const double head = (double)(k + 1), tail = (double)(job->tile + job->rest - k), share = head / (head + tail);
        work->per_head[k] = (real)(1 / head);
        work->per_tail[k] = (real)(1 / tail);
        work->share[k] = (real)share;
        work->cross[k] = (real)(share * tail);
    }
}

/* Each thread has one stretch of tiles. The sums that it or the next threads look back on are computed before the barrier. */
ALWAYS_INLINE void long_share(const BestJob *job, ScanKind kind) {
    const size_t thread = (size_t)omp_get_thread_num(), team = (size_t)omp_get_num_threads(), back = job->back;
    const size_t first = back + part_begin(job->tiles - back, thread, team);
    const size_t end = back + part_begin(job->tiles - back, thread + 1, team);
    const size_t looked_at = back < end - first ? back : end - first, known = thread + 1 == team ? end : end - looked_at;
    TileWork work;
    fill_counts(job, &work);
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
