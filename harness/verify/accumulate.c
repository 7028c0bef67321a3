#include "verify/accumulate.h"

#include "base/memory.h"
#include "base/numbers.h"

#include <stdlib.h>

static Status widen(const Array *from, Array *to) {
    const size_t count = array_count(from);
    *to = *from;
    to->dtype = DTYPE_F32;
    to->data = hostmemory_allocate(array_bytes(to));
    if (!to->data) return status_fail(STATUS_MEMORY, "no memory for '%s' in f32: %zu bytes", from->name, array_bytes(to));
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count; i++) ((float *)to->data)[i] = (float)number_at(from, i);
    return STATUS_OK;
}

Status accumulated_open(const Op *op, const Case *problem, const Array *in, Accumulated *out) {
    *out = (Accumulated){.problem = *problem};
    for (int i = 0; i < op->in_count; i++) out->in[i] = in[i];
    if (!dtype_is_narrow(problem->dtype)) return STATUS_OK;
    out->problem.dtype = DTYPE_F32;
    for (int i = 0; i < op->in_count; i++) {
        if (!dtype_is_narrow(in[i].dtype)) continue;
        const Status status = widen(&in[i], &out->in[i]);
        if (status != STATUS_OK) {
            accumulated_close(out);
            return status;
        }
        out->copy[out->copies++] = out->in[i].data;
    }
    return STATUS_OK;
}

void accumulated_close(Accumulated *self) {
    while (self->copies > 0) free(self->copy[--self->copies]);
}

/* Rounding keeps the order of numbers: what is within the tolerance becomes what lies between the ends of it, rounded. */
static void round_element(NarrowForm form, double *value, double *tolerance) {
    const double below = narrow_nearest(form, *value - *tolerance), above = narrow_nearest(form, *value + *tolerance);
    if (!isfinite(*value)) return;
    const bool overflows = below >= narrow_end(form) || above <= -narrow_end(form);
    *tolerance = overflows ? 0 : fmax(*value - below, above - *value);
    if (overflows) *value = copysign(INFINITY, *value);
}

Status accumulated_reference(const Op *op, const Case *problem, const Array *in, const Array *out, int bound,
                             Reference *reference) {
    Accumulated wide;
    TRY(accumulated_open(op, problem, in, &wide));
    const Status status = op->reference(&wide.problem, wide.in, bound, reference);
    accumulated_close(&wide);
    TRY(status);
    accumulated_round(op, out, reference);
    return STATUS_OK;
}

void accumulated_round(const Op *op, const Array *out, Reference *reference) {
    for (int o = 0; o < op->out_count; o++) {
        const size_t count = dtype_is_narrow(out[o].dtype) ? array_count(&out[o]) : 0;
        const NarrowForm form = narrow_form(out[o].dtype);
#pragma omp parallel for schedule(static)
        for (size_t i = 0; i < count; i++) round_element(form, &reference[o].value[i], &reference[o].tolerance[i]);
    }
}
