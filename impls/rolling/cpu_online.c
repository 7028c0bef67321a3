/* Idea: one pass, one thread: add the entering element, remove the leaving one. Sums are compensated; a variance is updated by
 * Welford's rule for replacing one element, minima and maxima come from a monotonic queue. This is how pandas (1.3 and later)
 * works.
 * Traffic: each element twice (entering, leaving), O(n) operations; the queue holds at most w indices.
 * Rounding: sums and moments are carried as pairs of doubles, so that what a large element pushed out of the leading double comes
 *   back when it leaves: nothing drifts with n. Where pandas differs: it compensates by Kahan's rule, which loses what a single
 *   large element pushes out, and its sum of squares not at all; a NaN is missing to it and skipped, here it shows. A spread that
 *   falls by 2^40 since it was last summed afresh is summed afresh; two such falls are at least w steps apart.
 * Limits: sums beyond the range of double; agg=apply has its own variants.
 * Origin: pandas/_libs/window/aggregations.pyx (idea); Welford (1962); Neumaier (1974); Lemire (2006) for the queue. */
#include "variant.h"

#include <math.h>

enum { MEAN, SUM, VAR, STD, MIN, MAX, APPLY };

/* hi + lo, an unevaluated sum. */
typedef struct Pair {
    double hi, lo;
} Pair;

static inline Pair pair_sum(double a, double b) {
    const double s = a + b, part = s - a;
    return (Pair){s, (a - (s - part)) + (b - part)};
}

static inline Pair pair_add(Pair a, Pair b) {
    const Pair s = pair_sum(a.hi, b.hi);
    const double lo = s.lo + (a.lo + b.lo), hi = s.hi + lo;
    return (Pair){hi, lo - (hi - s.hi)};
}

static inline Pair pair_multiply(Pair a, Pair b) {
    const double p = a.hi * b.hi;
    return (Pair){p, fma(a.hi, b.hi, -p) + (a.hi * b.lo + a.lo * b.hi)};
}

static inline Pair pair_divide(Pair a, double b) {
    const double q = a.hi / b;
    return (Pair){q, (fma(-q, b, a.hi) + a.lo) / b};
}

static inline Pair pair_negate(Pair a) {
    return (Pair){-a.hi, -a.lo};
}

typedef struct Series {
    const void *x;
    void *y;
    bool f32;
    size_t n, w;
} Series;

static inline double at(const Series *s, size_t i) {
    return s->f32 ? (double)((const float *)s->x)[i] : ((const double *)s->x)[i];
}

static inline void put(const Series *s, size_t i, double value) {
    if (s->f32)
        ((float *)s->y)[i] = (float)value;
    else
        ((double *)s->y)[i] = value;
}

/* Elements that are not finite are counted, and enter the sums as 0. */
typedef struct Specials {
    size_t nan, plus, minus;
} Specials;

static inline double admit(Specials *in_window, double x, bool enters) {
    if (isfinite(x)) return x;
    const size_t step = enters ? 1 : (size_t)-1;
    if (isnan(x)) in_window->nan += step;
    if (isinf(x)) *(x > 0 ? &in_window->plus : &in_window->minus) += step;
    return 0;
}

/* A window that has shrunk to this part of the largest since it was last summed afresh is summed afresh. */
static const double SHRUNK = 0x1p-20;

static inline double finite_at(const Series *s, size_t i) {
    const double x = at(s, i);
    return isfinite(x) ? x : 0;
}

static void roll_sums(const Series *s, bool mean) {
    Specials special = {0};
    Pair sum = {0, 0}, size = {0, 0}; /* of x and of |x| */
    double most = 0;                  /* the largest size since they were summed afresh */
    for (size_t i = 0; i < s->n; i++) {
        const double enters = admit(&special, at(s, i), true);
        const double leaves = i >= s->w ? admit(&special, at(s, i - s->w), false) : 0;
        sum = pair_add(sum, pair_sum(enters, -leaves));
        size = pair_add(size, pair_sum(fabs(enters), -fabs(leaves)));
        most = size.hi > most ? size.hi : most;
        if (i + 1 < s->w) continue;
        if (!(size.hi >= SHRUNK * most)) {
            sum = size = (Pair){0, 0};
            for (size_t j = i + 1 - s->w; j <= i; j++) {
                sum = pair_add(sum, (Pair){finite_at(s, j), 0});
                size.hi += fabs(finite_at(s, j));
            }
            most = size.hi;
        }
        double value = mean ? (sum.hi + sum.lo) / (double)s->w : sum.hi + sum.lo;
        if (special.nan || (special.plus && special.minus))
            value = NAN;
        else if (special.plus || special.minus)
            value = special.plus ? INFINITY : -INFINITY;
        put(s, i, value);
    }
}

