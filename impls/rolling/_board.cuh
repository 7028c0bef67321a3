/* _board.cuh - aggregates that blocks publish for each other in global memory, in words of the dtype's size.
 *
 * A word holds the bits of a value; all bits set stand for "not published yet", a NaN that publish() never writes. The whole value
 * travels in one access, so no fence is needed, and a launch begins by setting all bytes to 0xff, whatever the last one left. */
#pragma once

#include "_warp.cuh"

/* From GROUPS_FROM tiles on, a middle is read as aggregates of GROUP tiles, but for the latest ones. */
enum { BOARD_POLLS_MAX = 1000, GROUP = 32, GROUPS_FROM = 128, APART = 1024 };

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
/* Is it there by now? */
template <typename T> __device__ bool peek(const Word<T> *from, T *value) {
    union {
        Word<T> bits;
        T value;
    } u;
    u.bits = *(const volatile Word<T> *)from;
    *value = u.value;
    return u.bits != BOARD_EMPTY<T>;
}

/* An aggregate as words: sum, minimum or maximum; mean and squares about it. The reader knows the count. */
template <typename A> struct Published { static constexpr unsigned WORDS = 1; };
template <typename T> struct Published<Moments<T>> { static constexpr unsigned WORDS = 2; };

template <typename T> __device__ void publish(Word<T> *to, const Sum<T> &a) {
    publish(to, a.sum);
}
template <typename T, bool IS_MIN> __device__ void publish(Word<T> *to, const Extreme<T, IS_MIN> &a) {
    publish(to, a.value);
}
template <typename T> __device__ void publish(Word<T> *to, const Moments<T> &a) {
    publish(to, a.mean);
    publish(to + 1, a.m2);
}
template <typename T> __device__ bool peek(const Word<T> *from, Sum<T> *a) {
    return peek(from, &a->sum);
}
template <typename T, bool IS_MIN> __device__ bool peek(const Word<T> *from, Extreme<T, IS_MIN> *a) {
    return peek(from, &a->value);
}
template <typename T> __device__ bool peek(const Word<T> *from, Moments<T> *a) {
    const bool mean = peek(from, &a->mean), m2 = peek(from + 1, &a->m2);
    return mean && m2;
}

/* The aggregate of a run of elements, which a warp reads; in each lane. */
template <typename T, Aggregate AGG> __device__ Accumulator<T, AGG> warp_collect(const T *from, size_t count) {
    UnitAggregate<T, AGG> all;
    T mean = 0;
    if constexpr (aggregate_is_spread(AGG)) {
        T sum = 0;
        for (size_t j = threadIdx.x % WARP; j < count; j += WARP) sum += from[j];
        mean = group_sum<WARP>(sum) / (T)count;
    }
    for (size_t j = threadIdx.x % WARP; j < count; j += WARP) all.push(from[j] - mean);
    all = group_reduce<WARP>(all);
    if constexpr (aggregate_is_spread(AGG)) {
        const T error = all.sum / (T)count;
        return {(T)count, mean + error, all.squares - all.sum * error};
    } else {
        return all;
    }
}
/* The same out of line, for what is rarely needed. */
template <typename T, Aggregate AGG> static __device__ __noinline__ Accumulator<T, AGG> collect_again(const T *from, size_t count) {
    return warp_collect<T, AGG>(from, count);
}

/* How the array is cut: tiles of `width` elements. Between the first window of a tile and the tile lie w - 1 elements: `width` that
 * only some of its windows have, and the middle, which all of them have: the last `tail` elements of a tile and `whole` tiles. */
struct TileCut {
    unsigned width, whole, tail;
};

/* Where aggregates are published. A slot of `slot` words for each tile: of all its elements, and of the last `tail`. Slots of
 * neighbouring tiles, which are written and polled at the same time, are `rows` slots apart: not in one line. Behind the slots one
 * aggregate for each GROUP of tiles. */
template <typename T> struct Board {
    Word<T> *slots, *groups;
    unsigned slot, rows;
    __device__ Word<T> *slot_of(size_t tile) const { return slots + (tile % APART * rows + tile / APART) * slot; }
};

/* What the middle of a tile is read as: `count` pieces, the earliest first. Groups of the latest tiles are left out: they appear
 * later than the tiles themselves. */
struct Piece {
    size_t first; /* element */
    unsigned count;
    size_t slot; /* number of a tile, or of a group */
    enum { TAIL, TILE, TILES } kind;
};
struct Middle {
    unsigned first, tails, head, groups, count;
    __device__ Middle(const TileCut &cut, unsigned tile) {
        first = tile - cut.whole;
        tails = cut.tail > 0;
        head = cut.whole;
        groups = 0;
        if (cut.whole >= GROUPS_FROM) {
            head = (GROUP - first % GROUP) % GROUP;
            groups = (cut.whole - head - tile % GROUP - GROUP) / GROUP;
        }
        count = tails + cut.whole - groups * (GROUP - 1);
    }
    __device__ Piece piece(const TileCut &cut, unsigned j) const {
        const size_t width = cut.width;
        if (j < tails) return {first * width - cut.tail, cut.tail, first - 1, Piece::TAIL};
        j -= tails;
        if (j >= head && j < head + groups) {
            const unsigned group = (first + head) / GROUP + (j - head);
            return {group * width * GROUP, cut.width * GROUP, group, Piece::TILES};
        }
        const unsigned tile = first + (j < head ? j : j + groups * (GROUP - 1));
        return {tile * width, cut.width, tile, Piece::TILE};
    }
};
template <typename T, Aggregate AGG> __device__ const Word<T> *place_of(const Board<T> &board, const Piece &piece) {
    constexpr unsigned WORDS = Published<Accumulator<T, AGG>>::WORDS;
    if (piece.kind == Piece::TILES) return board.groups + piece.slot * WORDS;
    return board.slot_of(piece.slot) + (piece.kind == Piece::TAIL ? WORDS : 0);
}

