/* _shared.h - what the CPU variants of discounted_cumsum_grad share: the case, the adjoint recurrence as a DcsJob, and sums of k
 * terms.
 *
 * y[p] = x[p] + g[p] y[p-1] in reading order. dx is the adjoint z[p] = dy[p] + g[p+1] z[p+1]; and
 * dgamma[p] = z[p] y[p-1]. A reset at p cuts the carry between p and p - 1, both ways. */
#pragma once

#include "common/discounted_cumsum/stretch.h"

typedef struct DcsGradient {
    DcsJob forward; /* y is where the caller wants it */
    DcsJob adjoint; /* z to dx, from position 1; gamma and reset are those of the element read before */
    const void *dy;
    void *dx, *dgamma;
} DcsGradient;

static inline DcsGradient dcs_gradient(const VariantArgs *args) {
    DcsGradient self = {.forward = dcs_job(args), .dy = args->in[2].data, .dx = args->out[0].data, .dgamma = args->out[1].data};
    self.forward.reset = dcs_reset(args, 3);
    self.adjoint = self.forward;
    self.adjoint.right = !self.forward.right;
    self.adjoint.x = self.dy;
    self.adjoint.y = self.dx;
    const ptrdiff_t before = self.forward.right ? -1 : 1;
    const ptrdiff_t bytes = before * (ptrdiff_t)self.forward.gamma_element * (ptrdiff_t)dtype_size(args->problem->dtype);
    self.adjoint.gamma = (const char *)self.forward.gamma + bytes;
    if (self.forward.reset) self.adjoint.reset = self.forward.reset + before;
    return self;
}

static inline void dcs_put(void *array, size_t element, bool f32, double value) {
    if (f32)
        ((float *)array)[element] = (float)value;
    else
        ((double *)array)[element] = value;
}

/* z of position 0 of the adjoint: nothing is carried into it. */
static inline void dcs_adjoint_entry(const DcsGradient *self, size_t row) {
    const size_t element = dcs_walk(&self->adjoint, row, 0).first;
    dcs_put(self->dx, element, self->forward.f32, dcs_value(self->dy, element, self->forward.f32));
}

/* Beyond the range of double a carry over k - 1 factors is an infinity, and a NaN times a sum of 0. */
static inline bool dcs_gradient_fits(const VariantArgs *args, char reason[REASON_MAX]) {
    const DcsJob job = dcs_job(args);
    return job.k == 0 || discount_power_fits(args, job.k - 1, DTYPE_F64, reason);
}

/* Sums of k terms: each window by its own forward and backward recurrence, k steps; what they add to positions [from, end) of a row
 * is written there. partial: k doubles. Returns the sum of dgamma. */
static inline double dcs_gradient_windows(const DcsGradient *self, size_t row, size_t from, size_t end, double *partial, double *dx,
                                          double *dgamma) {
    const DcsJob *job = &self->forward;
    const DcsWalk walk = dcs_walk(job, row, 0);
    double sum = 0;
    for (size_t p = from; p < end; p++) dx[p - from] = dgamma[p - from] = 0;
    for (size_t p = from; p < job->n && p - from < end - from + job->k - 1; p++) {
        size_t far = p + 1 < job->k ? 0 : p + 1 - job->k, cut = p;
        while (job->reset && cut > far && job->reset[dcs_further(walk, cut).first] == 0) cut--;
        if (job->reset) far = cut;
        for (size_t t = far; t < p; t++) {
            const DcsWalk at = dcs_further(walk, t);
            const double x = dcs_value(job->x, at.first, job->f32);
            partial[t - far] = t == far ? x : x + dcs_value(job->gamma, at.gamma_first, job->f32) * partial[t - far - 1];
        }
        double z = dcs_value(self->dy, dcs_further(walk, p).first, job->f32);
        for (size_t t = p + 1; t-- > far && t >= from;) {
            if (t < end) dx[t - from] += z;
            if (t == far) break;
            if (t < end) dgamma[t - from] += z * partial[t - 1 - far];
            z *= dcs_value(job->gamma, dcs_further(walk, t).gamma_first, job->f32);
        }
    }
    for (size_t p = from; p < end; p++) {
        const size_t element = dcs_further(walk, p).first;
        dcs_put(self->dx, element, job->f32, dx[p - from]);
        if (job->gamma_element) dcs_put(self->dgamma, element, job->f32, dgamma[p - from]);
        sum += dgamma[p - from];
    }
    return sum;
}
