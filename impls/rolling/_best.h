/* _best.h - what cpu_best.c hands to its loops. The loops (_best_short.h, _best_long.h, _best_moments.h) are compiled twice, for
 * double in _best_f64.c and for float in _best_f32.c. */
#pragma once

/* The work per element is small enough for full vectors to pay. */
#ifdef __AVX512F__
#pragma GCC target("prefer-vector-width=512")
#endif
#pragma GCC optimize("fp-contract=fast")
#include "common/cpu_vector.h"

enum {
    BEST_GROUP_BYTES = 64,
    BEST_TILE = 64, /* elements, for windows of up to 256 */
    BEST_TILE_BYTES = 1024 /* at most: of 2048 a scan of doubles takes a third longer */,
    BEST_ROWS = 16, /* of moments, elements of a lane in a strip, at least and at most */
    BEST_MOST_ROWS = 64,
    BEST_BLOCK_BYTES = 4096,
    BEST_SHORT_BYTES = 192 /* windows up to here are made of their elements, longer ones of tiles */
};

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
    ScanKind kind; /* which loops compute agg */
    double incomplete;
    bool past_caches; /* the output is too large to stay in a cache */
    int threads;
    size_t tile, tiles; /* elements per tile; tiles, the last perhaps not full */
    size_t back, rest;  /* w - 1 = back * tile + rest: back - 1 whole tiles in each window, rest elements in each tail */
    size_t rows;        /* of moments: elements of a lane in a strip */
    TileSum *sums;      /* per tile */
    TileSum *rests;     /* of moments: per tile, of its last `rest` elements */
    TileSum *fronts;    /* front_room per thread */
    size_t front_room;
} BestJob;

/* One thread's share of the outputs n >= w - 1, called by every thread of a team: of windows of up to BEST_SHORT_BYTES, and of
 * longer ones. */
void best_short_f32(const BestJob *job);
void best_short_f64(const BestJob *job);
void best_long_f32(const BestJob *job);
void best_long_f64(const BestJob *job);
