/* _best_moments.h - variances of long windows. Part of _best_f32.c and _best_f64.c, as _best_long.h, whose helpers it uses.
 *
 * Lane l of a vector takes `rows` consecutive elements; all lanes together a strip: one tile, or several where windows are shorter.
 * Strips are transposed as they are loaded, so that no step of a scan needs a shuffle: each lane scans its own elements, and what
 * the other lanes of its tile add is joined at the end. The windows that end in a tile begin w - 1 earlier: tails are a strip too,
 * scanned backward, heads forward. The rest of these windows, their middle, is the same for all: what follows the tails up to the
 * next tile, and whole tiles. Moments are sums about the mean of the middle, which is a third of each window or more: the sum of
 * squares about it is at most 3 times that about the window's mean, whatever the data. Middles are joined by Chan's rule. */
#pragma once

#include "_best_long.h"

enum { STRIP = BEST_MOST_ROWS * LANES, AT_ONCE = 2 /* strips whose middles are found first, and that are asked for early */ };

/* The sum of all lanes, in every lane. */
ALWAYS_INLINE Vector lanes_sum(Vector v) {
    return vector_total(true, vector_scan(SCAN_SUM, true, v, (Vector){0}));
}

/* Rows become columns. */
ALWAYS_INLINE void transpose(Vector v[LANES]) {
#define EXCHANGE(s)                                                                                                                \
    _Pragma("GCC unroll 16") for (int i = 0; i < LANES; i++) if (!(i & (s))) {                                                     \
        const Vector a = v[i], b = v[i | (s)];                                                                                     \
        v[i] = __builtin_shuffle(a, b, LANE_INDEX(SCAN_EVEN, s));                                                                  \
        v[i | (s)] = __builtin_shuffle(a, b, LANE_INDEX(SCAN_ODD, s));                                                             \
    }
#if LANES >= 16
    EXCHANGE(8)
#endif
#if LANES >= 8
    EXCHANGE(4)
#endif
#if LANES >= 4
    EXCHANGE(2)
#endif
    EXCHANGE(1)
#undef EXCHANGE
}

/* Elements: whole vectors, and those lanes of one more that are used. */
typedef struct Part {
    const real *x, *end, *edge;
    Lanes use;
    size_t count;
} Part;

/* The mean of a part in every lane, computed in the dtype. */
ALWAYS_INLINE Vector part_mean(const Part *part) {
    const Vector share = (Vector){0} + (real)(1 / (double)part->count);
    Vector sum = (Vector)((Lanes)(vector_load(part->edge) * share) & part->use);
    for (const real *x = part->x; x < part->end; x += LANES) sum += vector_load(x) * share;
    return lanes_sum(sum);
}

/* Sums about a center, and of squares, in all lanes; in four chains. */
ALWAYS_INLINE Vector part_sums(const Part *part, Vector center, Vector *squares) {
    const real *x = part->x;
    Vector s0 = (Vector)((Lanes)(vector_load(part->edge) - center) & part->use), s1 = {0}, s2 = s1, s3 = s1;
    Vector q0 = s0 * s0, q1 = s1, q2 = s1, q3 = s1;
#define ADD(c)                                                                                                                     \
    do {                                                                                                                           \
        const Vector apart = vector_load(x) - center;                                                                              \
        s##c += apart, q##c += apart * apart, x += LANES;                                                                          \
    } while (0)
    while (x + 4 * LANES <= part->end) {
        ADD(0);
        ADD(1);
        ADD(2);
        ADD(3);
    }
    while (x < part->end) ADD(1);
#undef ADD
    *squares = lanes_sum((q0 + q1) + (q2 + q3));
    return lanes_sum((s0 + s1) + (s2 + s3));
}

/* About the mean of a few elements; where that is too far from the mean of all, about that. */
ALWAYS_INLINE TileSum part_moments(const Part *part, const real *few) {
    const double count = (double)part->count;
    Vector center = lanes_sum(vector_load(few) * (1 / (real)LANES)), squares, sum = part_sums(part, center, &squares);
    double mean = (double)sum[0] / count, m2 = (double)squares[0] - (double)sum[0] * mean;
    if (!((double)squares[0] <= 4 * m2)) {
        center = part_mean(part);
        sum = part_sums(part, center, &squares);
        mean = (double)sum[0] / count, m2 = (double)squares[0] - (double)sum[0] * mean;
    }
    return (TileSum){(double)center[0] + mean, m2 < 0 ? 0 : m2};
}