/* Each lane its own piece, where `wanted`: waits for the word, not forever; then the warp sums up the elements instead. `ready`: it
 * is in *part already. */
template <typename T, Aggregate AGG>
__device__ void await_piece(const RollingView<T> &view, const Board<T> &board, const Piece &piece, bool ready,
                            Accumulator<T, AGG> *part) {
    const Word<T> *const place = place_of<T, AGG>(board, piece);
    for (unsigned polls = 0; !ready && polls < BOARD_POLLS_MAX; polls++) ready = peek(place, part);
    for (unsigned missing = __ballot_sync(ALL_LANES, !ready); missing != 0; missing &= missing - 1) {
        const int lane = __ffs((int)missing) - 1;
        const size_t first = __shfl_sync(ALL_LANES, piece.first, lane);
        const Accumulator<T, AGG> again = collect_again<T, AGG>(view.x + first, __shfl_sync(ALL_LANES, piece.count, lane));
        if ((int)(threadIdx.x % WARP) == lane) *part = again;
    }
}

template <typename A, typename T> __device__ void merge_part(A *all, const A &part, T, T) {
    all->merge(part);
}
/* The sums are about `shift`. */
template <typename T> __device__ void merge_part(Spread<T> *all, const Moments<T> &part, T count, T shift) {
    const T by = part.mean - shift;
    all->sum += count * by;
    all->squares += part.m2 + count * by * by;
}

/* What var and std subtract, in a middle too: the mean of its earliest whole tile, or group. The other aggregates: 0. By a warp. */
template <typename T, Aggregate AGG>
__device__ T shift_of(const RollingView<T> &view, const TileCut &cut, const Board<T> &board, unsigned tile) {
    if constexpr (aggregate_is_spread(AGG)) {
        const Middle middle(cut, tile);
        Moments<T> earliest;
        await_piece<T, AGG>(view, board, middle.piece(cut, middle.tails + (middle.groups > 0 ? middle.head : 0)), false, &earliest);
        return earliest.mean;
    } else {
        return 0;
    }
}

/* The middle of a tile by a warp, in each lane. */
template <typename T, Aggregate AGG>
__device__ UnitAggregate<T, AGG> gather_middle(const RollingView<T> &view, const TileCut &cut, const Board<T> &board, unsigned tile,
                                               T shift) {
    constexpr unsigned BATCH = aggregate_is_spread(AGG) ? 2 : 4; /* that a lane requests before it waits for the first */
    const unsigned lane = threadIdx.x % WARP;
    const Middle middle(cut, tile);
    UnitAggregate<T, AGG> all;
    for (unsigned done = 0; done < middle.count; done += BATCH * WARP) {
        Accumulator<T, AGG> parts[BATCH];
        bool ready[BATCH];
#pragma unroll
        for (unsigned i = 0; i < BATCH; i++) {
            const unsigned j = done + i * WARP + lane;
            ready[i] = j >= middle.count || peek(place_of<T, AGG>(board, middle.piece(cut, j)), &parts[i]);
        }
#pragma unroll
        for (unsigned i = 0; i < BATCH; i++) {
            const unsigned j = done + i * WARP + lane;
            if (j - lane >= middle.count) continue;
            const Piece piece = middle.piece(cut, j < middle.count ? j : 0);
            await_piece<T, AGG>(view, board, piece, ready[i], &parts[i]);
            if (j < middle.count) merge_part(&all, parts[i], (T)piece.count, shift);
        }
    }
    return group_reduce<WARP>(all);
}

/* The aggregate of a run from those of its parts; `per_total` is 1 / the sum of their counts. */
template <typename T, typename A> __device__ A merge_parts(const A *parts, unsigned count, T) {
    A all;
    for (unsigned v = 0; v < count; v++) all.merge(parts[v]);
    return all;
}
template <typename T> __device__ Moments<T> merge_parts(const Moments<T> *parts, unsigned count, T per_total) {
    Moments<T> all;
    for (unsigned v = 0; v < count; v++) all.mean += parts[v].count * parts[v].mean;
    all.mean *= per_total;
    for (unsigned v = 0; v < count; v++) {
        const T by = parts[v].mean - all.mean;
        all.m2 += parts[v].m2 + (parts[v].count > 0 ? parts[v].count * by * by : 0);
    }
    return all;
}

/* The aggregate of as many elements in each lane. */
template <typename T, typename A> __device__ A merge_lanes(const A &a, T) {
    return group_reduce<WARP>(a);
}
template <typename T> __device__ Moments<T> merge_lanes(Moments<T> a, T count) {
    for (unsigned distance = 1; distance < WARP; distance *= 2, count *= 2) {
        const Moments<T> other = from_lane<ACROSS>(a, distance);
        const T by = other.mean - a.mean;
        a.mean = (T)0.5 * (a.mean + other.mean);
        a.m2 += other.m2 + by * by * ((T)0.5 * count);
    }
    return a;
}

/* Publishes the group that ends with this tile. By a warp. */
template <typename T, Aggregate AGG>
__device__ void publish_group(const RollingView<T> &view, const TileCut &cut, const Board<T> &board, unsigned tile) {
    const unsigned mine = tile - threadIdx.x % WARP;
    Accumulator<T, AGG> part;
    await_piece<T, AGG>(view, board, {(size_t)mine * cut.width, cut.width, mine, Piece::TILE}, false, &part);
    part = merge_lanes(part, (T)cut.width);
    if (threadIdx.x % WARP == 0) publish(board.groups + tile / GROUP * Published<Accumulator<T, AGG>>::WORDS, part);
}
