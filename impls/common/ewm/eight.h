/* eight.h - ewm for eight elements at a time, where all are numbers of one series: what ewm/cpu_best is made of.
 *
 * The shares of eight elements among themselves are the same everywhere, so they are tables: three steps blend each lane with the
 * lane 1, 2, 4 before it, and one more with the state. Once the weight of the state has stopped growing, its shares are constants
 * too. */
#ifndef RUNGS_IMPLS_EWM_EIGHT_H
#define RUNGS_IMPLS_EWM_EIGHT_H

#include "common/cpu_eight.h"
#include "common/ewm/steps.h"

/* Lane l stands for elements 0 to l of the eight. */
typedef struct EwmTables {
    Eight decay;         /* q^(l+1) */
    Eight weight, pairs; /* of the lane's elements: their weights at the last of them; 1 - sum w^2 / (sum w)^2 */
    Eight keep[3];       /* share of the earlier lane in each of the three steps; 0 where there is none */
    double limit;        /* elements beyond it are done one by one: their squares, or differences, may overflow */
    bool usable;
} EwmTables;

/* Weight of `count` elements at the last of them. */
static inline double ewm_weight(const EwmCase *rule, int count) {
    double sum = 0;
    for (int j = 0; j < count; j++) sum = sum * rule->q + 1;
    return rule->adjust ? sum : rule->alpha * sum;
}

static inline EwmTables ewm_tables(const EwmCase *rule) {
    EwmTables self = {.limit = rule->agg == EWM_MEAN ? 0x1p900 : 0x1p450, .usable = rule->q == 0 || rule->q > 0x1p-100};
    double decay = 1, pairs = 0;
    for (int l = 0; l < EIGHT; l++) {
        self.decay[l] = decay *= rule->q;
        self.weight[l] = ewm_weight(rule, l + 1);
        const double share = ewm_weight(rule, 1) / self.weight[l],
                     keep = l == 0 ? 0 : rule->q * self.weight[l - 1] / self.weight[l];
        self.pairs[l] = pairs = keep * (keep * pairs + 2 * share);
        for (int s = 0; s < 3; s++) {
            const int steps = 1 << s, own = l + 1 < steps ? l + 1 : steps, before = l + 1 - own < steps ? l + 1 - own : steps;
            const double old = pow(rule->q, own) * ewm_weight(rule, before);
            self.keep[s][l] = before == 0 ? 0 : old / (old + ewm_weight(rule, own));
        }
    }
    return self;
}

/* How the state and the eight share the weight, lane by lane. */
typedef struct EwmShares {
    Eight keep, share, both, unbias; /* both: keep * share; unbias: 1 / pairs */
    bool steady;                     /* the same for the next eight */
} EwmShares;

EIGHT_INLINE void ewm_shares(const EwmTables *tables, bool spread, EwmState *state, EwmShares *self) {
    const Eight old = tables->decay * state->weight, total = old + tables->weight, per_total = 1 / total;
    const double weight = total[EIGHT - 1];
    self->keep = old * per_total;
    self->share = tables->weight * per_total;
    self->both = self->keep * self->share;
    self->steady = fabs(weight - state->weight) <= 0x1p-52 * weight;
    state->weight = weight;
    if (!spread) return;
    const Eight pairs = self->keep * self->keep * state->pairs + self->share * self->share * tables->pairs + 2 * self->both;
    self->steady = self->steady && fabs(pairs[EIGHT - 1] - state->pairs) <= 0x1p-52 * pairs[EIGHT - 1];
    self->unbias = 1 / pairs;
    state->pairs = pairs[EIGHT - 1];
}

EIGHT_INLINE Eight ewm_root(Eight v) {
#if defined __AVX512F__
    return (Eight)_mm512_sqrt_pd((__m512d)v);
#else
    for (int l = 0; l < EIGHT; l++) v[l] = sqrt(v[l]);
    return v;
#endif
}

