/* gates.cuh - rows with a discount for each element, as in models with gates: how cuda_row_groups of discounted_cumsum and
 * cuda_row_tiles of its gradient cut them, and the maps that they compose.
 *
 * A row is cut into tiles, a block each. A warp has VECTORS runs of 32 vectors of 16 bytes in a tile, of which a lane reads one
 * each. Rows of one tile are not cut; of those that one warp has there are several to a block. */
#ifndef RUNGS_DISCOUNT_GATES_CUH
#define RUNGS_DISCOUNT_GATES_CUH

#include "common/discounted_cumsum/scan.cuh"

constexpr unsigned GATE_THREADS_MAX = 256;

/* Maps y -> a y + b, without what Affine does for infinities: a product may become 0, and then make a NaN of an infinity; a cut is
 * a factor 0. So where all sums are finite they are right, and where one is not, all is done again with Affine. */
template <typename Sum> struct Plain {
    Sum a = 1, b = 0;

    __device__ Sum of(Sum y) const { return a * y + b; }
    __device__ void merge(const Plain &later) {
        b = later.of(b);
        a *= later.a;
    }
};
template <bool UP, typename Sum> __device__ Plain<Sum> shuffle(const Plain<Sum> &map, unsigned distance) {
    return {shuffle_value<UP>(map.a, distance), shuffle_value<UP>(map.b, distance)};
}
template <typename Sum> __device__ Plain<Sum> shuffle_from(const Plain<Sum> &map, unsigned lane) {
    return {__shfl_sync((unsigned)ALL_LANES, map.a, lane), __shfl_sync((unsigned)ALL_LANES, map.b, lane)};
}

struct GateShape {
    unsigned vectors, warps, rows; /* of a lane; of a tile; of a block: more than one only if parts is 1 */
    unsigned parts;                /* tiles of a row */
};

/* Which tile the calling warp has. */
struct GatePlace {
    size_t row;
    unsigned part, warp; /* warp: within the tile */
};

/* The part of a warp. */
template <typename T, bool RIGHT, unsigned VECTORS> struct GatePart {
    static constexpr unsigned LENGTH = VectorOf<T>::LENGTH, SPAN = VECTORS * WARP * LENGTH;
    typedef DiscountLine<LENGTH, RIGHT> Line;
    Line line;
    size_t position; /* of the lane's first vector */
    bool whole;      /* the line holds all of it, in aligned memory */

    __device__ GatePart(const DiscountView<T> &view, const GateShape &shape, const GatePlace &place, bool packed) {
        const size_t begin = ((size_t)place.part * shape.warps + place.warp) * SPAN;
        line = {0, 0};
        if (place.row < view.batch) line = {(long long)(place.row * view.n), (long long)(place.row * view.n + view.n)};
        position = begin + threadIdx.x % WARP * LENGTH;
        whole = packed && line.holds_all(line.first(begin)) && line.holds_all(line.first(begin + SPAN - LENGTH));
    }
    __device__ long long low(unsigned v) const { return line.first(position + v * WARP * LENGTH); }

    /* WHOLE: it is known to be. */
    template <bool WHOLE, typename E>
    __device__ void load(const E *from, unsigned v, bool packed, E otherwise, E (&out)[LENGTH]) const {
        if (!WHOLE) return line.load(from, low(v), packed, otherwise, out);
        const Pack<E, LENGTH> pack = *(const Pack<E, LENGTH> *)(from + low(v));
#pragma unroll
        for (unsigned k = 0; k < LENGTH; k++) out[k] = pack.at[Line::at(0, k)];
    }
    template <typename E> __device__ void store(E *to, unsigned v, bool packed, const E (&in)[LENGTH]) const {
        if (!whole) return line.store(to, low(v), packed, in);
        Pack<E, LENGTH> pack;
#pragma unroll
        for (unsigned k = 0; k < LENGTH; k++) pack.at[Line::at(0, k)] = in[k];
        *(Pack<E, LENGTH> *)(to + low(v)) = pack;
    }
};

/* ---- Host. */
#define GATE_TUNABLES                                                                                                              \
    {"threads", "threads of a block, a multiple of 32; 0: 128, or 256 for rows of more than 4 KiB",                                \
     PARAM_INT, "0",                                                                                                               \
     0,         GATE_THREADS_MAX,                                                                                                  \
     NULL},                                                                                                                        \
    {                                                                                                                              \
        "vectors", "loads of 16 bytes of x in a lane, 1, 2 or 4; 0: by the length of a row", PARAM_INT, "0", 0, 4, NULL            \
    }

static inline GateShape gate_shape(const VariantArgs *args) {
    const size_t batch = discount_batch(args), n = discount_n(args), length = 16 / dtype_size(args->problem->dtype);
    const size_t span = length * WARP, positions = line_positions(n, (unsigned)length, n % length == 0 || batch == 1);
    unsigned threads = (unsigned)params_int(args->tunables, "threads"), vectors = (unsigned)params_int(args->tunables, "vectors");
    if (threads == 0) threads = positions <= 8 * span ? 128 : 256;
    if (vectors == 0) vectors = positions <= span ? 1 : positions <= 16 * span ? 2 : 4;
    const unsigned most = threads / WARP;
    GateShape shape = {};
    shape.vectors = vectors;
    shape.parts = (unsigned)divide_up(positions, most * vectors * span);
    shape.warps = shape.parts > 1 ? most : (unsigned)divide_up(positions, vectors * span);
    shape.rows = shape.warps == 1 && shape.parts == 1 ? most : 1;
    return shape;
}

static inline bool gate_shape_supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const unsigned threads = (unsigned)params_int(args->tunables, "threads");
    if (discount_terms(args) > 0) return variant_refuse(reason, "sums of k terms are not supported");
    if (threads % WARP != 0) return variant_refuse(reason, "threads=%u is no multiple of 32", threads);
    if (params_int(args->tunables, "vectors") == 3) return variant_refuse(reason, "vectors=3: 1, 2 and 4 are supported");
    return true;
}

#endif
