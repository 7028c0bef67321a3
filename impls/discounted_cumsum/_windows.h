/* _windows.h - sums of k terms on the CPU, for one precision: _windows_f32.c and _windows_f64.c include it.
 *
 * Rows are cut into blocks of k positions. A window is the head of one block, which is the recurrence begun at the block's edge,
 * and the tail of the block before, which is carried over that edge by a product of factors. Nothing is subtracted. */
#pragma once

#include "common/discounted_cumsum/case.h"

#ifdef DCS_F32
typedef float Real;
#else
typedef double Real;
#endif

/* The factor of a carry that has come a long way: a product of gammas. Its sign, and whether it is 0, are kept apart, because a
 * product that underflows is not 0: what it carries stays infinite. */
typedef struct Weight {
    Real size, sign;
    bool cut; /* by a reset: nothing passes */
} Weight;

static inline void weight_step(Weight *self, Real gamma, bool reset) {
    self->size *= gamma;
    self->sign *= (Real)((gamma > 0) - (gamma < 0));
    self->cut |= reset;
}

static inline Real weighted(const Weight *self, Real value) {
    if (self->cut || (value == 0 && isinf(self->size))) return 0;
    return isfinite(value) ? self->size * value : self->sign * value;
}

/* For the outputs after position `end`, the sum of the k - 1 elements before it (end included), seen from `end`: the tail from
 * position t on goes to y at t + k - 1, the last output whose window begins there. An element near `end` meets every addition after
 * its own, up to k of them, however few factors lie between it and the output: so floats are added up in double. */
static inline void tails(const DcsJob *job, const DcsWalk *row, size_t end) {
    const Real *x = (const Real *)job->x + row->first, *gamma = (const Real *)job->gamma + row->gamma_first;
    const uint8_t *reset = job->reset ? job->reset + row->first : NULL;
    Real *y = (Real *)job->y + row->first;
    Weight weight = {.size = 1, .sign = 1};
    double sum = 0;
    for (size_t back = 0; back + 1 < job->k && back <= end; back++) {
        const ptrdiff_t t = (ptrdiff_t)(end - back);
        const size_t to = (size_t)t + job->k - 1;
        sum += (double)weighted(&weight, x[t * row->step]);
        if (to < job->n) y[(ptrdiff_t)to * row->step] = (Real)sum;
        weight_step(&weight, gamma[t * row->gamma_step], reset && reset[t * row->step] != 0);
    }
}

/* The block of a row that begins at position `block`, a multiple of k. */
static inline void window_block(const DcsJob *job, size_t row, size_t block) {
    const DcsWalk walk = dcs_walk(job, row, 0);
    const Real *x = (const Real *)job->x + walk.first, *gamma = (const Real *)job->gamma + walk.gamma_first;
    const uint8_t *reset = job->reset ? job->reset + walk.first : NULL;
    Real *y = (Real *)job->y + walk.first;
    const size_t end = job->n - block < job->k ? job->n : block + job->k;
    Real carry = 0;
    Weight weight = {.size = 1, .sign = 1};
    if (block > 0) tails(job, &walk, block - 1);
    for (size_t position = block; position < end; position++) {
        const bool complete = block == 0 || position + 1 == block + job->k; /* the window lies in its block */
        const ptrdiff_t p = (ptrdiff_t)position, i = p * walk.step;
        const Real g = gamma[p * walk.gamma_step];
        const bool cut = reset && reset[i] != 0;
        carry = cut ? x[i] : x[i] + g * carry;
        weight_step(&weight, g, cut);
        y[i] = complete ? carry : carry + weighted(&weight, y[i]);
    }
}
