/* gates.cuh - rows with a discount for each element, as in models with gates: how cuda_row_groups of discounted_cumsum and
 * cuda_row_tiles of its gradient cut them, and the maps that they compose.
 *
 * A row is cut into tiles, a block each. A warp has VECTORS runs of 32 vectors of 16 bytes in a tile, of which a lane reads one
 * each. Rows of one tile are not cut; of those that one warp has there are several to a block, and several to a warp if that has
 * room for two in whole vectors. */
#pragma once

#include "common/discounted_cumsum/scan.cuh"

#include <string.h>

#include <type_traits>

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

/* A lane's vector as it lies in memory: of elements of two bytes a register has two. */
template <typename T, unsigned WORDS = 4> struct GateVector {
    unsigned words[WORDS];

    __device__ T element(unsigned i) const {
        T value;
        if constexpr (sizeof(T) == 2) {
            const unsigned short bits = (unsigned short)(words[i / 2] >> i % 2 * 16);
            memcpy(&value, &bits, sizeof value);
        } else {
            memcpy(&value, words + i * (sizeof(T) / 4), sizeof value);
        }
        return value;
    }
    __device__ void put(unsigned i, T value) {
        if constexpr (sizeof(T) == 2) {
            unsigned short bits;
            memcpy(&bits, &value, sizeof bits);
            words[i / 2] = i % 2 ? (words[i / 2] & 0xffffu) | (unsigned)bits << 16 : (words[i / 2] & 0xffff0000u) | bits;
        } else {
            memcpy(words + i * (sizeof(T) / 4), &value, sizeof value);
        }
    }
    /* Has the compiler convert the elements again, where it would keep each in a register of its own. */
    __device__ void stay_packed() {
#ifdef __CUDA_ARCH__
#pragma unroll
        for (unsigned w = 0; sizeof(T) == 2 && w < WORDS; w++) asm volatile("" : "+r"(words[w]));
#endif
    }
};

struct GateShape {
    unsigned vectors, warps, rows; /* of a lane; of a tile; tiles of a block: more than one only if parts is 1 */
    unsigned parts, joined;        /* tiles of a row; rows of a tile: more than one only if it is a warp's, in whole vectors */
};

