/* scan_support.h - a case of any op with its inputs and its reference, for the tests of discounted_cumsum, its gradient and ewm. */
#pragma once

#include "op.h"
#include "plan/case.h"
#include "plan/registry.h"
#include "verify/families.h"
#include "verify/norms.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct Scan {
    char text[CASE_TEXT_MAX];
    const Op *op;
    Case problem;
    Array in[OP_MAX_ARRAYS], out[OP_MAX_ARRAYS];
    Reference reference[OP_MAX_ARRAYS];
    size_t n, batch;
} Scan;

static inline double array_get(const Array *array, size_t i) {
    if (array->dtype == DTYPE_U8) return ((const unsigned char *)array->data)[i];
    return array->dtype == DTYPE_F32 ? (double)((const float *)array->data)[i] : ((const double *)array->data)[i];
}

static inline void array_set(Array *array, size_t i, double value) {
    if (array->dtype == DTYPE_U8)
        ((unsigned char *)array->data)[i] = (unsigned char)value;
    else if (array->dtype == DTYPE_F32)
        ((float *)array->data)[i] = (float)value;
    else
        ((double *)array->data)[i] = value;
}

static inline Array *scan_array(Scan *self, const char *name) {
    for (int i = 0; i < self->op->in_count; i++)
        if (strcmp(self->in[i].name, name) == 0) return &self->in[i];
    fail_msg("%s has no input '%s'", self->op->name, name);
    return NULL;
}

static inline void scan_reference(Scan *self, int bound) {
    if (self->op->reference(&self->problem, self->in, bound, self->reference) != STATUS_OK)
        fail_msg("%s: %s", self->text, status_message());
}

/* The case, its inputs as the seed makes them, memory for outputs and reference. */
static inline Scan scan_open(const char *format, ...) {
    Scan self = {0};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(self.text, sizeof self.text, format, arguments);
    va_end(arguments);
    if (case_parse(self.text, &self.problem) != STATUS_OK) fail_msg("%s: %s", self.text, status_message());
    assert_int_equal(registry_require_op(self.problem.op, &self.op), STATUS_OK);
    if (self.op->shapes(&self.problem, self.in, self.out) != STATUS_OK) fail_msg("%s: %s", self.text, status_message());
    self.n = params_has(&self.problem.params, "n") ? (size_t)params_int(&self.problem.params, "n") : 0;
    self.batch = params_has(&self.problem.params, "batch") ? (size_t)params_int(&self.problem.params, "batch") : 1;
    for (int i = 0; i < self.op->in_count; i++) {
        self.in[i].data = malloc(array_bytes(&self.in[i]) + 1);
        if (family_input(self.op, &self.problem, i, &self.in[i]) != STATUS_OK) fail_msg("%s: %s", self.text, status_message());
    }
    for (int i = 0; i < self.op->out_count; i++) {
        self.out[i].data = malloc(array_bytes(&self.out[i]) + 1);
        self.reference[i].value = malloc(array_count(&self.out[i]) * sizeof(double) + 1);
        self.reference[i].tolerance = malloc(array_count(&self.out[i]) * sizeof(double) + 1);
    }
    return self;
}

static inline void scan_close(Scan *self) {
    for (int i = 0; i < self->op->in_count; i++) free(self->in[i].data);
    for (int i = 0; i < self->op->out_count; i++) {
        free(self->out[i].data);
        free(self->reference[i].value);
        free(self->reference[i].tolerance);
    }
}

/* Output `index` against its reference. */
static inline bool scan_passes(const Scan *self, int index, char *why, size_t size) {
    ErrorReport report;
    norms_compare(&self->out[index], self->reference[index].value, self->reference[index].tolerance, &report);
    norms_explain(&report, self->out[index].name, NULL, why, size);
    return report.pass;
}

static inline bool same_value(double a, double b) {
    return (isnan(a) && isnan(b)) || a == b;
}

/* Is a reference what it should be, but for some of its last places and a millionth of the tolerance? NaN and infinities: exactly,
 * and without a tolerance. */
static inline bool reference_agrees(double value, double expected, double relative, double tolerance) {
    if (!isfinite(expected) || !isfinite(value)) return same_value(value, expected) && tolerance == 0;
    return tolerance >= 0 && fabs(value - expected) <= relative * fabs(expected) + 0x1p-20 * tolerance + 0x1p-1074;
}
