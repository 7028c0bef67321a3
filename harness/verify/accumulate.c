#include "verify/accumulate.h"

#include "base/memory.h"
#include "base/numbers.h"

#include <stdlib.h>

/* What the op sees. */
static DType seen_as(const Case *problem) {
    const DType sums = case_sums(problem);
    return dtype_is_narrow(sums) ? DTYPE_F32 : sums;
}

static Status widen(const Array *from, DType dtype, Array *to) {
    const size_t count = array_count(from);
    *to = *from;
    to->dtype = dtype;
    to->data = hostmemory_allocate(array_bytes(to));
    if (!to->data)
        return status_fail(STATUS_MEMORY, "no memory for '%s' in %s: %zu bytes", from->name, dtype_name(dtype), array_bytes(to));
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count; i++) number_set(dtype, to->data, i, number_at(from, i));
    return STATUS_OK;
}

Status accumulated_open(const Op *op, const Case *problem, const Array *in, Accumulated *out) {
    *out = (Accumulated){.problem = *problem};
    for (int i = 0; i < op->in_count; i++) out->in[i] = in[i];
    const DType dtype = seen_as(problem);
    if (dtype == problem->dtype) return STATUS_OK;
    out->problem.dtype = dtype;
    for (int i = 0; i < op->in_count; i++) {
        if (dtype_unit_roundoff(in[i].dtype) <= dtype_unit_roundoff(dtype)) continue;
        const Status status = widen(&in[i], dtype, &out->in[i]);
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
    accumulated_round(op, problem, out, reference);
    return STATUS_OK;
}

void accumulated_round(const Op *op, const Case *problem, const Array *out, Reference *reference) {
    const DType dtype = seen_as(problem);
    if (dtype == problem->dtype) return;
    for (int o = 0; o < op->out_count; o++) {
        const bool narrower = dtype_unit_roundoff(out[o].dtype) > dtype_unit_roundoff(dtype);
        const size_t count = narrower ? array_count(&out[o]) : 0;
        const NarrowForm form = narrow_form(out[o].dtype);
#pragma omp parallel for schedule(static)
        for (size_t i = 0; i < count; i++) round_element(form, &reference[o].value[i], &reference[o].tolerance[i]);
    }
}