/* Moments of tile t, if it is whole, and of its last elements, which are the rest in some windows. */
ALWAYS_INLINE void tile_moments(const BestJob *job, size_t t) {
    const size_t tile = job->tile, from = tile - job->rest;
    const real *x = (const real *)job->x + t * tile, *edge = x + (job->rest > 0 ? from / LANES * LANES : 0);
    if ((t + 1) * tile > job->n) return;
    const Lanes behind = LANE_INDEX(SCAN_SELF, 0) >= (Lanes){0} + (int)(from % LANES);
    const Part head = {.x = x, .end = x + from / LANES * LANES, .edge = edge, .use = ~behind, .count = from};
    const Part rest = {.x = edge + LANES, .end = x + tile, .edge = edge, .use = behind, .count = job->rest};
    if (job->rest > 0) job->rests[t] = part_moments(&rest, x + tile - LANES);
    if (job->back > 1)
        job->sums[t] = tilesum_merge(SCAN_MOMENTS, part_moments(&head, x), (double)from, job->rests[t], (double)job->rest);
}

/* What all windows that end in a lane's tile have in common: what they are about, and sums about that. */
typedef struct Shared {
    Vector center, sum, squares;
} Shared;

typedef struct StripWork {
    Vector sum[BEST_MOST_ROWS], squares[BEST_MOST_ROWS]; /* of tails, then of whole windows less what other lanes add */
    Lanes before[4], behind[4];                          /* indices of lanes 1, 2, 4, 8 away in the same tile */
    real out[STRIP] BEST_ALIGNED, head[STRIP] BEST_ALIGNED, tail[STRIP] BEST_ALIGNED;
} StripWork;

static inline void fill_lanes(const BestJob *job, StripWork *work) {
    const int lanes = (int)(job->tile / job->rows);
    for (int level = 0; level < 4; level++)
        for (int l = 0, s = 1 << level; l < LANES; l++) {
            work->before[level][l] = l % lanes >= s ? LANES + l - s : l;
            work->behind[level][l] = l % lanes + s < lanes ? LANES + l + s : l;
        }
}

/* Each lane: the sum of all lanes of its tile before it (or behind it), without itself. */
ALWAYS_INLINE Vector other_lanes(const BestJob *job, const Lanes away[4], Vector v) {
    v = __builtin_shuffle((Vector){0}, v, away[0]);
    for (size_t s = 1; s < job->tile / job->rows; s *= 2) v += __builtin_shuffle((Vector){0}, v, *away++);
    return v;
}

/* What each lane walked. */
typedef struct Walk {
    Vector sum, squares;
} Walk;

/* Each lane scans its elements of a strip: tails backward, to be kept; heads forward, to be added to the tails. */
ALWAYS_INLINE Walk walk(const BestJob *job, bool heads, const real *x, Vector center, StripWork *work) {
    const size_t rows = job->rows;
    Walk self = {{0}, {0}};
    for (size_t done = 0; done < rows; done += LANES) {
        const size_t at = heads ? done : rows - LANES - done;
        Vector v[LANES];
#pragma GCC unroll 16
        for (size_t l = 0; l < LANES; l++) {
            v[l] = vector_load(x + l * rows + at);
            if (heads) __builtin_prefetch(x + l * rows + at + AT_ONCE * rows * LANES);
        }
        transpose(v);
#pragma GCC unroll 16
        for (size_t k = 0; k < LANES; k++) {
            const size_t j = heads ? k : LANES - 1 - k;
            const Vector apart = v[j] - center;
            self.sum += apart, self.squares += apart * apart;
            work->sum[at + j] = heads ? work->sum[at + j] + self.sum : self.sum;
            work->squares[at + j] = heads ? work->squares[at + j] + self.squares : self.squares;
        }
    }
    return self;
}

/* The outputs of a strip, from what was added up and what each lane still lacks. */
ALWAYS_INLINE void finish(const BestJob *job, const StripWork *work, Walk lacks, real *y, bool past) {
    const size_t rows = job->rows;
    const real per_window = (real)(1 / (double)job->w), factor = (real)(1 / ((double)job->w - 1));
    for (size_t at = 0; at < rows; at += LANES) {
        Vector v[LANES];
#pragma GCC unroll 16
        for (size_t j = 0; j < LANES; j++) {
            const Vector sum = work->sum[at + j] + lacks.sum, squares = work->squares[at + j] + lacks.squares;
            v[j] = VECTOR_MAX((Vector){0}, squares - sum * sum * per_window) * factor; /* NaN stays */
            if (job->agg == BEST_STD) v[j] = VECTOR_SQRT(v[j]);
        }
        transpose(v);
#pragma GCC unroll 16
        for (size_t l = 0; l < LANES; l++) scan_put(y + l * rows + at, &v[l], past);
    }
}