/* Sum and spread, sum (x - mean)^2, of the window that ends at `last`. */
static void spread_afresh(const Series *s, size_t last, Pair *sum, Pair *spread) {
    const size_t first = last + 1 - s->w;
    *sum = *spread = (Pair){0, 0};
    for (size_t j = first; j <= last; j++) *sum = pair_add(*sum, (Pair){finite_at(s, j), 0});
    const Pair mean = pair_divide(*sum, (double)s->w);
    for (size_t j = first; j <= last; j++) {
        const Pair d = pair_add((Pair){finite_at(s, j), 0}, pair_negate(mean));
        *spread = pair_add(*spread, pair_multiply(d, d));
    }
}

static void roll_spreads(const Series *s, bool root) {
    const double w = (double)s->w;
    Specials special = {0};
    Pair sum = {0, 0}, mean = {0, 0}, spread = {0, 0};
    double most = 0; /* the largest spread since it was summed afresh */
    for (size_t i = 0; i < s->n; i++) {
        const double enters = admit(&special, at(s, i), true);
        const double leaves = i >= s->w ? admit(&special, at(s, i - s->w), false) : 0;
        const Pair change = pair_sum(enters, -leaves);
        sum = pair_add(sum, change);
        if (i + 1 < s->w) continue;
        const Pair before = mean;
        mean = pair_divide(sum, w);
        /* (enters - mean)^2 - (leaves - before)^2 and what moves with the mean, in one product. */
        const Pair distance = pair_add(pair_sum(enters, leaves), pair_negate(pair_add(mean, before)));
        spread = pair_add(spread, pair_multiply(change, distance));
        most = spread.hi > most ? spread.hi : most;
        if (i + 1 == s->w || (most > 0 && !(spread.hi > SHRUNK * most))) {
            spread_afresh(s, i, &sum, &spread);
            mean = pair_divide(sum, w);
            most = spread.hi;
        }
        const bool defined = s->w > 1 && !special.nan && !special.plus && !special.minus;
        const double var = defined ? fmax(spread.hi, 0) / (w - 1) : NAN;
        put(s, i, root ? sqrt(var) : var);
    }
}

/* The queue holds indices whose values can still become the extreme; the extreme is its head. A ring of `room` indices. */
static void roll_extremes(const Series *s, double sign, size_t *ring, size_t room) {
    size_t head = 0, length = 0, nan_end = 0; /* windows that begin before nan_end hold a NaN */
    for (size_t i = 0; i < s->n; i++) {
        const double x = sign * at(s, i);
        if (isnan(x)) {
            nan_end = i + 1;
        } else {
            while (length > 0 && sign * at(s, ring[(head + length - 1) % room]) >= x) length--;
            ring[(head + length++) % room] = i;
        }
        if (length > 0 && ring[head] + s->w <= i) {
            head = (head + 1) % room;
            length--;
        }
        if (i + 1 >= s->w) put(s, i, i + 1 - s->w < nan_end ? NAN : at(s, ring[head]));
    }
}

static size_t queue_room(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]), w = (size_t)params_int(&args->problem->params, "window");
    return (w < n ? w : n) + 1; /* one more: the new index enters before the old one leaves */
}

static size_t scratch_bytes(const VariantArgs *args) {
    const int agg = params_choice(&args->problem->params, "agg");
    return agg == MIN || agg == MAX ? queue_room(args) * sizeof(size_t) : 0;
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return params_choice(&args->problem->params, "agg") == APPLY ? variant_refuse(reason, "apply has its own variants") : true;
}

static Status run(const VariantArgs *args) {
    const Params *params = &args->problem->params;
    const Series s = {args->in[0].data, args->out[0].data, args->problem->dtype == DTYPE_F32, array_count(&args->in[0]),
                      (size_t)params_int(params, "window")};
    const double incomplete = params_choice(params, "incomplete") == 0 ? NAN : INFINITY;
    for (size_t i = 0; i < s.n && i + 1 < s.w; i++) put(&s, i, incomplete);
    if (s.w > s.n) return STATUS_OK;
    const int agg = params_choice(params, "agg");
    if (agg == MEAN || agg == SUM) roll_sums(&s, agg == MEAN);
    if (agg == VAR || agg == STD) roll_spreads(&s, agg == STD);
    if (agg == MIN || agg == MAX) roll_extremes(&s, agg == MIN ? 1 : -1, args->scratch, queue_room(args));
    return STATUS_OK;
}

RUNGS_VARIANT(rolling, cpu_online) = {
    .backend = BACKEND_CPU,
    .summary = "add the entering element, remove the leaving one, compensated; one thread",
    .origin = "pandas >= 1.3 (idea), Welford 1962, Neumaier 1974, Lemire 2006",
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
