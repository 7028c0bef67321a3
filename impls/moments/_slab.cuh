/* _slab.cuh - a block's sums of powers of distances, for the variants in which all threads of a block take them from the same point
 * of a column. Such sums add up: within a warp by shuffles, between warps in shared memory. The cut into slabs is that of
 * _lines.cuh. */
#pragma once

#include "_lines.cuh"

#define AUTO_SLAB_TUNABLE                                                                                                          \
    { "slab", "most 16-byte packs of a line that a block takes; 0: what suits the shape", PARAM_INT, "0", 0, MOMENTS_THREADS, NULL }

static const char *const SLAB_THREADS[] = {"auto", "128", "256", NULL};
#define SLAB_THREADS_TUNABLE                                                                                                       \
    { "threads", "threads of a block; auto: what suits the shape", PARAM_CHOICE, "auto", 0, 0, SLAB_THREADS }

/* One column of a thread while values arrive. */
template <typename T, int ORDER> struct ShiftedColumn {
    T center;
    double s[ORDER] = {}; /* s[p - 1] = sum (x - center)^p */
    Extremes<T> extremes;

    __device__ void push(T x) {
        static_assert(ORDER == 4 || ORDER == 6);
        const double d = (double)x - (double)center, d2 = d * d;
        s[0] += d;
        s[1] = fma(d, d, s[1]);
        s[2] = fma(d2, d, s[2]);
        s[3] = fma(d2, d2, s[3]);
        if constexpr (ORDER > 4) {
            s[4] = fma(d2 * d2, d, s[4]);
            s[5] = fma(d2 * d2, d2, s[5]);
        }
        extremes.push(x);
    }
};

/* Lanes of a warp that have the same columns, `distance` apart, add up: all of them get the sum. */
template <typename T, int ORDER> static __device__ inline void lanes_join(ShiftedColumn<T, ORDER> *column, unsigned distance) {
#pragma unroll
    for (int p = 0; p < ORDER; p++) column->s[p] += __shfl_xor_sync(0xffffffffu, column->s[p], distance);
    Extremes<T> &own = column->extremes;
    own.range.low = min(own.range.low, __shfl_xor_sync(0xffffffffu, own.range.low, distance));
    own.range.high = max(own.range.high, __shfl_xor_sync(0xffffffffu, own.range.high, distance));
    own.nan = __shfl_xor_sync(0xffffffffu, (int)own.nan, distance) || own.nan;
}

/* Sums of the block's groups, in dynamic shared memory. A group is a warp, if its lanes share columns evenly, else a line of
 * threads. */
static __host__ __device__ inline unsigned sum_groups(const MomentsPlan &plan) {
    return 32 % plan.tx == 0 ? plan.threads / 32 : plan.ty;
}

template <typename T, int ORDER> struct SlabSums {
    static constexpr unsigned STATS = ORDER + 2; /* sums of powers, smallest, largest */
    double *threads;                             /* [STATS][groups][columns]; at least one for each thread, free after reduce() */
    double *segments;                            /* [segments][STATS * columns] */
    unsigned columns, groups;

    static __host__ __device__ unsigned threads_count(unsigned columns, unsigned groups) {
        const unsigned all = STATS * groups * columns, least = MOMENTS_THREADS;
        return all > least ? all : least;
    }
    static __device__ double join(unsigned stat, double a, double b) {
        if (stat < ORDER) return a + b;
        return b != b || (stat == ORDER ? b < a : b > a) ? b : a;
    }
    /* All threads: threads[stat][all groups] become segments[stat][column]. */
    __device__ void reduce() const {
        const unsigned items = STATS * columns, wanted = blockDim.x / items,
                       parts = wanted < 1        ? 1
                               : wanted < groups ? wanted
                                                 : groups;
        __syncthreads();
        for (unsigned i = threadIdx.x; i < items * parts; i += blockDim.x) {
            const unsigned item = i % items, part = i / items, stat = item / columns;
            const double *const from = threads + stat * groups * columns + item % columns;
            double sum = from[part * columns];
#pragma unroll 8
            for (unsigned group = part + parts; group < groups; group += parts) sum = join(stat, sum, from[group * columns]);
            segments[i] = sum;
        }
        __syncthreads();
        for (unsigned item = threadIdx.x; item < items; item += blockDim.x) {
            double sum = segments[item];
            for (unsigned part = 1; part < parts; part++) sum = join(item / columns, sum, segments[part * items + item]);
            segments[item] = sum;
        }
        __syncthreads();
    }
};

template <typename T, int ORDER> static size_t slab_shared_bytes(const MomentsPlan &plan) {
    using Sums = SlabSums<T, ORDER>;
    const unsigned columns = plan.tx * PACK<T>, items = Sums::STATS * columns, least = MOMENTS_THREADS;
    return sizeof(double) * (size_t)(Sums::threads_count(columns, sum_groups(plan)) + (items > least ? items : least));
}