/* Eight elements into the state; returns the eight outputs. */
EIGHT_INLINE Eight ewm_take(const EwmTables *tables, EwmAgg agg, EwmState *state, const EwmShares *shares, Eight x) {
    const bool spread = agg != EWM_MEAN;
    Eight mean = x, squares = eight_of(0);
    for (int s = 0; s < 3; s++) {
        const Eight keep = tables->keep[s], apart = eight_earlier(mean, mean, 1 << s, false) - mean;
        if (spread) {
            const Eight older = eight_earlier(squares, squares, 1 << s, false);
            squares = keep * older + (1 - keep) * (squares + keep * apart * apart);
        }
        mean += keep * apart;
    }
    const Eight apart = mean - state->mean, blended = shares->keep * state->mean + shares->share * mean;
    const Eight spreads = shares->keep * state->spread + shares->share * squares + shares->both * apart * apart;
    state->mean = shares->keep[EIGHT - 1] * state->mean + shares->share[EIGHT - 1] * mean[EIGHT - 1];
    if (!spread) return blended;
    state->spread = spreads[EIGHT - 1];
    return agg == EWM_STD ? ewm_root(spreads * shares->unbias) : spreads * shares->unbias;
}

EIGHT_INLINE bool ewm_starts_here(const uint8_t *starts, size_t i) {
    uint64_t eight = 0;
    if (starts) memcpy(&eight, starts + i, sizeof eight);
    return eight != 0;
}

/* Elements [first, end) of x to y. */
EIGHT_INLINE void ewm_write_as(const EwmCase *rule, const EwmTables *tables, EwmAgg agg, bool f32, EwmState *state, const void *x,
                               const uint8_t *starts, void *y, size_t first, size_t end) {
    EwmShares shares = {.steady = false};
    size_t i = first;
    for (; i + EIGHT <= end; i += EIGHT) {
        const Eight v = eight_load(x, i, f32);
        const bool steps = !(state->count > 0 && state->gap == 1 && state->special == 0);
        if (__builtin_expect(steps || ewm_starts_here(starts, i) || !eight_within(v, tables->limit), 0)) {
            ewm_walk(rule, state, x, starts, y, f32, i, i + EIGHT);
            shares.steady = false;
            continue;
        }
        if (!shares.steady) ewm_shares(tables, agg != EWM_MEAN, state, &shares);
        const Eight out = ewm_take(tables, agg, state, &shares, v);
        eight_store(y, i, f32, out);
        if (__builtin_expect(state->count + 1 < rule->min_periods, 0))
            for (size_t l = 0; l < EIGHT && state->count + l + 1 < rule->min_periods; l++)
                ewm_store(y, i + l, f32, rule->incomplete);
        state->count += EIGHT;
    }
    ewm_walk(rule, state, x, starts, y, f32, i, end);
}

/* What elements [first, end), a multiple of eight, amount to by themselves, all with the weight of a later element. False if they
 * are not all numbers of one series. */
EIGHT_INLINE bool ewm_measure_as(const EwmTables *tables, bool spread, bool f32, EwmState *state, const void *x,
                                 const uint8_t *starts, size_t first, size_t end) {
    EwmShares shares = {.steady = false};
    *state = (EwmState){.gap = 1, .count = end - first};
    for (size_t i = first; i < end; i += EIGHT) {
        const Eight v = eight_load(x, i, f32);
        if (ewm_starts_here(starts, i) || !eight_within(v, tables->limit)) return false;
        if (!shares.steady) ewm_shares(tables, spread, state, &shares);
        ewm_take(tables, spread ? EWM_VAR : EWM_MEAN, state, &shares, v);
    }
    return true;
}

/* The state `before` and then `after`, which ewm_measure_as made. */
static inline EwmState ewm_join(const EwmCase *rule, const EwmState *before, const EwmState *after) {
    const double old = before->weight * exp(rule->log_q * (double)after->count), total = old + after->weight;
    const double keep = old / total, share = after->weight / total, apart = after->mean - before->mean;
    EwmState self = {.gap = 1, .weight = total, .count = before->count + after->count};
    self.mean = keep * before->mean + share * after->mean;
    self.spread = keep * before->spread + share * after->spread + keep * share * apart * apart;
    self.pairs = keep * keep * before->pairs + share * share * after->pairs + 2 * keep * share;
    return self;
}

#endif
