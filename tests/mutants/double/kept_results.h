/* kept_results.h - what mutants that hand out old results share: a ring of results, each under a key. */
#pragma once

#include "variant.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT_RESULTS = 4 };

typedef struct KeptResult {
    void *key;
    double *y;
} KeptResult;

/* y of the call whose key was the same, or a new one, filled with 2 x. Returns true if it was kept. */
static inline bool kept_result(const void *key, size_t key_bytes, const double *x, double *y, size_t n) {
    static KeptResult ring[KEPT_RESULTS];
    static int next;
    for (int i = 0; i < KEPT_RESULTS; i++) {
        if (!ring[i].key || memcmp(ring[i].key, key, key_bytes) != 0) continue;
        memcpy(y, ring[i].y, n * sizeof *y);
        return true;
    }
    KeptResult *result = &ring[next++ % KEPT_RESULTS];
    if (!result->key) {
        result->key = malloc(key_bytes);
        result->y = malloc(n * sizeof *y);
    }
    if (!result->key || !result->y) abort();
    memcpy(result->key, key, key_bytes);
    for (size_t i = 0; i < n; i++) y[i] = 2 * x[i];
    memcpy(result->y, y, n * sizeof *y);
    return false;
}
