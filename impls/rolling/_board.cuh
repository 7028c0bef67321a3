/* _board.cuh - aggregates that blocks publish for each other in global memory, in words of the dtype's size.
 *
 * A word holds the bits of a value; all bits set stand for "not published yet", a NaN that publish() never writes. The whole value
 * travels in one access, so no fence is needed, and a launch begins by setting all bytes to 0xff, whatever the last one left. */
#ifndef RUNGS_ROLLING_BOARD_CUH
#define RUNGS_ROLLING_BOARD_CUH

#include "_warp.cuh"

enum { BOARD_POLLS_MAX = 1000, GROUP = 32, GROUPS_FROM = 128 };

template <typename T> struct WordOf { using Type = unsigned long long; };
template <> struct WordOf<float> { using Type = unsigned; };
template <typename T> using Word = typename WordOf<T>::Type;

template <typename T> constexpr Word<T> BOARD_EMPTY = (Word<T>)-1;

template <typename T> __device__ void publish(Word<T> *to, T value) {
    union {
        T value;
        Word<T> bits;
    } u;
    u.value = value == value ? value : (T)__builtin_nan("");
    *(volatile Word<T> *)to = u.bits;
}
/* Waits for a word, not forever. */
template <typename T> __device__ bool await(const Word<T> *from, T *value) {
    union {
        Word<T> bits;
        T value;
    } u;
    for (unsigned polls = 0; polls < BOARD_POLLS_MAX; polls++) {
        u.bits = *(const volatile Word<T> *)from;
        if (u.bits != BOARD_EMPTY<T>) {
            *value = u.value;
            return true;
        }
    }
    return false;
}

/* An aggregate as words: sum, minimum or maximum; mean and squares about it. */
template <typename A> struct Published { static constexpr unsigned WORDS = 1; };
template <typename T> struct Published<Moments<T>> { static constexpr unsigned WORDS = 2; };

template <typename T> __device__ void publish_aggregate(Word<T> *to, const Sum<T> &a) {
    publish(to, a.sum);
}
template <typename T, bool IS_MIN> __device__ void publish_aggregate(Word<T> *to, const Extreme<T, IS_MIN> &a) {
    publish(to, a.value);
}
template <typename T> __device__ void publish_aggregate(Word<T> *to, const Moments<T> &a) {
    publish(to, a.mean);
    publish(to + 1, a.m2);
}
template <typename T> __device__ bool await_aggregate(const Word<T> *from, T, Sum<T> *a) {
    return await(from, &a->sum);
}
template <typename T, bool IS_MIN> __device__ bool await_aggregate(const Word<T> *from, T, Extreme<T, IS_MIN> *a) {
    return await(from, &a->value);
}
template <typename T> __device__ bool await_aggregate(const Word<T> *from, T count, Moments<T> *a) {
    a->count = count;
    return await(from, &a->mean) && await(from + 1, &a->m2);
}

/* The array as rows of tiles. Tile number t is t % tiles of row t / tiles; tiles adjoin in memory in this order. */
struct RowCut {
    size_t pitch, rows;
    unsigned width, tiles, lag; /* of a tile; in a row; w - 1 - pitch */

    __host__ __device__ size_t begin(size_t tile) const { return tile / tiles * pitch + tile % tiles * width; }
    __device__ unsigned width_of(unsigned column) const {
        return column + 1 < tiles ? width : (unsigned)(pitch - (size_t)column * width);
    }
};

/* Where aggregates are published: of each tile, and of each whole GROUP of tiles. */
template <typename T> struct Board { Word<T> *tiles, *groups; };

/* What a block that has polled long does: the aggregate of tiles [first, first + count) from their elements. */
template <typename T, typename A>
static __device__ __noinline__ A aggregate_again(const RollingView<T> view, const RowCut cut, size_t first, unsigned count) {
    const size_t begin = cut.begin(first);
    return A::collect(view.x + begin, cut.begin(first + count) - begin);
}

/* The aggregate of `count` tiles from `first` on, 1 or GROUP; `column` is that of the first. */
template <typename T, typename A>
__device__ A read_board(const RollingView<T> &view, const RowCut &cut, const Board<T> &board, size_t first, unsigned column,
                        unsigned count) {
    constexpr unsigned WORDS = Published<A>::WORDS;
    const Word<T> *from = count == 1 ? board.tiles + first * WORDS : board.groups + first / GROUP * WORDS;
    const unsigned elements = count * cut.width - (column + count >= cut.tiles ? cut.width - cut.width_of(cut.tiles - 1) : 0);
    A a;
    return await_aggregate(from, (T)elements, &a) ? a : aggregate_again<T, A>(view, cut, first, count);
}

/* The sum over the lanes of a warp; Moments without a division at each step. */
template <typename A> __device__ A warp_merge(const A &a) {
    return group_reduce<WARP>(a);
}
template <typename T> __device__ Moments<T> warp_merge(const Moments<T> &a) {
    const T count = group_sum<WARP>(a.count), mean = count > 0 ? group_sum<WARP>(a.count * a.mean) / count : 0, by = a.mean - mean;
    return {count, mean, group_sum<WARP>(a.count > 0 ? a.m2 + a.count * by * by : 0)};
}

/* The aggregate of the cut.tiles - 1 tiles before a tile, the calling lane's share of it; `lane` of `lanes`. */
template <typename T, typename A>
__device__ A gather(const RollingView<T> &view, const RowCut &cut, const Board<T> &board, size_t tile, unsigned column,
                    unsigned lane, unsigned lanes) {
    const size_t from = tile - cut.tiles + 1;
    unsigned head = cut.tiles - 1, groups = 0, tail = 0;
    if (cut.tiles >= GROUPS_FROM) {
        head = (unsigned)(GROUP - 1 - (from + GROUP - 1) % GROUP);
        tail = (unsigned)(tile % GROUP);
        groups = (cut.tiles - 1 - head - tail) / GROUP;
    }
    A all;
    for (unsigned j = lane; j < head + groups + tail; j += lanes) {
        const bool grouped = j >= head && j < head + groups;
        const unsigned after = j < head ? j : grouped ? head + (j - head) * GROUP : j + groups * (GROUP - 1);
        const unsigned at = column + 1 + after;
        const A a = read_board<T, A>(view, cut, board, from + after, at < cut.tiles ? at : at - cut.tiles, grouped ? GROUP : 1);
        if (j == lane)
            all = a;
        else
            all.merge(a);
    }
    return all;
}

#endif
