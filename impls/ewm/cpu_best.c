/* Idea: all cores, eight elements at a time. Where elements are soon forgotten, each thread has a stretch of the series and begins
 *   with the state of the few thousand elements before it; afterwards all see whether the state behind the stretch before is that
 *   one. Else, or if one is not, threads take blocks of up to 2^15 elements in turn. A block is read twice to compute its own state
 *   (measure: polynomials in q, the second about the mean from the first), waits for the state before it, publishes the joined
 *   state for the next block, and is written while it is still in the cache. So blocks wait for one join each, not for each other's
 *   outputs. Eight elements are blended as vectors: three steps join each lane with the lane 1, 2, 4 before it, one more with the
 *   state. Once the weight of the state has stopped growing, all shares are constants and no division is left. If older elements
 *   then keep half of their weight over 64 new ones, 32 at a time are summed about a mean that is known early.
 * Traffic: each element is read once from memory (and of blocks twice more from the cache), each output written once.
 * Rounding: in double for both dtypes, means and variances blended by shares of the weight, in 3 + n/8 steps; the only difference
 *   of squares loses one bit at most.
 * Limits: an element larger than the tables' limit goes one by one with those beside it, and so does a NaN without adjust, whose
 *   weight depends on the gap before it, or after which older elements have less than half of the weight. A block with one, or with
 *   a NaN that has no adjust, has no state of its own before the state that comes in is known: such blocks wait for each other.
 * Origin: Chan, Golub and LeVeque (1979) for joining; the chain of blocks: Yan, Long and Zhang (2013), StreamScan. */
#ifdef __AVX512F__
#pragma GCC target("prefer-vector-width=512")
#endif
#pragma GCC optimize("fp-contract=fast", "no-tree-slp-vectorize") /* packing the state takes longer than a step */
#include "_steps.h"
#include "common/cpu_chain.h"
#include "common/cpu_eight.h"

#include <float.h>
#include <omp.h>

enum { TOGETHER = SCAN_BYTES == sizeof(Eight) ? 4 : 1 /* eights that are scanned side by side, where they fit into registers */ };
enum { CHAINS = CHAIN_MULTIPLE / EIGHT };
static const double WEIGHT_LEAST = 0x1p-400; /* that no product underflows of, and no step forgets */
static const double PAIRS_LEAST = 0.25;      /* that loses two bits at most as a difference from 1 */

/* Lane l stands for elements 0 to l of the eight. */
typedef struct Tables {
    Eight decay;            /* q^(l+1) */
    Eight weight, pairs;    /* of the lane's elements: sum of their weights at the last of them; 1 - sum w^2 / (sum w)^2 */
    Eight keep[3];          /* share of the earlier lane in each of the three steps; 0 where there is none */
    Eight own[3], cross[3]; /* 1 - keep; keep * own */
    Eight power[3];         /* q, q^2, q^4; 0 where there is no such earlier lane */
    bool slow;              /* what was before two groups of TOGETHER eights still has half of the weight after them */
    double limit;           /* larger elements go one by one: their squares, or differences, may overflow */
    bool usable;
} Tables;

/* How the state and the eight share the weight, lane by lane. */
typedef struct Shares {
    Eight keep, share, both, unbias; /* both: keep * share; unbias: 1 / pairs */
    double old, own, across;         /* the last lane of the first three */
    double one, weight;              /* share of one element; weight of all, of which it has 1 */
    bool steady;                     /* the same for the next eight */
} Shares;

typedef struct Link {
    ChainSlot slot;
    EwmState state; /* after the block */
} Link;

typedef struct Job {
    EwmCase rule;
    Tables tables;
    const void *x;
    const uint8_t *starts; /* NULL: one series */
    void *y;
    bool f32;
    int threads;
    size_t block;     /* elements */
    bool past_caches; /* y is too large to stay in a cache */
} Job;

/* Sum of the weights of `count` elements at the last of them. */
static double weight_of(const EwmCase *rule, int count) {
    double sum = 0;
    for (int j = 0; j < count; j++) sum = sum * rule->q + 1;
    return rule->adjust ? sum : rule->alpha * sum;
}

