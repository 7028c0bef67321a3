/* grid.cuh - the number of blocks of a grid, and its limit. */
#ifndef RUNGS_GRID_CUH
#define RUNGS_GRID_CUH

#include "kernel.h"

constexpr size_t GRID_BLOCKS_MAX = 2147483647; /* along x */

static inline size_t divide_up(size_t a, size_t b) {
    return (a + b - 1) / b;
}

#endif
