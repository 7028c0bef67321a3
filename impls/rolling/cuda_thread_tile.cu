/* Idea: 64 threads x 48 consecutive outputs. A thread sums w values for its first output, then adds one and drops one; var from
 * running sums of x and x^2; min and max scan every window again.
 * Traffic: (threads tile + w - 1) / (threads tile) global reads per output, w / tile + 2 shared reads (w for min and max); the
 *   lanes of a warp lie one tile apart, so an even tile makes their shared reads conflict and their writes to y are not coalesced.
 * Rounding: a running update keeps the error of everything that passed through the tile, and inf or NaN until its end;
 *   E[x^2] - E[x]^2 cancels when the mean is large beside the spread. Hence the bound "textbook".
 * Limits: threads tile + w - 1 inputs must fit into shared memory (227 KiB hold 64 x 48 doubles for w <= 25985). Never reads outside
 *   the array, which the published kernel does.
 * Origin: "Numba CUDA + cuDF" tutorial, kernel C (tile); generalised by its sequel, "Adding the rolling and ewm functions to
 *   cuDF". */
#include "common/rolling/tile.cuh"

static const ParamSpec TUNABLES[] = {
    {"threads", "threads of a block", PARAM_INT, "64", 1, 1024, NULL},
    {"tile", "consecutive outputs of a thread", PARAM_INT, "48", 1, 64, NULL},
    {},
};

template <typename T, Aggregate AGG> using Kernels = TileKernels<FlatRows>::For<T, AGG>;

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return tile_supports(args, tile_shared_bytes<FlatRows>, reason);
}

static Status run(const VariantArgs *args) {
    return rolling_dispatch<Kernels>(args);
}

RUNGS_VARIANT(rolling, cuda_thread_tile) = {
    .backend = BACKEND_CUDA,
    .summary = "a thread updates tile outputs: add one, drop one; var as E[x^2]-E[x]^2",
    .origin = "Numba CUDA + cuDF tutorial, kernel C",
    .tunables = TUNABLES,
    .bound = "textbook",
    .supports = supports,
    .run = run,
};