static Tables make_tables(const EwmCase *rule) {
    Tables self = {.limit = rule->agg == EWM_MEAN ? 0x1p900 : 0x1p450, .usable = rule->q == 0 || rule->q > 0x1p-100};
    double decay = 1, pairs = 0;
    for (int l = 0; l < EIGHT; l++) {
        self.decay[l] = decay *= rule->q;
        self.weight[l] = weight_of(rule, l + 1);
        const double share = weight_of(rule, 1) / self.weight[l], keep = l == 0 ? 0 : rule->q * self.weight[l - 1] / self.weight[l];
        self.pairs[l] = pairs = keep * (keep * pairs + 2 * share);
        for (int s = 0; s < 3; s++) {
            const int steps = 1 << s, own = l + 1 < steps ? l + 1 : steps, before = l + 1 - own < steps ? l + 1 - own : steps;
            const double old = pow(rule->q, own) * weight_of(rule, before);
            self.keep[s][l] = before == 0 ? 0 : old / (old + weight_of(rule, own));
            self.own[s][l] = 1 - self.keep[s][l];
            self.cross[s][l] = self.keep[s][l] * self.own[s][l];
            self.power[s][l] = before == 0 ? 0 : pow(rule->q, steps);
        }
    }
    self.slow = pow(rule->q, 2 * TOGETHER * EIGHT) >= 0.5;
    return self;
}

EIGHT_INLINE void update_shares(const Tables *tables, bool spread, EwmState *state, Shares *self) {
    const Eight old = tables->decay * state->weight, total = old + tables->weight, per_total = 1 / total;
    const double weight = total[EIGHT - 1];
    self->keep = old * per_total;
    self->share = tables->weight * per_total;
    self->both = self->keep * self->share;
    self->old = self->keep[EIGHT - 1], self->own = self->share[EIGHT - 1], self->across = self->both[EIGHT - 1];
    self->one = self->share[0], self->weight = 1 / self->one;
    self->steady = fabs(weight - state->weight) <= 0x1p-52 * weight;
    state->weight = weight;
    if (!spread) return;
    const Eight pairs = self->keep * self->keep * state->pairs + self->share * self->share * tables->pairs + 2 * self->both;
    self->steady = self->steady && fabs(pairs[EIGHT - 1] - state->pairs) <= 0x1p-52 * pairs[EIGHT - 1];
    self->unbias = 1 / pairs;
    state->pairs = pairs[EIGHT - 1];
}

EIGHT_INLINE Eight root_of(Eight v) {
#if defined __AVX512F__
    return (Eight)_mm512_sqrt_pd((__m512d)v);
#else
    for (int l = 0; l < EIGHT; l++) v[l] = sqrt(v[l]);
    return v;
#endif
}

/* `count` times eight elements, each eight by itself: means up to each lane, in place, and squares about them. Side by side, since
 * each step waits for the one before. */
EIGHT_INLINE void scan_eights(const Tables *tables, bool spread, size_t count, Eight *means, Eight *squares) {
    for (int s = 0; s < 3; s++)
        for (size_t e = 0; e < count; e++) {
            const Eight apart = eight_earlier(means[e], means[e], 1 << s, false) - means[e];
            if (spread && s == 0) squares[e] = tables->cross[s] * (apart * apart);
            if (spread && s > 0)
                squares[e] = tables->keep[s] * eight_earlier(squares[e], squares[e], 1 << s, false) +
                             (tables->own[s] * squares[e] + tables->cross[s] * (apart * apart));
            means[e] += tables->keep[s] * apart;
        }
}

/* Eight scanned elements into the state; returns the eight outputs. The next eight wait for a multiply-add of scalars only. */
EIGHT_INLINE Eight take(EwmAgg agg, EwmState *state, const Shares *shares, Eight mean, Eight squares) {
    const double before = state->mean, last = mean[EIGHT - 1], step = last - before;
    state->count += EIGHT;
    if (agg == EWM_MEAN || last != before) /* a spread of equal numbers is 0, and shares do not add up to 1 exactly */
        state->mean = shares->old * before + shares->own * last;
    if (agg == EWM_MEAN) return shares->keep * before + shares->share * mean;
    const Eight apart = mean - before;
    const Eight spreads = shares->keep * state->spread + (shares->share * squares + shares->both * (apart * apart));
    state->spread = shares->old * state->spread + (shares->own * squares[EIGHT - 1] + shares->across * (step * step));
    return agg == EWM_STD ? root_of(spreads * shares->unbias) : spreads * shares->unbias;
}

