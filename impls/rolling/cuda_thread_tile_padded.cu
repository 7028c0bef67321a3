/* Idea: cuda_thread_tile with its staged inputs in rows of tile elements and odd stride (tile, or tile + 1 if that is even), so
 * that the lanes of a warp, one row apart, read from different banks.
 * Traffic: as cuda_thread_tile, without the bank conflicts; writes to y are still one tile apart.
 * Rounding: as cuda_thread_tile: bound "textbook".
 * Limits: the padded rows must fit into shared memory (227 KiB hold those of 64 x 48 doubles for w <= 25392).
 * Origin: follows from the bank conflicts of the published kernel. */
#include "common/rolling/tile.cuh"

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block", PARAM_INT, "64", 1, 1024, NULL},
    {"tile", "consecutive outputs of a thread", PARAM_INT, "48", 1, 64, NULL},
    {},
};

template <typename T, Aggregate AGG> using Kernels = TileKernels<PaddedRows>::For<T, AGG>;

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return tile_supports(args, tile_shared_bytes<PaddedRows>, reason);
}

static Status run(const VariantArgs *args) {
    return rolling_dispatch<Kernels>(args);
}

RUNGS_VARIANT(rolling, cuda_thread_tile_padded) = {
    .backend = BACKEND_CUDA,
    .summary = "cuda_thread_tile over rows of odd stride: no bank conflicts",
    .origin = "follows from kernel C of the Numba CUDA + cuDF tutorial",
    .tunables = TUNABLES,
    .bound = "textbook",
    .supports = supports,
    .run = run,
};
