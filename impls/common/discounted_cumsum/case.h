/* case.h - the case as loops over rows see it on the CPU, and the powers of gamma that sums of k terms need.
 *
 * Positions: a row is walked in reading order, in which the sum is carried: from the last element to the first for `right`, from
 * the first to the last for `left`. Position p is the element `p * step` from the first one read; the carry into p comes from p
 * - 1. */
#pragma once

#include "variant.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum { DCS_X, DCS_GAMMA, DCS_INITIAL, DCS_RESET }; /* the inputs of discounted_cumsum */

typedef struct DcsJob {
    const void *x, *gamma;
    const uint8_t *reset; /* NULL: none */
    void *y;
    size_t rows, n;
    size_t k; /* terms of a sum; 0: all */
    bool right, f32;
    size_t row_step, step;           /* elements between rows, and between those of a row: n and 1, unless rows are columns */
    size_t gamma_row, gamma_element; /* the same of gamma: 0 where one value serves all */
    size_t block;                    /* cpu_best: rows longer than this are cut into blocks */
    int threads;                     /* cpu_best */
    bool past_caches;                /* cpu_best: y is too large to stay in a cache */
} DcsJob;

/* One row, or several below each other, from the first element read. Offsets are in elements. */
typedef struct DcsWalk {
    size_t first; /* in x, y and reset */
    size_t gamma_first;
    ptrdiff_t step, gamma_step;
} DcsWalk;

/* Everything but reset, which is not in the same place in all ops. */
static inline DcsJob dcs_job(const VariantArgs *args) {
    const Array *x = &args->in[DCS_X], *gamma = &args->in[DCS_GAMMA];
    const Params *params = &args->problem->params;
    const bool columns = params_has(params, "layout") && params_choice(params, "layout") == 1;
    DcsJob job = {.x = x->data, .gamma = gamma->data, .rows = x->shape[columns], .n = x->shape[!columns]};
    job.row_step = columns ? 1 : job.n;
    job.step = columns ? job.rows : 1;
    job.y = args->out[0].data;
    job.k = (size_t)params_int(params, "k");
    if (job.k > job.n) job.k = 0;
    job.right = params_choice(params, "direction") == 0;
    job.f32 = args->problem->dtype == DTYPE_F32;
    const int per = params_choice(params, "gamma_per"); /* all, row, element */
    job.gamma_row = per == 0 ? 0 : per == 1 ? 1 : job.row_step;
    job.gamma_element = per == 2 ? job.step : 0;
    return job;
}

static inline const uint8_t *dcs_reset(const VariantArgs *args, int index) {
    return params_choice(&args->problem->params, "reset") == 0 ? NULL : (const uint8_t *)args->in[index].data;
}

/* Does gamma^exponent fit its type? A variant that weights parts of a window by a power beyond the range of `products` computes an
 * infinity or a NaN for an ordinary sum. Only the parameter is known before a run, so this checks one gamma shared by all. */
static inline bool discount_power_fits(const VariantArgs *args, size_t exponent, DType products, char reason[REASON_MAX]) {
    const Params *params = &args->problem->params;
    if (params_choice(params, "gamma_per") != 0) return true;
    const double written = params_real(params, "gamma"), most = products == DTYPE_F32 ? (double)FLT_MAX : DBL_MAX;
    const double gamma = fabs(args->problem->dtype == DTYPE_F32 ? (double)(float)written : written);
    if (pow(gamma, (double)exponent) <= most) return true;
    return variant_refuse(reason, "gamma=%g k=%lld: this variant weights by up to |gamma|^%zu, beyond the range of %s", written,
                          params_int(params, "k"), exponent, dtype_name(products));
}

/* The largest power between the far end of a window and its sum, where rows of n are cut into blocks of k. */
static inline size_t discount_block_exponent(size_t n, size_t k) {
    return k < 2 ? 0 : n - k >= k - 1 ? k - 1 : k - 2;
}

/* For variants that weight blocks of k positions in the dtype (discounted_cumsum/_windows.h). */
static inline bool dcs_blocks_fit(const VariantArgs *args, char reason[REASON_MAX]) {
    const DcsJob job = dcs_job(args);
    return job.k == 0 || discount_power_fits(args, discount_block_exponent(job.n, job.k), args->problem->dtype, reason);
}

/* The r-th row to be walked: from the last on where rows are read from their ends, so that memory is read in one direction, which
 * hardware prefetches. */
static inline size_t dcs_row(const DcsJob *job, size_t r) {
    return job->right ? job->rows - 1 - r : r;
}

/* From position `from` of a row. */
static inline DcsWalk dcs_walk(const DcsJob *job, size_t row, size_t from) {
    const size_t element = job->right ? job->n - 1 - from : from;
    const ptrdiff_t step = (ptrdiff_t)job->step;
    DcsWalk walk = {.first = row * job->row_step + element * job->step,
                    .gamma_first = row * job->gamma_row + element * job->gamma_element};
    walk.step = job->right ? -step : step;
    walk.gamma_step = job->gamma_element ? walk.step : 0;
    return walk;
}

/* The element at position p from where a walk begins. */
static inline size_t dcs_element(DcsWalk walk, size_t p) {
    return walk.first + (size_t)((ptrdiff_t)p * walk.step);
}