EIGHT_INLINE bool starts_here(const uint8_t *starts, size_t i) {
    uint64_t eight = 0;
    if (starts) memcpy(&eight, starts + i, sizeof eight);
    return eight != 0;
}

/* A sum of weights may decay at once, instead of when the next observation comes. */
EIGHT_INLINE void settle(const EwmCase *rule, EwmState *state) {
    if (!rule->adjust) return;
    state->weight *= state->gap;
    state->gap = 1;
}

/* One by one: elements [first, end) of x to y, unless that is NULL. */
static void walk(const Job *job, EwmState *state, void *y, size_t first, size_t end) {
    for (size_t i = first; i < end; i++) {
        if (job->starts && job->starts[i] != 0) *state = (EwmState){0};
        ewm_step(&job->rule, state, ewm_load(job->x, i, job->f32));
        if (y) ewm_store(y, i, job->f32, ewm_output(&job->rule, state));
    }
    settle(&job->rule, state);
}

/* Of a series that has begun, whose elements were numbers (or NaN that have decayed its weight). */
EIGHT_INLINE bool is_plain(const EwmState *state) {
    return state->count > 0 && state->gap == 1 && state->weight >= WEIGHT_LEAST && state->special == 0;
}

/* Are elements i .. i + EIGHT * count - 1 numbers of the series? */
EIGHT_INLINE bool eights_continue(const Job *job, size_t count, bool f32, size_t i) {
    bool all = true;
    for (size_t e = 0; e < count; e++)
        all = all & !starts_here(job->starts, i + e * EIGHT) &
              eight_within(eight_load(job->x, i + e * EIGHT, f32), job->tables.limit);
    return all;
}

/* Weighted sums up to each lane. */
EIGHT_INLINE Eight sum_decayed(const Eight power[3], Eight v) {
    for (int s = 0; s < 3; s++) v += power[s] * eight_earlier(v, v, 1 << s, false);
    return v;
}

/* Lanes that are not NaN, else 0. */
EIGHT_INLINE Eight where_there(Eight x, Eight v) {
    return (Eight)((x == x) & (EightMask)v);
}

EIGHT_INLINE size_t count_there(Eight x) {
    const EightMask there = x == x;
    int64_t count = 0;
    for (int l = 0; l < EIGHT; l++) count -= there[l];
    return (size_t)count;
}

/* Elements i .. i + EIGHT - 1 to y, some of them NaN, which have no weight: sums about the mean before them, divided by the sum of
 * weights up to each lane. False, and nothing is done, unless what was before still has half of the weight, as in put_about_mean.
 */
EIGHT_INLINE bool put_missing(const Job *job, EwmAgg agg, EwmState *state, bool f32, size_t i) {
    const Eight x = eight_load(job->x, i, f32), decay = job->tables.decay, *power = job->tables.power;
    const double before = decay[EIGHT - 1] * state->weight;
    if (starts_here(job->starts, i) || !eight_within(where_there(x, x), job->tables.limit) || state->count < job->rule.min_periods)
        return false;
    const Eight weight = sum_decayed(power, where_there(x, eight_of(1)));
    if (!(before >= 1 && before >= weight[EIGHT - 1]) || (agg != EWM_MEAN && state->pairs < PAIRS_LEAST)) return false;
    const Eight apart = where_there(x, x - state->mean), total = decay * state->weight + weight;
    const Eight step = sum_decayed(power, apart) / total;
    Eight out = state->mean + step;
    state->mean = out[EIGHT - 1];
    if (agg != EWM_MEAN) {
        const Eight squared[3] = {power[0] * power[0], power[1] * power[1], power[2] * power[2]}, old = decay * state->weight;
        const Eight squares = sum_decayed(power, apart * apart) + old * state->spread;
        const Eight alone = sum_decayed(squared, where_there(x, eight_of(1))) + old * old * (1 - state->pairs);
        const Eight spreads = squares / total - step * step, pairs = 1 - alone / (total * total);
        state->spread = spreads[EIGHT - 1], state->pairs = pairs[EIGHT - 1];
        out = agg == EWM_STD ? root_of(spreads / pairs) : spreads / pairs;
    }
    state->weight = total[EIGHT - 1];
    state->count += count_there(x);
    eight_store(job->y, i, f32, out, job->past_caches);
    return true;
}

