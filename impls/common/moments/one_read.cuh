/* one_read.cuh - what one read of the matrix can compute, for moments/columns.cuh: raw power sums, shifted ones that are
 * corrected and merged, Welford's updates. T is the type of the data, A that of sums. */
#ifndef RUNGS_MOMENTS_ONE_READ_CUH
#define RUNGS_MOMENTS_ONE_READ_CUH

#include "common/moments/columns.cuh"

struct Nothing {};

/* Power sums of the distances from a center, in one thread. */
template <typename T, typename A, int ORDER, bool WEIGHTED> struct PowerColumn {
    T center = 0;
    A s[ORDER + 1] = {}; /* s[0]: the weight, if there are weights */
    Extremes<T> extremes;

    __device__ void push_distance(A d, T x, T w) {
        A term = WEIGHTED ? (A)w * d : d;
        if (WEIGHTED) s[0] += (A)w;
        s[1] += term;
#pragma unroll
        for (int p = 2; p <= ORDER; p++) s[p] += term *= d;
        extremes.push(x);
    }
};

/* Powers of the values themselves, added as they are and corrected once, at the end of the column. */
template <typename T, typename A, int ORDER, bool WEIGHTED> struct RawPass {
    using Element = T;
    using Given = Nothing;
    using Step = CountStep;
    static constexpr bool IS_WEIGHTED = WEIGHTED;
    static constexpr int BLOCKS_PER_SM = 2, LINES = (ORDER > 4 ? 4 : 8) / (WEIGHTED ? 2 : 1), OPENING = 1;

    struct Partial {
        A s[ORDER + 1] = {};
        Range<T> range;
        __device__ void merge(const Partial &b) {
#pragma unroll
            for (int p = 0; p <= ORDER; p++) s[p] += b.s[p];
            range.merge(b.range);
        }
    };
    struct Column : PowerColumn<T, A, ORDER, WEIGHTED> {
        __device__ void init(const Given &, size_t) {}
        __device__ void start(const T *, int) {}
        __device__ void push(T x, T w, const Step &) { this->push_distance((A)x, x, w); }
        __device__ Partial partial(const Step &) const {
            Partial all;
#pragma unroll
            for (int p = 0; p <= ORDER; p++) all.s[p] = this->s[p];
            all.range = this->extremes.done();
            return all;
        }
    };
    static __device__ void finish(const MomentsView<T> &view, const Given &, size_t c, const Partial &all) {
        const double weight = WEIGHTED ? (double)all.s[0] : (double)view.rows;
        double sums[ORDER + 1];
#pragma unroll
        for (int p = 1; p <= ORDER; p++) sums[p] = (double)all.s[p];
        moments_write(view, c, Central<double, ORDER>::about(0, weight, sums), all.range);
    }
};

/* Central moments of a part whose mean is center + moments.mean: as centers are values of the data, the difference of two is exact
 * where they are close, however far from zero. */
template <typename T, typename A, int ORDER> struct CentralPartial {
    T center = 0;
    Central<A, ORDER> moments;
    Range<T> range;
    __device__ void merge(const CentralPartial &b) {
        range.merge(b.range);
        if (moments.weight == 0) center = b.center;
        Central<A, ORDER> other = b.moments;
        other.mean += (A)b.center - (A)center;
        moments.merge(other);
    }
};

/* In double, whatever the sums are in: m3 / var^1.5 of large numbers leaves float. */
template <typename T, typename A, int ORDER>
static __device__ void finish_central(const MomentsView<T> &view, size_t c, const CentralPartial<T, A, ORDER> &all) {
    Central<double, ORDER> wide;
    wide.weight = (double)all.moments.weight;
    wide.mean = (double)all.center + (double)all.moments.mean;
#pragma unroll
    for (int p = 0; p < ORDER - 1; p++) wide.m[p] = (double)all.moments.m[p];
    moments_write(view, c, wide, all.range);
}

/* Power sums of the distances from the first value of the thread's part, corrected when the part ends. For orders 5 and 6 from the
 * mean of its first eight: a first value 4 sigma away, as one column of ten thousand has, makes sums of d^6 that are hundreds of
 * times the moment. */
template <typename T, typename A, int ORDER, bool WEIGHTED> struct ShiftedPass {
    using Element = T;
    using Given = Nothing;
    using Step = CountStep;
    using Partial = CentralPartial<T, A, ORDER>;
    static constexpr bool IS_WEIGHTED = WEIGHTED;
    static constexpr int BLOCKS_PER_SM = 2, LINES = (ORDER > 4 ? 4 : 8) / (WEIGHTED ? 2 : 1), OPENING = ORDER > 4 ? 8 : 1;

    struct Column : PowerColumn<T, A, ORDER, WEIGHTED> {
        __device__ void init(const Given &, size_t) {}
        __device__ void start(const T *first, int n) {
            A sum = 0;
            for (int k = 0; k < n; k++) sum += (A)first[k];
            const T mean = OPENING == 1 ? *first : (T)(sum / (A)n), near = mean - mean == 0 ? mean : *first;
            if (near - near == 0) this->center = near; /* not an infinity, from which every distance is infinite or NaN */
        }
        __device__ void push(T x, T w, const Step &) { this->push_distance((A)x - (A)this->center, x, w); }
        __device__ Partial partial(const Step &step) {
            const A weight = WEIGHTED ? this->s[0] : (A)step.count;
            return {this->center, Central<A, ORDER>::about(0, weight, this->s), this->extremes.done()};
        }
    };
    static __device__ void finish(const MomentsView<T> &view, const Given &, size_t c, const Partial &all) {
        finish_central(view, c, all);
    }
};

/* One value at a time. Without weights all columns of a thread have one count, and one division serves them all. */
template <typename A, bool WEIGHTED> struct WelfordStep {
    size_t count = 0;
    A inverse = 0;
    __device__ void next() {
        count++;
        if (!WEIGHTED) inverse = 1 / (A)count;
    }
};
template <typename T, typename A, int ORDER, bool WEIGHTED> struct WelfordPass {
    using Element = T;
    using Given = Nothing;
    using Step = WelfordStep<A, WEIGHTED>;
    using Partial = CentralPartial<T, A, ORDER>;
    static constexpr bool IS_WEIGHTED = WEIGHTED;
    static constexpr int BLOCKS_PER_SM = 2, LINES = (ORDER > 4 ? 4 : 8) / (WEIGHTED ? 2 : 1), OPENING = 1;

    struct Column {
        Partial all;
        Extremes<T> extremes;
        __device__ void init(const Given &, size_t) {}
        __device__ void start(const T *, int) {}
        __device__ void push(T x, T w, const Step &step) {
            Central<A, ORDER> &own = all.moments; /* its center stays 0 */
            if (WEIGHTED) own.weight += (A)w;
            const A share = WEIGHTED ? (A)w / own.weight : step.inverse;
            own.template join<true>((A)x - own.mean, (A)w, 0, share, NULL);
            extremes.push(x);
        }
        __device__ Partial partial(const Step &step) {
            all.range = extremes.done();
            if (!WEIGHTED) all.moments.weight = (A)step.count;
            return all;
        }
    };
    static __device__ void finish(const MomentsView<T> &view, const Given &, size_t c, const Partial &all) {
        finish_central(view, c, all);
    }
};

#endif
