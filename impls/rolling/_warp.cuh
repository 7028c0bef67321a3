/* _warp.cuh - what the variants with units of warps share: shifted sums for var and std, aggregates across the lanes of a warp, and
 * how a block reads its elements and writes its outputs. */
#pragma once

#include "_shared.cuh"
#include "common/async_copy.cuh"
#include "common/square_roots.cuh"

enum { WARP = 32, COPY_BYTES = 16, LINE_BYTES = 128 };
static const unsigned ALL_LANES = 0xffffffff;

/* Of so many blocks those that an SM has room for: Turing has 1024 threads, later ones 1536 or more; before 8.9 some have 16
 * blocks. */
static constexpr unsigned resident(unsigned threads, unsigned blocks) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    constexpr unsigned THREADS = 1024, BLOCKS = 16;
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 890
    constexpr unsigned THREADS = 1536, BLOCKS = 16;
#else
    constexpr unsigned THREADS = 1536, BLOCKS = 24;
#endif
    const unsigned fit = THREADS / threads < BLOCKS ? THREADS / threads : BLOCKS;
    return blocks < fit ? blocks : fit;
}

/* Sums of d and d^2, d = x - shift, for var and std. The caller chooses a shift near the mean of elements that lie in every window
 * that uses the sums. About an outlier the squares would be up to w times those about the mean; a shift from outside a window would
 * bring its magnitude, NaN or inf into it. */
template <typename T> struct Spread {
    T sum = 0, squares = 0;
    __device__ void push(T d) {
        sum += d;
        squares += d * d;
    }
    __device__ void merge(const Spread &other) {
        sum += other.sum;
        squares += other.squares;
    }
    /* The same sums about a shift that is smaller by `by`. */
    __device__ void shift(T count, T by) {
        squares += by * (2 * sum + count * by);
        sum += count * by;
    }
};
/* The value of an aggregate that has one. */
template <typename T> __device__ T value_of(const Sum<T> &a) {
    return a.sum;
}
template <typename T, bool IS_MIN> __device__ T value_of(const Extreme<T, IS_MIN> &a) {
    return a.value;
}
/* The output of a whole window; of std its square, or a number below 0 that stands for it (square_roots.cuh). Products with 1/w for
 * divisions: one rounding more. */
template <Aggregate AGG, typename T> __device__ T finish(const Sum<T> &a, T per_window, T) {
    return AGG == AGG_MEAN ? a.sum * per_window : a.sum;
}
template <Aggregate AGG, typename T, bool IS_MIN> __device__ T finish(const Extreme<T, IS_MIN> &a, T, T) {
    return a.value;
}
template <Aggregate AGG, typename T> __device__ T finish(const Spread<T> &a, T per_window, T per_degree) {
    const T m2 = a.squares - a.sum * (a.sum * per_window);
    return (AGG != AGG_STD && m2 < 0 ? 0 : m2) * per_degree;
}

template <typename T, Aggregate AGG> struct UnitAggregateOf { using Type = Accumulator<T, AGG>; };
template <typename T> struct UnitAggregateOf<T, AGG_VAR> { using Type = Spread<T>; };
template <typename T> struct UnitAggregateOf<T, AGG_STD> { using Type = Spread<T>; };
template <typename T, Aggregate AGG> using UnitAggregate = typename UnitAggregateOf<T, AGG>::Type;

/* The value of another lane: `distance` below, above, or where the lane number differs in this bit. */
enum Move { FROM_BELOW, FROM_ABOVE, ACROSS };
template <Move MOVE, typename T> __device__ T from_lane(T value, unsigned distance) {
    if (MOVE == FROM_BELOW) return __shfl_up_sync(ALL_LANES, value, distance);
    if (MOVE == FROM_ABOVE) return __shfl_down_sync(ALL_LANES, value, distance);
    return __shfl_xor_sync(ALL_LANES, value, (int)distance);
}
template <Move MOVE, typename T> __device__ Sum<T> from_lane(const Sum<T> &a, unsigned distance) {
    return {from_lane<MOVE>(a.sum, distance)};
}
template <Move MOVE, typename T, bool IS_MIN>
__device__ Extreme<T, IS_MIN> from_lane(const Extreme<T, IS_MIN> &a, unsigned distance) {
    return {from_lane<MOVE>(a.value, distance)};
}
template <Move MOVE, typename T> __device__ Spread<T> from_lane(const Spread<T> &a, unsigned distance) {
    return {from_lane<MOVE>(a.sum, distance), from_lane<MOVE>(a.squares, distance)};
}
template <Move MOVE, typename T> __device__ Moments<T> from_lane(const Moments<T> &a, unsigned distance) {
    return {from_lane<MOVE>(a.count, distance), from_lane<MOVE>(a.mean, distance), from_lane<MOVE>(a.m2, distance)};
}