/* Elements i .. i + EIGHT - 1 to y, of a series with an element that was not finite, if they add none: outputs no longer change. */
EIGHT_INLINE bool put_special(const Job *job, EwmAgg agg, const EwmState *state, bool f32, size_t i) {
    const Eight x = eight_load(job->x, i, f32);
    if (job->rule.q == 0 || state->count < job->rule.min_periods || starts_here(job->starts, i) ||
        !eight_within(job->rule.nan_decays ? where_there(x, x) : x, DBL_MAX))
        return false;
    eight_store(job->y, i, f32, eight_of(agg == EWM_MEAN ? state->special : (double)NAN), job->past_caches);
    return true;
}

/* Elements i .. i + EIGHT * count - 1 to y. */
EIGHT_INLINE void put_eights(const Job *job, EwmAgg agg, EwmState *state, const Shares *shares, size_t count, bool f32, size_t i) {
    Eight means[TOGETHER], squares[TOGETHER];
    for (size_t e = 0; e < count; e++) means[e] = eight_load(job->x, i + e * EIGHT, f32);
    scan_eights(&job->tables, agg != EWM_MEAN, count, means, squares);
    for (size_t e = 0; e < count; e++)
        eight_store(job->y, i + e * EIGHT, f32, take(agg, state, shares, means[e], squares[e]), job->past_caches);
}

EIGHT_INLINE bool any_starts(const Job *job, size_t i) {
    bool any = false;
    for (size_t e = 0; e < TOGETHER; e++) any |= starts_here(job->starts, i + e * EIGHT);
    return any;
}

/* Elements i .. to y by TOGETHER eights, up to the first that is no number of the series; returns where it stopped. By weighted
 * sums of what elements are above a center, and of its squares. The center is the mean before the previous TOGETHER eights, so that
 * the next eights do not wait for these; since what was before it has half of the weight, the square that is subtracted is at most
 * half of the sum of squares (Cauchy and Schwarz), and at most one bit is lost. */
EIGHT_INLINE size_t put_about_mean(const Job *job, EwmAgg agg, EwmState *state, const Shares *shares, bool f32, size_t i,
                                   size_t end) {
    const Tables *tables = &job->tables;
    const double one = shares->one, weight = shares->weight, decay = tables->decay[EIGHT - 1];
    const Eight unbias = shares->unbias * one;
    Eight center = eight_of(state->mean), sum = {0}, squares = eight_of(state->spread * weight), mean = center;
    for (; i + TOGETHER * EIGHT <= end && !any_starts(job, i); i += TOGETHER * EIGHT) {
        Eight sum_after = sum, squares_after = squares, out[TOGETHER];
        for (size_t e = 0; e < TOGETHER; e++) {
            const Eight apart = eight_load(job->x, i + e * EIGHT, f32) - center, own = sum_decayed(tables->power, apart);
            const Eight here = own + tables->decay * sum_after;
            sum_after = sum_after * decay + eight_of(own[EIGHT - 1]);
            out[e] = center + one * here;
            if (agg == EWM_MEAN) continue;
            const Eight own_squares = sum_decayed(tables->power, apart * apart);
            out[e] = ((own_squares + tables->decay * squares_after) - one * (here * here)) * unbias;
            squares_after = squares_after * decay + eight_of(own_squares[EIGHT - 1]);
            if (agg == EWM_STD) out[e] = root_of(out[e]);
        }
        if (!(fabs(agg == EWM_MEAN ? sum_after[0] : squares_after[0]) <= 0x1p1000)) break; /* NaN, infinite or too large */
        for (size_t e = 0; e < TOGETHER; e++) eight_store(job->y, i + e * EIGHT, f32, out[e], job->past_caches);
        const Eight step = mean - center, mean_after = center + one * sum_after;
        squares = squares_after - step * (2 * sum_after - step * weight);
        sum = sum_after - step * weight;
        center = mean, mean = mean_after;
        state->count += TOGETHER * EIGHT;
    }
    const double apart = one * sum[0];
    state->mean = center[0] + apart;
    if (agg != EWM_MEAN) state->spread = one * squares[0] - apart * apart;
    return i;
}

/* By eights, where all are numbers of one series. The state and the job are copies that no store to y can change: they stay in
 * registers. */