/* What a thread reads: whole lines of its pack, LINES loads in flight. */
template <typename T, int ORDER, unsigned IN_FLIGHT = (ORDER > 4 ? 4 : 8)> struct SlabReader {
    static constexpr unsigned LINES = IN_FLIGHT;
    size_t line, end, turn, stride;
    const T *at;
    LinePack<T> batch[LINES];

    __device__ SlabReader(const MomentsView<T> &view, const MomentsPlan &plan, const MomentsPart &part)
        : line(part.begin), end(part.works ? part.end : part.begin), turn(plan.ty), stride(plan.ty * plan.line),
          at(view.x + part.begin * plan.line + part.offset) {
        load();
    }
    __device__ void load() {
#pragma unroll
        for (unsigned u = 0; u < LINES; u++)
            if (line + u * turn < end) batch[u] = pack_load(at + u * stride);
    }
    /* push(pack) for each line. */
    template <typename Push> __device__ void push_all(Push push) {
        while (line + (LINES - 1) * turn < end) {
#pragma unroll
            for (unsigned u = 0; u < LINES; u++) push(batch[u]);
            line += LINES * turn;
            at += LINES * stride;
            load();
        }
#pragma unroll
        for (unsigned u = 0; u < LINES; u++) /* the last few lines, fewer than LINES */
            if (line + u * turn < end) push(batch[u]);
    }
};

/* All threads of a block: their columns' sums in shared memory. column(j): what the thread has of column j of its pack. */
template <typename T, int ORDER, typename Column>
static __device__ SlabSums<T, ORDER> slab_sums(const MomentsPlan &plan, const MomentsPart &part, double *shared, Column column) {
    constexpr unsigned SIZE = PACK<T>;
    const unsigned x = threadIdx.x % plan.tx, groups = sum_groups(plan), columns = plan.tx * SIZE;
    const bool by_warps = groups < plan.ty;
    const SlabSums<T, ORDER> sums = {shared, shared + SlabSums<T, ORDER>::threads_count(columns, groups), columns, groups};
    const unsigned group = by_warps ? threadIdx.x / 32 : part.y;
#pragma unroll
    for (unsigned j = 0; j < SIZE; j++) {
        ShiftedColumn<SumOf<T>, ORDER> own = column(j);
        for (unsigned distance = 16; by_warps && distance >= plan.tx; distance /= 2) lanes_join(&own, distance);
        if (!(by_warps ? threadIdx.x % 32 < plan.tx : part.y < groups)) continue;
        double *const to = sums.threads + group * columns + x * SIZE + j;
        const Range<SumOf<T>> range = own.extremes.done();
#pragma unroll
        for (unsigned p = 0; p < ORDER; p++) to[p * groups * columns] = own.s[p];
        to[ORDER * groups * columns] = (double)range.low;
        to[(ORDER + 1) * groups * columns] = (double)range.high;
    }
    sums.reduce();
    return sums;
}

/* ---- Host. */
/* Few rows: a block for each pack, so that no chunks have to be merged, of as few threads as read a batch of lines each. Many
 * columns: whole waves of blocks of wide_threads, with slabs as wide as that leaves them, for long runs of memory, but
 * least_lines threads of a block at least have the same columns. */
static inline MomentsPlan slab_plan(const VariantArgs *args, unsigned wide_threads, unsigned least_lines) {
    enum { FEW_LINES = 16 * MOMENTS_THREADS, FEW_PACKS = 32, WIDE = 16, WIDEST = 48 };
    const size_t sms = device_sm_count();
    const size_t chunks = (size_t)params_int(args->tunables, "chunks");
    const MomentsPlan lines = plan_lines(args);
    size_t slab = (size_t)params_int(args->tunables, "slab");
    const int choice = params_choice(args->tunables, "threads");
    unsigned threads = choice == 1 ? MOMENTS_THREADS / 2 : MOMENTS_THREADS;
    if (slab == 0) {
        const bool few = lines.lines <= FEW_LINES && lines.packs >= FEW_PACKS && lines.packs <= 8 * sms;
        const bool wide = lines.packs > 4 * WIDE * BLOCKS_PER_SM * sms,
                   small = few && lines.lines <= MOMENTS_LINES * MOMENTS_THREADS / 2;
        if (choice == 0 && (small || wide)) threads = wide ? wide_threads : MOMENTS_THREADS / 2;
        const size_t widest = threads / least_lines < WIDEST ? threads / least_lines : (size_t)WIDEST;
        const size_t wave = sms * BLOCKS_PER_SM * (MOMENTS_THREADS / threads), waves = divide_up(lines.packs, wave * widest);
        slab = few ? 1 : wide ? divide_up(lines.packs, wave * waves) : (size_t)WIDE;
    }
    return plan_cut(args, threads, slab < threads ? slab : threads, chunks, 0);
}

/* Columns of a block of the merge: more, where there are enough blocks. */
static inline unsigned merge_columns(size_t cols) {
    unsigned tx = 1;
    while (tx < REDUCE_COLUMNS && cols > 2 * tx * device_sm_count()) tx *= 2;
    return tx;
}
