/* grid.cuh - the number of blocks of a grid, and its limit; the tunables that most launches have. */
#pragma once

#include "kernel.h"
#include "variant.h"

constexpr size_t GRID_BLOCKS_MAX = 2147483647; /* along x */

static inline size_t divide_up(size_t a, size_t b) {
    return (a + b - 1) / b;
}

static inline unsigned tunable_threads(const VariantArgs *args) {
    return (unsigned)params_int(args->tunables, "threads"); /* of a block */
}
static inline unsigned tunable_tile(const VariantArgs *args) {
    return (unsigned)params_int(args->tunables, "tile"); /* consecutive outputs of a thread */
}