EIGHT_INLINE void write_eights(const Job *from, EwmState *before, EwmAgg agg, bool f32, size_t first, size_t end) {
    const Job job = *from;
    EwmState state = *before;
    Shares shares = {.steady = false};
    bool plain = is_plain(&state);
    size_t i = first;
    while (i + EIGHT <= end) {
        if (plain && shares.steady && job.tables.slow && state.count >= job.rule.min_periods)
            i = put_about_mean(&job, agg, &state, &shares, f32, i, end);
        if (i + EIGHT > end) break;
        if (plain && shares.steady && i + TOGETHER * EIGHT <= end && state.count >= job.rule.min_periods &&
            eights_continue(&job, TOGETHER, f32, i)) {
            put_eights(&job, agg, &state, &shares, TOGETHER, f32, i);
            i += TOGETHER * EIGHT;
            continue;
        }
        if (plain && eights_continue(&job, 1, f32, i)) {
            const size_t early = state.count + 1 < job.rule.min_periods ? job.rule.min_periods - 1 - state.count : 0;
            if (!shares.steady) update_shares(&job.tables, agg != EWM_MEAN, &state, &shares);
            put_eights(&job, agg, &state, &shares, 1, f32, i);
            for (size_t l = 0; l < EIGHT && l < early; l++) ewm_store(job.y, i + l, f32, job.rule.incomplete);
        } else if (plain && job.rule.adjust && job.rule.nan_decays && put_missing(&job, agg, &state, f32, i)) {
            shares.steady = false;
        } else if (state.special == 0 || !put_special(&job, agg, &state, f32, i)) {
            *before = state;
            walk(from, before, from->y, i, i + EIGHT);
            state = *before;
            plain = is_plain(&state);
            shares.steady = false;
        }
        i += EIGHT;
    }
    *before = state;
    walk(from, before, from->y, i, end);
}

/* One copy of the loop for each aggregate. */
EIGHT_INLINE void write_block_as(const Job *job, EwmState *state, bool f32, size_t first, size_t end) {
    switch (job->rule.agg) {
    case EWM_MEAN:
        write_eights(job, state, EWM_MEAN, f32, first, end);
        return;
    case EWM_VAR:
        write_eights(job, state, EWM_VAR, f32, first, end);
        return;
    case EWM_STD:
        write_eights(job, state, EWM_STD, f32, first, end);
        return;
    }
}

static void write_block(const Job *job, EwmState *state, size_t first, size_t end) {
    if (!job->tables.usable)
        walk(job, state, job->y, first, end);
    else if (job->f32)
        write_block_as(job, state, true, first, end);
    else
        write_block_as(job, state, false, first, end);
}

EIGHT_INLINE double join_chains(Eight decay, const Eight *sums, double across) {
    Eight sum = sums[0];
    for (size_t c = 1; c < CHAINS; c++) sum = sum * across + sums[c];
    double total = sum[EIGHT - 1];
    for (int l = 0; l < EIGHT - 1; l++) total += sum[l] * decay[EIGHT - 2 - l];
    return total;
}

/* Sum of q^(end - 1 - i) d, d = x[i] - center, and of its squares if they are asked for, by Horner's rule in four chains, each of a
 * quarter of the elements. Not finite if an element is not; missing: NaN are left out. */
EIGHT_INLINE double weigh(const Job *job, double center, bool missing, bool f32, size_t first, size_t end, double *squares) {
    const double decay = job->tables.decay[EIGHT - 1];
    const size_t each = (end - first) / CHAINS;
    const double across = exp(job->rule.log_q * (double)each);
    Eight sums[CHAINS] = {0}, sums_of_squares[CHAINS] = {0};
    for (size_t i = first; i < first + each; i += EIGHT)
        for (size_t c = 0; c < CHAINS; c++) {
            const Eight x = eight_load(job->x, i + c * each, f32), apart = missing ? where_there(x, x - center) : x - center;
            sums[c] = sums[c] * decay + apart;
            if (squares) sums_of_squares[c] = sums_of_squares[c] * decay + apart * apart;
        }
    if (squares) *squares = join_chains(job->tables.decay, sums_of_squares, across);
    return join_chains(job->tables.decay, sums, across);
}

/* The state of elements [first, end), a multiple of CHAIN_MULTIPLE, by themselves, all with the weight of a later element. The mean
 * is corrected once, so that equal numbers have it, and no spread, exactly. False if they are not all numbers. */