/* Which tile the calling warp has. */
struct GatePlace {
    size_t row;          /* the first */
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
        const size_t left = place.row < view.batch ? view.batch - place.row : 0, rows = left < shape.joined ? left : shape.joined;
        line = {0, 0};
        if (rows > 0) line = {(long long)(place.row * view.n), (long long)((place.row + rows) * view.n)};
        position = begin + threadIdx.x % WARP * LENGTH;
        const long long lowest = line.first(RIGHT ? begin + SPAN - LENGTH : begin);
        whole = packed && lowest >= line.begin && lowest + (long long)SPAN <= line.end;
    }
    __device__ long long low(unsigned v) const { return line.first(position + v * WARP * LENGTH); }

    /* Of joined rows: which one of them the vector is in, and whether it begins there, in the order of the sums. */
    __device__ unsigned joined_row(unsigned v, size_t n) const {
        const long long offset = low(v) - line.begin;
        return offset > 0 ? (unsigned)offset / (unsigned)n : 0;
    }
    __device__ bool begins_row(unsigned v, size_t n) const { return (unsigned)(position + v * WARP * LENGTH) % (unsigned)n == 0; }

    /* WHOLE: it is known to be. */
    template <bool WHOLE> __device__ GateVector<T> load(const T *from, unsigned v, bool packed, T otherwise) const {
        GateVector<T> vector;
        if (WHOLE) {
            const Pack<unsigned, 4> pack = *(const Pack<unsigned, 4> *)(from + low(v));
#pragma unroll
            for (unsigned k = 0; k < 4; k++) vector.words[k] = pack.at[k];
        } else {
            T in[LENGTH];
            line.load(from, low(v), packed, otherwise, in);
#pragma unroll
            for (unsigned k = 0; k < LENGTH; k++) put(&vector, k, in[k]);
        }
        return vector;
    }
    /* Where segments begin: a byte for each element of a vector, as in memory. */
    typedef std::conditional_t<LENGTH == 2, unsigned short, std::conditional_t<LENGTH == 4, unsigned, unsigned long long>> Resets;
    template <bool WHOLE> __device__ Resets load_resets(const unsigned char *reset, unsigned v) const {
        if (!reset) return 0;
        if (WHOLE) return *(const Resets *)(reset + low(v));
        Resets resets = 0;
        for (unsigned k = 0; k < LENGTH; k++)
            if (line.holds(low(v) + k)) resets |= (Resets)((Resets)reset[low(v) + k] << 8 * k);
        return resets;
    }
    static __device__ bool is_reset(Resets resets, unsigned k) {
        return resets >> 8 * Line::at(0, k) & 0xff;
    }

    /* Element k of a vector in the order of the sums. */
    static __device__ SumOf<T> element(const GateVector<T> &vector, unsigned k) {
        return (SumOf<T>)vector.element((unsigned)Line::at(0, k));
    }
    static __device__ void put(GateVector<T> *vector, unsigned k, T value) {
        vector->put((unsigned)Line::at(0, k), value);
    }

    template <typename E> __device__ void store(E *to, unsigned v, bool packed, const E (&in)[LENGTH]) const {
        if (!whole) return line.store(to, low(v), packed, in);
        Pack<E, LENGTH> pack;
#pragma unroll
        for (unsigned k = 0; k < LENGTH; k++) pack.at[Line::at(0, k)] = in[k];
        pack_store(pack, to + low(v));
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

/* Vectors of a lane by default: long_vectors in rows of more than 8 KiB. */
static inline GateShape gate_shape(const VariantArgs *args, unsigned short_vectors, unsigned long_vectors) {
    const size_t batch = discount_batch(args), n = discount_n(args), length = 16 / dtype_size(args->problem->dtype);
    const size_t span = length * WARP, positions = line_positions(n, (unsigned)length, n % length == 0 || batch == 1);
    unsigned threads = (unsigned)params_int(args->tunables, "threads"), vectors = (unsigned)params_int(args->tunables, "vectors");
    if (threads == 0) threads = positions <= 8 * span ? 128 : 256;
    if (vectors == 0) vectors = positions <= 16 * span ? short_vectors : long_vectors;
    const unsigned most = threads / WARP;
    GateShape shape = {};
    shape.vectors = vectors;
    shape.parts = (unsigned)divide_up(positions, most * vectors * span);
    shape.warps = shape.parts > 1 ? most : (unsigned)divide_up(positions, vectors * span);
    shape.rows = shape.warps == 1 && shape.parts == 1 ? most : 1;
    shape.joined = shape.rows > 1 && n % length == 0 && n <= vectors * span / 2 ? (unsigned)(vectors * span / n) : 1;
    return shape;
}
static inline size_t gate_blocks(const VariantArgs *args, const GateShape &shape) {
    return shape.parts > 1 ? discount_batch(args) * shape.parts
                           : divide_up(discount_batch(args), (size_t)shape.rows * shape.joined);
}

static inline bool gate_shape_supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const unsigned threads = (unsigned)params_int(args->tunables, "threads");
    if (discount_terms(args) > 0) return variant_refuse(reason, "sums of k terms are not supported");
    if (threads % WARP != 0) return variant_refuse(reason, "threads=%u is no multiple of 32", threads);
    if (dtype_size(args->problem->dtype) == 2 && discount_gamma_per(args) == DISCOUNT_GAMMA_ALL)
        return variant_refuse(reason, "f16 and bf16: a discount for each row or element is supported");
    if (params_int(args->tunables, "vectors") == 3) return variant_refuse(reason, "vectors=3: 1, 2 and 4 are supported");
    return true;
}
