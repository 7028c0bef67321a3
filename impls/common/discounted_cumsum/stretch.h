/* stretch.h - a stretch of a row, eight positions at a time and in double: for cpu_best of both ops.
 *
 * In a vector the recurrence is a scan of three steps, y += gamma^s (y s lanes before); then one product adds what is carried in,
 * and the carry itself goes from vector to vector by one fused operation. Where a sum is not finite, or beyond the dtype, the eight
 * are done again one after the other, so that NaN and infinities go where the recurrence takes them. */
#pragma once

#include "common/cpu_eight.h"
#include "common/discounted_cumsum/case.h"

#include <float.h>

/* Powers of a gamma that all elements of a row share. */
typedef struct DcsPowers {
    Eight lanes;  /* what the carry into a vector is worth in each lane */
    double by[4]; /* gamma^1, ^2, ^4, ^8 */
    double limit; /* sums of this size are done one by one: the dtype's largest, or -1 if the powers leave the range of double */
} DcsPowers;

static inline double dcs_value(const void *array, size_t element, bool f32) {
    return f32 ? (double)((const float *)array)[element] : ((const double *)array)[element];
}

static inline double dcs_limit(bool f32) {
    return f32 ? (double)FLT_MAX : DBL_MAX;
}

static inline DcsPowers dcs_powers(double gamma, bool right, bool f32) {
    DcsPowers self = {.by = {gamma, gamma * gamma}, .limit = dcs_limit(f32)};
    self.by[2] = self.by[1] * self.by[1];
    self.by[3] = self.by[2] * self.by[2];
    double power = gamma;
    for (int l = 0; l < EIGHT; l++, power *= gamma) self.lanes[right ? EIGHT - 1 - l : l] = power;
    const double last = fabs(self.by[3]);
    if (gamma != 0 && !(last >= 0x1p-900 && last <= 0x1p900)) self.limit = -1;
    return self;
}

/* One position after the other; NULL y: nothing is written. Returns the carry. */
static inline double dcs_one_by_one(const DcsJob *job, const DcsWalk *at, size_t count, void *y, double carry) {
    const double limit = dcs_limit(job->f32);
    for (size_t p = 0; p < count; p++) {
        const size_t element = (size_t)((ptrdiff_t)at->first + (ptrdiff_t)p * at->step);
        const double gamma = dcs_value(job->gamma, (size_t)((ptrdiff_t)at->gamma_first + (ptrdiff_t)p * at->gamma_step), job->f32);
        const double x = dcs_value(job->x, element, job->f32);
        carry = job->reset && job->reset[element] != 0 ? x : x + gamma * carry;
        if (fabs(carry) > limit) carry = job->f32 ? (double)(float)carry : carry; /* once beyond the dtype, always beyond it */
        if (y && job->f32) ((float *)y)[element] = (float)carry;
        if (y && !job->f32) ((double *)y)[element] = carry;
    }
    return carry;
}

/* The walk, `positions` further on. */
EIGHT_INLINE DcsWalk dcs_further(DcsWalk at, size_t positions) {
    at.first = (size_t)((ptrdiff_t)at.first + (ptrdiff_t)positions * at.step);
    at.gamma_first = (size_t)((ptrdiff_t)at.gamma_first + (ptrdiff_t)positions * at.gamma_step);
    return at;
}

EIGHT_INLINE double dcs_fused(double a, double b, double c) {
#ifdef __FMA__
    return __builtin_fma(a, b, c);
#else
    return a * b + c;
#endif
}

/* Positions before the first eight of y that lie in memory as vectors do. */
EIGHT_INLINE size_t dcs_unaligned(const DcsJob *job, DcsWalk at, size_t count) {
    const size_t from = (uintptr_t)job->y / (job->f32 ? sizeof(float) : sizeof(double)) + at.first;
    const size_t positions = (job->right ? from + 1 : EIGHT - from % EIGHT) % EIGHT;
    return positions < count ? positions : count;
}