EIGHT_INLINE bool measure_eights(const Job *job, EwmState *state, bool spread, bool f32, size_t first, size_t end) {
    const EwmCase *rule = &job->rule;
    const double n = (double)(end - first), whole = -expm1(rule->log_q * n) /* 1 - q^n */, share = rule->alpha / whole;
    double squares = 0, mean = share * weigh(job, 0, false, f32, first, end, NULL);
    if (!isfinite(mean)) return false;
    const double step = share * weigh(job, mean, false, f32, first, end, spread ? &squares : NULL);
    mean += step;
    const bool close = step * step <= 0x1p-20 * share * squares; /* little is lost by subtracting */
    if (spread && !close) weigh(job, mean, false, f32, first, end, &squares);
    squares = close ? share * squares - step * step : share * squares;
    if (!isfinite(mean) || !isfinite(squares)) return false;
    *state = (EwmState){.gap = 1,
                        .count = end - first,
                        .weight = rule->adjust ? whole / rule->alpha : whole,
                        .mean = mean,
                        .spread = spread ? squares : 0,
                        .pairs = -2 * rule->q * expm1(rule->log_q * (n - 1)) / ((1 + rule->q) * whole)};
    return true;
}

/* Of elements [first, end) that are not NaN. */
typedef struct Weights {
    double sum, of_squares; /* of their weights, as `weigh` has them, and of the squares of these */
    size_t count, gap;      /* gap: so many elements in a row may be NaN */
    bool within;            /* the limit, all of them */
} Weights;

EIGHT_INLINE Weights weigh_missing(const Job *job, bool f32, size_t first, size_t end) {
    const Eight decay = job->tables.decay, squared = decay * decay;
    const size_t each = (end - first) / CHAINS;
    const double across = exp(job->rule.log_q * (double)each);
    Eight sums[CHAINS] = {0}, of_squares[CHAINS] = {0};
    size_t gap[CHAINS] = {0};
    Weights self = {.within = true};
    for (size_t i = first; i < first + each; i += EIGHT)
        for (size_t c = 0; c < CHAINS; c++) {
            const Eight x = eight_load(job->x, i + c * each, f32), one = where_there(x, eight_of(1));
            const size_t count = count_there(x);
            sums[c] = sums[c] * decay[EIGHT - 1] + one;
            of_squares[c] = of_squares[c] * squared[EIGHT - 1] + one;
            gap[c] = count == 0 ? gap[c] + EIGHT : 0;
            self.gap = gap[c] > self.gap ? gap[c] : self.gap;
            self.count += count;
            self.within &= eight_within(where_there(x, x), job->tables.limit);
        }
    self.gap = 2 * (self.gap + EIGHT); /* where two chains, or two eights, meet */
    self.sum = join_chains(decay, sums, across), self.of_squares = join_chains(squared, of_squares, across * across);
    return self;
}

/* As measure_eights, where some are NaN. */
EIGHT_INLINE bool measure_there(const Job *job, EwmState *state, bool spread, bool f32, size_t first, size_t end) {
    if (!job->rule.adjust || !job->rule.nan_decays) return false;
    const Weights weights = weigh_missing(job, f32, first, end);
    const double weight = weights.sum, pairs = 1 - weights.of_squares / (weight * weight);
    if (!weights.within || weight < WEIGHT_LEAST || exp(job->rule.log_q * (double)weights.gap) < WEIGHT_LEAST) return false;
    double mean = weigh(job, 0, true, f32, first, end, NULL) / weight, squares = 0;
    mean += weigh(job, mean, true, f32, first, end, NULL) / weight;
    if (spread) weigh(job, mean, true, f32, first, end, &squares);
    *state =
        (EwmState){.gap = 1, .count = weights.count, .weight = weight, .mean = mean, .spread = squares / weight, .pairs = pairs};
    return !spread || pairs >= PAIRS_LEAST;
}

/* As measure_eights, where some are not finite: nothing but their sum and the count matters then. */
static bool measure_special(const Job *job, EwmState *state, size_t first, size_t end) {
    *state = (EwmState){.gap = 1, .weight = 1};
    for (size_t i = first; i < end; i++) {
        const double x = ewm_load(job->x, i, job->f32);
        const bool missing = job->rule.nan_decays && isnan(x);
        state->count += !missing;
        if (!missing && !isfinite(x)) state->special += x;
    }
    return state->special != 0 && job->rule.q != 0;
}