/* The aggregate of the whole group of G lanes, in each of them. */
template <unsigned G, typename A> __device__ A group_reduce(A a) {
    for (unsigned distance = G / 2; distance > 0; distance /= 2) a.merge(from_lane<ACROSS>(a, distance));
    return a;
}
template <unsigned G, typename T> __device__ T group_sum(T value) {
    return group_reduce<G>(Sum<T>{value}).sum;
}

/* The aggregate of the lanes of the group before this one (FROM_BELOW) or behind it (FROM_ABOVE). */
template <unsigned G, Move MOVE, typename A> __device__ A group_scan_exclusive(A a) {
    const unsigned lane = threadIdx.x % G, others = MOVE == FROM_BELOW ? lane : G - 1 - lane;
    for (unsigned distance = 1; distance < G; distance *= 2) {
        A other = from_lane<MOVE>(a, distance);
        if (others >= distance) {
            other.merge(a);
            a = other;
        }
    }
    const A exclusive = from_lane<MOVE>(a, 1);
    return others == 0 ? A() : exclusive;
}

/* K elements that follow one another in shared memory. Those of 16 bits are read as words of two: K is even, and where the first is
 * the second of a word (odd = 1), words are shifted. */
template <typename T, unsigned K> struct Elements {
    const T *from;
    __device__ Elements(const T *at, unsigned) : from(at) {}
    __device__ T operator[](unsigned r) const { return from[r]; }
};
template <typename T, unsigned K> struct ElementPairs {
    static_assert(sizeof(T) == 2 && K % 2 == 0);
    uint32_t words[K / 2];
    __device__ ElementPairs(const T *at, unsigned odd) {
        const uint32_t *const from = (const uint32_t *)(at - odd);
        uint32_t word = from[0];
#pragma unroll
        for (unsigned i = 0; i < K / 2; i++) {
            const uint32_t next = i + 1 < K / 2 || odd ? from[i + 1] : 0;
            words[i] = __funnelshift_r(word, next, 16 * odd);
            word = next;
        }
    }
    __device__ float operator[](unsigned r) const {
        Pack<T, 2> pair;
        float both[2];
        memcpy(&pair, &words[r / 2], sizeof pair);
        pack_wide(pair, both);
        return both[r % 2];
    }
};
template <unsigned K> struct Elements<__half, K> : ElementPairs<__half, K> { using ElementPairs<__half, K>::ElementPairs; };
template <unsigned K> struct Elements<__nv_bfloat16, K> : ElementPairs<__nv_bfloat16, K> {
    using ElementPairs<__nv_bfloat16, K>::ElementPairs;
};
/* And back, to the beginning of a word. */
template <unsigned K, typename T> static __device__ inline void put_elements(T *to, const SumOf<T> (&values)[K]) {
    if constexpr (sizeof(T) == 2) {
#pragma unroll
        for (unsigned r = 0; r < K; r += 2) {
            Pack<T, 2> pair;
            pack_narrow({values[r], values[r + 1]}, &pair);
            *(Pack<T, 2> *)(to + r) = pair;
        }
    } else {
#pragma unroll
        for (unsigned r = 0; r < K; r++) to[r] = (T)values[r];
    }
}

/* Begins: staged[j] = x[first - halo + j] for j < count; 0, which no complete window sees, where that is outside the array. Ends
 * with async_copy_wait() and a barrier. first, halo and count are multiples of COPY_BYTES; x need not be. */
template <typename T> __device__ void stage(const RollingView<T> &view, size_t first, unsigned halo, unsigned count, T *staged) {
    constexpr unsigned EACH = COPY_BYTES / sizeof(T);
    if (view.packed && first >= halo && first - halo + count <= view.n) {
        const T *from = view.x + (first - halo);
        for (unsigned j = threadIdx.x * EACH; j < count; j += blockDim.x * EACH) async_copy_16(staged + j, from + j);
        return;
    }
    for (unsigned j = threadIdx.x; j < count; j += blockDim.x) {
        const size_t shifted = first + j;
        staged[j] = shifted >= halo && shifted - halo < view.n ? view.x[shifted - halo] : (T)0;
    }
}

/* y[first + j] for begin <= j < end, by the calling warp: outputs[j], or `incomplete`. first and begin are multiples of
 * COPY_BYTES. */
template <typename T>
__device__ void write_warp(const RollingView<T> &view, size_t first, unsigned begin, unsigned end, const T *outputs) {
    constexpr unsigned EACH = COPY_BYTES / sizeof(T);
    const unsigned lane = threadIdx.x % WARP;
    if (view.packed && end % EACH == 0 && first + begin + 1 >= view.window && first + end <= view.n) {
        for (unsigned j = begin + lane * EACH; j < end; j += WARP * EACH)
            *(int4 *)(view.y + first + j) = *(const int4 *)(outputs + j);
        return;
    }
    for (unsigned j = begin + lane; j < end && first + j < view.n; j += WARP)
        view.y[first + j] = first + j + 1 < view.window ? view.incomplete : outputs[j];
}
