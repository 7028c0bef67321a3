/* two_pass.cuh - what the two passes over the matrix compute, for moments/columns.cuh: means, then power sums of the
 * deviations from them. T is the type of the data, A that of sums. */
#ifndef RUNGS_MOMENTS_TWO_PASS_CUH
#define RUNGS_MOMENTS_TWO_PASS_CUH

#include "common/moments/columns.cuh"

/* Means, as sums; smallest and largest on the way. Arrays [cols]. */
template <typename A> struct Means { A *mean, *weight, *scale; };

/* A power of two that brings distances within a column near 1, so that their powers neither overflow nor vanish. */
template <typename A, typename T> static __device__ A distance_scale(Range<T> range) {
    constexpr int MOST = sizeof(A) == sizeof(float) ? 120 : 1000;
    const double spread = 0.5 * (double)range.high - 0.5 * (double)range.low;
    if (!(spread > 0 && spread < __builtin_huge_val())) return 1;
    const int exponent = ilogb(spread);
    return (A)ldexp(1.0, exponent > MOST ? -MOST : exponent < -MOST ? MOST : -exponent);
}

template <typename T, typename A, bool WEIGHTED> struct SumPass {
    using Element = T;
    using Given = Means<A>; /* to be filled */
    using Step = CountStep;
    static constexpr bool IS_WEIGHTED = WEIGHTED;
    static constexpr int BLOCKS_PER_SM = 2, LINES = WEIGHTED ? 4 : 8, OPENING = 1;

    struct Partial {
        A sum = 0, weight = 0;
        Range<T> range;
        __device__ void merge(const Partial &b) {
            sum += b.sum;
            weight += b.weight;
            range.merge(b.range);
        }
    };
    struct Column {
        Partial all;
        Extremes<T> extremes;
        __device__ void init(const Given &, size_t) {}
        __device__ void start(const T *, int) {}
        __device__ void push(T x, T w, const Step &) {
            all.sum += WEIGHTED ? (A)w * (A)x : (A)x;
            if (WEIGHTED) all.weight += (A)w;
            extremes.push(x);
        }
        __device__ Partial partial(const Step &) {
            all.range = extremes.done();
            return all;
        }
    };
    static __device__ void finish(const MomentsView<T> &view, const Given &means, size_t c, const Partial &all) {
        const double weight = WEIGHTED ? (double)all.weight : (double)view.rows;
        means.mean[c] = (A)((double)all.sum / weight);
        means.weight[c] = (A)weight;
        means.scale[c] = distance_scale<A>(all.range);
        view.out[OUT_MIN][c] = all.range.low;
        view.out[OUT_MAX][c] = all.range.high;
    }
};

/* Power sums of deviations from the means that SumPass left; S1 corrects what is left of the mean's error. Deviations are scaled
 * where powers of the data could leave the range of A: not those of float in double. */
template <typename T, typename A, int ORDER, bool WEIGHTED> struct DeviationPass {
    using Element = T;
    using Given = Means<A>;
    using Step = CountStep;
    static constexpr bool IS_WEIGHTED = WEIGHTED;
    static constexpr int BLOCKS_PER_SM = 2, LINES = ORDER > 4 && WEIGHTED ? 4 : 8, OPENING = 1;

    static constexpr bool SCALED = sizeof(T) == sizeof(A);

    struct Partial {
        A s[ORDER] = {}; /* s[p-1] = sum w d^p */
        __device__ void merge(const Partial &b) {
#pragma unroll
            for (int p = 0; p < ORDER; p++) s[p] += b.s[p];
        }
    };
    struct Column {
        A center, scale;
        Partial all;
        __device__ void init(const Given &means, size_t c) {
            center = means.mean[c];
            if (SCALED) scale = means.scale[c];
        }
        __device__ void start(const T *, int) {}
        __device__ void push(T x, T w, const Step &) {
            const A distance = (A)x - center, d = SCALED ? distance * scale : distance;
            A term = WEIGHTED ? (A)w * d : d;
            all.s[0] += term;
#pragma unroll
            for (int p = 1; p < ORDER; p++) all.s[p] += term *= d;
        }
        __device__ Partial partial(const Step &) const {
            return all;
        }
    };
    static __device__ void finish(const MomentsView<T> &view, const Given &means, size_t c, const Partial &all) {
        const double weight = WEIGHTED ? (double)means.weight[c] : (double)view.rows;
        double sums[ORDER + 1];
#pragma unroll
        for (int p = 1; p <= ORDER; p++) sums[p] = (double)all.s[p - 1];
        const double unit = SCALED ? 1 / (double)means.scale[c] : 1;
        Central<double, ORDER> exact = Central<double, ORDER>::about(0, weight, sums);
        exact.mean = (double)means.mean[c] + exact.mean * unit;
        moments_write(view, c, exact, Range<T>{view.out[OUT_MIN][c], view.out[OUT_MAX][c]}, unit);
    }
};

/* Both, with their scratch. */
template <typename T, typename A, int ORDER, bool WEIGHTED> struct TwoPass {
    using Sums = SumPass<T, A, WEIGHTED>;
    using Deviations = DeviationPass<T, A, ORDER, WEIGHTED>;
    using Noted = Deviations;

    /* Scratch: means, weights and scales, then the partial results of one pass after the other. */
    static size_t means_bytes(size_t cols) { return divide_up(3 * cols * sizeof(A), 256) * 256; }
    static size_t scratch_bytes(const MomentsPlan &plan, size_t cols) {
        const size_t sums = pass_scratch_bytes<Sums>(plan, cols), deviations = pass_scratch_bytes<Deviations>(plan, cols);
        return means_bytes(cols) + (sums > deviations ? sums : deviations);
    }
    static Status launch_on(const VariantArgs *args, const MomentsPlan &plan) {
        const MomentsView<T> view = moments_view<T>(args);
        const Means<A> means = {(A *)args->scratch, (A *)args->scratch + view.cols, (A *)args->scratch + 2 * view.cols};
        void *partials = (char *)args->scratch + means_bytes(view.cols);
        TRY(pass_launch<Sums>(args, view, plan, means, partials));
        return pass_launch<Deviations>(args, view, plan, means, partials);
    }
};

#endif