EIGHT_INLINE bool measure_as(const Job *job, EwmState *state, bool spread, bool f32, size_t first, size_t end) {
    return measure_eights(job, state, spread, f32, first, end) || measure_there(job, state, spread, f32, first, end);
}

/* Of a block: the state after it is known; or that of its elements by themselves; or neither. */
typedef enum Measured { MEASURED_NOT, MEASURED_ALONE, MEASURED_WHOLE } Measured;

static Measured measure_block(const Job *job, EwmState *state, size_t first, size_t end) {
    for (size_t i = end; job->starts && i-- > first;)
        if (job->starts[i] != 0) {
            walk(job, state, NULL, i, end);
            return MEASURED_WHOLE;
        }
    if (!job->tables.usable) return MEASURED_NOT;
    const bool spread = job->rule.agg != EWM_MEAN, f32 = job->f32;
    const bool known = spread
                           ? f32 ? measure_as(job, state, true, true, first, end) : measure_as(job, state, true, false, first, end)
                       : f32 ? measure_as(job, state, false, true, first, end)
                             : measure_as(job, state, false, false, first, end);
    return known || measure_special(job, state, first, end) ? MEASURED_ALONE : MEASURED_NOT;
}

/* The state `before`, then so many measured elements. */
static EwmState join(const EwmCase *rule, const EwmState *before, const EwmState *after, size_t elements) {
    const double old = before->weight * exp(rule->log_q * (double)elements), total = old + after->weight;
    const double keep = old / total, share = after->weight / total, apart = after->mean - before->mean;
    EwmState self = {.gap = 1, .weight = total, .count = before->count + after->count};
    self.special = before->special + after->special;
    self.mean = apart != 0 ? keep * before->mean + share * after->mean : before->mean;
    self.spread = keep * before->spread + share * after->spread + keep * share * apart * apart;
    self.pairs = keep * keep * before->pairs + share * share * after->pairs + 2 * keep * share;
    return self;
}

/* alone: there is one thread, so the state before a block is always there and measuring would be wasted. */
static void chain_block(const Job *job, size_t block, bool alone, Link *link) {
    const size_t n = job->rule.n, first = block * job->block, end = n - first < job->block ? n : first + job->block;
    EwmState state = {0}, own;
    Measured measured = alone || block == 0 || end == n ? MEASURED_NOT : measure_block(job, &own, first, end);
    if (measured == MEASURED_WHOLE) {
        link->state = own;
        chain_publish(&link->slot);
    }
    if (block > 0) {
        chain_wait(&link[-1].slot);
        state = link[-1].state;
    }
    if (measured == MEASURED_ALONE && (is_plain(&state) || (job->rule.q != 0 && state.special != 0))) {
        link->state = join(&job->rule, &state, &own, end - first);
        chain_publish(&link->slot);
        measured = MEASURED_WHOLE;
    }
    write_block(job, &state, first, end);
    if (measured != MEASURED_WHOLE) {
        link->state = state;
        chain_publish(&link->slot);
    }
}

static size_t blocks_of(size_t n, size_t block) {
    return n / block + (n % block != 0);
}

static void divide_work(Job *job, size_t n, long long threads) {
    job->threads = chain_threads(threads, omp_get_max_threads(), n);
    job->block = chain_block_size(n, job->threads);
}

/* ---- Where earlier elements are soon forgotten, a thread has a stretch of the series: it begins with the state of the elements
 * just before, as if there were none before those. If the state behind each stretch turns out to be that with which the next one
 * began, it is right. */

enum { STRETCH_LEAST = 8 /* times what is remembered */ };

/* Elements after which older ones have a weight of 2^-60, a multiple of CHAIN_MULTIPLE. */
static size_t remembered(const EwmCase *rule) {
    const double elements = -60 * M_LN2 / rule->log_q;
    return elements < 0x1p40 ? ((size_t)elements / CHAIN_MULTIPLE + 1) * CHAIN_MULTIPLE : (size_t)1 << 40;
}

static bool differ(double a, double b, double scale) {
    return !(fabs(a - b) <= scale);
}