/* `count` elements from `begin` on, which may lie before or behind the series; zeros there. */
ALWAYS_INLINE const real *elements(const BestJob *job, ptrdiff_t begin, size_t count, real *padded) {
    const real *x = job->x;
    const ptrdiff_t n = (ptrdiff_t)job->n, end = begin + (ptrdiff_t)count;
    if (begin >= 0 && end <= n) return x + begin;
    for (ptrdiff_t i = begin; i < end; i++) padded[i - begin] = i >= 0 && i < n ? x[i] : 0;
    return padded;
}

/* Of the windows that end in a strip. */
ALWAYS_INLINE Shared shared_of(const BestJob *job, size_t first, TileQueue *queue) {
    const size_t lanes = job->tile / job->rows;
    const double whole = (double)((job->back - 1) * job->tile), rest = (double)job->rest;
    const Vector zero = {0};
    Shared self = {zero, zero, zero};
    for (size_t t = first, lane = 0; lane < LANES && t < job->tiles; t++, lane += lanes) {
        const TileSum core = tilequeue_window(queue, SCAN_MOMENTS, t - job->back + 1, t);
        const TileSum all = tilesum_merge(SCAN_MOMENTS, job->rests[t - job->back], rest, core, whole);
        const Lanes from = LANE_INDEX(SCAN_SELF, 0) >= (Lanes){0} + (int)lane;
        const double off = all.a - (double)(real)all.a; /* the center is in the dtype */
#define SET(old, value) old = (Vector)(((Lanes)(zero + (real)(value)) & from) | ((Lanes)(old) & ~from))
        SET(self.center, all.a);
        SET(self.sum, off * (whole + rest));
        SET(self.squares, all.b + off * off * (whole + rest));
#undef SET
    }
    return self;
}

/* The outputs of the strip that begins with tile t; by way of work->out if some of them, or whole vectors, do not belong to y. */
ALWAYS_INLINE void write_strip(const BestJob *job, size_t t, const Shared *shared, StripWork *work) {
    const size_t first = t * job->tile, begin = t > job->back ? 0 : job->rest, strip = job->rows * LANES;
    const size_t count = job->n - first < strip ? job->n - first : strip;
    const real *x = elements(job, (ptrdiff_t)first, strip, work->head);
    const real *tails = elements(job, (ptrdiff_t)first - (ptrdiff_t)(job->w - 1), strip, work->tail);
    const Walk tail = walk(job, false, tails, shared->center, work), head = walk(job, true, x, shared->center, work);
    const Walk lacks = {(other_lanes(job, work->behind, tail.sum) + shared->sum) + other_lanes(job, work->before, head.sum),
                        (other_lanes(job, work->behind, tail.squares) + shared->squares) +
                            other_lanes(job, work->before, head.squares)};
    const bool direct = begin == 0 && count == strip;
    real *y = (real *)job->y + first;
    if (direct && job->past_caches && (uintptr_t)y % sizeof(Vector) == 0)
        finish(job, work, lacks, y, true);
    else
        finish(job, work, lacks, direct ? y : work->out, false);
    if (!direct) memcpy(y + begin, work->out + begin, (count - begin) * sizeof *y);
}

static inline void moments_share(const BestJob *job) {
    const size_t tiles = job->rows * LANES / job->tile, step = AT_ONCE * tiles;
    const Stretch own = stretch_of(job, tiles);
    TileQueue queue = {.sums = job->sums,
                       .tile = (double)job->tile,
                       .front = job->fronts + (size_t)omp_get_thread_num() * job->front_room,
                       .room = job->front_room};
    StripWork work;
    fill_lanes(job, &work);
    for (size_t t = own.back_first; t < own.back_end; t++) tile_moments(job, t);
    for (size_t t = own.known; t < own.end; t++) tile_moments(job, t);
#pragma omp barrier
    for (size_t t = own.first; t < own.end; t += step) {
        const size_t stop = t + step < own.end ? t + step : own.end;
        Shared shared[AT_ONCE];
        for (size_t k = t; k < stop && k < own.known; k++) tile_moments(job, k);
        for (size_t k = t, s = 0; k < stop; k += tiles, s++) shared[s] = shared_of(job, k, &queue);
        for (size_t k = t, s = 0; k < stop; k += tiles, s++) write_strip(job, k, &shared[s], &work);
    }
    scan_store_fence();
}

static inline void long_windows(const BestJob *job) {
    if (job->kind == SCAN_SUM) long_share(job, SCAN_SUM);
    if (job->kind == SCAN_MOMENTS) moments_share(job);
    if (job->kind == SCAN_MIN) long_share(job, SCAN_MIN);
    if (job->kind == SCAN_MAX) long_share(job, SCAN_MAX);
}
