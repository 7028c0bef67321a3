/* best.h - what the parts of rolling/cpu_best share: the job, summaries of whole tiles, and their sliding window. */
#ifndef RUNGS_IMPLS_ROLLING_BEST_H
#define RUNGS_IMPLS_ROLLING_BEST_H

#include "common/cpu_vector.h"

#include <math.h>

enum { BEST_TILE_MAX = 256, BEST_BLOCK_BYTES = 4096, BEST_SMALL = 64 /* windows up to here are doubled, longer ones tiled */ };

typedef enum BestAgg { BEST_MEAN, BEST_SUM, BEST_VAR, BEST_STD, BEST_MIN, BEST_MAX, BEST_APPLY } BestAgg;

/* A whole tile, or several: a sum or an extreme in a; of moments the mean in a, the sum of squares about it in b. */
typedef struct TileSum {
    double a, b;
} TileSum;

typedef struct BestJob {
    const void *x;
    void *y;
    size_t n, w;
    BestAgg agg;
    double incomplete;
    bool past_caches; /* the output is too large to stay in a cache */
    int threads;
    size_t tile, tiles; /* elements per tile; tiles, the last perhaps not full */
    size_t back,
        rest;      /* w - 1 = back * tile + rest: a window that ends at place j of tile t begins back (j >= rest) or back + 1 ago */
    TileSum *sums; /* per tile */
    TileSum *fronts; /* front_room per thread */
    size_t front_room;
} BestJob;

/* An extreme that is NaN stays NaN. */
ALWAYS_INLINE double best_extreme(ScanKind kind, double a, double b) {
    if (isnan(a)) return a;
    return (kind == SCAN_MIN ? a < b : a > b) ? a : b;
}

/* a and b stand for na and nb elements; none of them: the other. */
ALWAYS_INLINE TileSum tilesum_merge(ScanKind kind, TileSum a, double na, TileSum b, double nb) {
    if (na == 0) return b;
    if (nb == 0) return a;
    if (kind == SCAN_SUM) return (TileSum){a.a + b.a, 0};
    if (kind != SCAN_MOMENTS) return (TileSum){best_extreme(kind, a.a, b.a), 0};
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

#define BEST_ALIGNED __attribute__((aligned(64)))

#define SCAN_REAL double
#define SCAN_TYPE f64
#define SCAN_IS_F64 1
#include "common/cpu_scan.inc"
#include "common/rolling/best_small.inc"
#include "common/rolling/best_tiles.inc"
#undef SCAN_REAL
#undef SCAN_TYPE
#undef SCAN_IS_F64
#define SCAN_REAL float
#define SCAN_TYPE f32
#define SCAN_IS_F64 0
#include "common/cpu_scan.inc"
#include "common/rolling/best_small.inc"
#include "common/rolling/best_tiles.inc"

#endif