/* Up to roundings: those of a mean are of the size of the elements before i; weights stop to grow a little early. */
static bool states_differ(const Job *job, const EwmState *a, const EwmState *b, size_t i) {
    const double near = 0x1p-44;
    double sum = 0;
    for (size_t k = i - CHAIN_MULTIPLE; k < i; k++) sum += fabs(ewm_load(job->x, k, job->f32));
    const double size = fabs(b->mean) + (sum < INFINITY ? sum / CHAIN_MULTIPLE : 0);
    if (!is_plain(b) || differ(a->mean, b->mean, 0x1p-50 * size) || differ(a->weight, b->weight, near * b->weight)) return true;
    if (job->rule.agg == EWM_MEAN) return false;
    return differ(a->spread, b->spread, near * b->spread) || differ(a->pairs, b->pairs, near * b->pairs);
}

/* A stretch by a thread. False if what is before it has no state of its own. */
static bool put_stretch(const Job *job, int thread, int team, EwmState *before, EwmState *after) {
    const size_t n = job->rule.n, each = n / (size_t)team / CHAIN_MULTIPLE * CHAIN_MULTIPLE, first = (size_t)thread * each;
    *before = (EwmState){0};
    if (thread > 0 && (measure_block(job, before, first - remembered(&job->rule), first) != MEASURED_ALONE || !is_plain(before) ||
                       before->count < job->rule.min_periods))
        return false;
    *after = *before;
    write_block(job, after, first, thread + 1 < team ? first + each : n);
    return true;
}

/* False if y is not right. */
static bool put_stretches(const Job *job, Link *links) {
    bool right = true;
    int team = 1;
#pragma omp parallel num_threads(job->threads) reduction(&& : right)
    {
        const int thread = omp_get_thread_num();
        if (thread == 0) team = omp_get_num_threads();
        right = put_stretch(job, thread, omp_get_num_threads(), &links[2 * thread].state, &links[2 * thread + 1].state);
        scan_store_fence();
    }
    const size_t each = job->rule.n / (size_t)team / CHAIN_MULTIPLE * CHAIN_MULTIPLE;
    for (int t = 1; t < team && right; t++)
        right = !states_differ(job, &links[2 * t].state, &links[2 * t - 1].state, (size_t)t * each);
    return right;
}

static Status run(const VariantArgs *args) {
    Job job = {.rule = ewm_case(args), .x = args->in[0].data, .y = args->out[0].data, .f32 = args->problem->dtype == DTYPE_F32};
    job.tables = make_tables(&job.rule);
    if (job.rule.segments) job.starts = args->in[1].data;
    if (job.rule.n == 0) return STATUS_OK;
    divide_work(&job, job.rule.n, params_int(args->tunables, "threads"));
    job.past_caches = array_bytes(&args->out[0]) >= SCAN_PAST_CACHES;
    const size_t blocks = blocks_of(job.rule.n, job.block);
    Link *links = args->scratch;
    if (job.threads > 1 && !job.starts && job.tables.usable &&
        job.rule.n / (size_t)job.threads / STRETCH_LEAST >= remembered(&job.rule) && put_stretches(&job, links))
        return STATUS_OK;
    for (size_t b = 0; b < blocks; b++) atomic_init(&links[b].slot.ready, 0);
#pragma omp parallel num_threads(job.threads)
    {
        const size_t team = (size_t)omp_get_num_threads();
        for (size_t b = (size_t)omp_get_thread_num(); b < blocks; b += team) chain_block(&job, b, team == 1, &links[b]);
        scan_store_fence();
    }
    return STATUS_OK;
}

static size_t scratch_bytes(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    Job job = {0};
    divide_work(&job, n, params_int(args->tunables, "threads"));
    const size_t blocks = blocks_of(n, job.block), states = 2 * (size_t)job.threads;
    return (blocks > states ? blocks : states) * sizeof(Link);
}

static const ParamSpec TUNABLES[] = {
    {"threads", "threads; 0: all cores, fewer where there is little to do", PARAM_INT, "0", 0, 4096, NULL},
    {0},
};

static const DType ACCUMULATES[] = {DTYPE_F64, DTYPE_COUNT};

RUNGS_VARIANT(ewm, cpu_best) = {
    .backend = BACKEND_CPU,
    .summary = "blended shares of eight elements, blocks that hand their state from thread to thread, all cores",
    .origin = "Chan, Golub and LeVeque 1979; the chain of blocks: Yan, Long and Zhang 2013 (StreamScan)",
    .tunables = TUNABLES,
    .accumulates = ACCUMULATES,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