/* `count` positions from `at`. write: to job->y. own: every element has its own factor, because gamma does or because of a mask.
 * Returns the carry; *weight: what the carry into the stretch is worth at its end (own only). */
EIGHT_INLINE double dcs_stretch_as(const DcsJob *job, bool f32, bool right, bool own, bool write, DcsWalk at, size_t count,
                                   double carry, double *weight) {
    const DcsPowers powers = dcs_powers(own ? 1 : dcs_value(job->gamma, at.gamma_first, f32), right, f32);
    const Eight zero = eight_of(0), one = eight_of(1);
    const Eight shared = eight_of(dcs_value(job->gamma, at.gamma_first, f32));
    double passed = 1;
    size_t p = write && job->past_caches ? dcs_unaligned(job, at, count) : 0;
    if (p > 0) carry = dcs_one_by_one(job, &at, p, job->y, carry);
    for (; p + EIGHT <= count; p += EIGHT) {
        const DcsWalk here = dcs_further(at, p);
        const size_t low = right ? here.first - (EIGHT - 1) : here.first;
        Eight y = eight_load(job->x, low, f32), factor = powers.lanes;
        if (own) {
            factor = shared;
            if (at.gamma_step != 0) factor = eight_load(job->gamma, right ? here.gamma_first - (EIGHT - 1) : here.gamma_first, f32);
            if (job->reset) factor = (Eight)((EightMask)factor & eight_where_zero(job->reset + low));
        }
        for (int s = 0; s < 3; s++) {
            const Eight earlier = eight_earlier(y, zero, 1 << s, right);
            y += own ? factor * earlier : earlier * powers.by[s];
            if (own) factor *= eight_earlier(factor, one, 1 << s, right);
        }
        const double through = own ? eight_last(factor, right) : powers.by[3], total = eight_last(y, right);
        y += factor * carry;
        if (own) passed *= through;
        const bool fine = eight_within(y, powers.limit) || (!job->reset && carry != carry);
        if (__builtin_expect(!fine, 0)) {
            carry = dcs_one_by_one(job, &here, EIGHT, write ? job->y : NULL, carry);
            continue;
        }
        carry = dcs_fused(through, carry, total);
        if (write) eight_store(job->y, low, f32, y, job->past_caches);
    }
    const DcsWalk rest = dcs_further(at, p);
    if (p < count) carry = dcs_one_by_one(job, &rest, count - p, write ? job->y : NULL, carry);
    *weight = passed;
    return carry;
}

/* `write` is a constant at each call, so that each of the eight loops is compiled for its case. */
EIGHT_INLINE double dcs_stretch(const DcsJob *job, bool write, DcsWalk at, size_t count, double carry, double *weight) {
    const bool own = at.gamma_step != 0 || job->reset != NULL;
#define STRETCH(f32, right)                                                                                                        \
    (own ? dcs_stretch_as(job, f32, right, true, write, at, count, carry, weight)                                                  \
         : dcs_stretch_as(job, f32, right, false, write, at, count, carry, weight))
    if (job->f32) return job->right ? STRETCH(true, true) : STRETCH(true, false);
    return job->right ? STRETCH(false, true) : STRETCH(false, false);
#undef STRETCH
}

/* Writes `count` positions from `at`; returns the carry at the end. */
static inline double dcs_write(const DcsJob *job, DcsWalk at, size_t count, double carry) {
    double weight;
    return dcs_stretch(job, true, at, count, carry, &weight);
}

/* The carry out of a stretch of a multiple of eight with a carry in of 0, and the factor of a carry in at its end. */
static inline double dcs_measure(const DcsJob *job, DcsWalk at, size_t count, double *weight) {
    if (at.gamma_step == 0 && !job->reset) {
        double passed;
        const double end = dcs_stretch_as(job, job->f32, job->right, false, false, at, count, 0, &passed);
        *weight = pow(dcs_value(job->gamma, at.gamma_first, job->f32), (double)count);
        return end;
    }
    return dcs_stretch(job, false, at, count, 0, weight);
}

static inline size_t dcs_blocks(size_t count, size_t block) {
    return count / block + (count % block != 0);
}
