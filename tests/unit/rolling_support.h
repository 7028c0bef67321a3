/* rolling_support.h - a rolling case with its input and its reference, for the tests of the op and of its variants. */
#pragma once

#include "op.h"
#include "plan/case.h"
#include "verify/families.h"
#include "verify/norms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

extern const Op rungs_op_rolling;

typedef struct Rolling {
    char text[CASE_TEXT_MAX];
    Case problem;
    Array x, y;
    size_t n, window;
    Reference reference;
} Rolling;

static inline double rolling_x(const Rolling *self, size_t i) {
    return self->x.dtype == DTYPE_F32 ? (double)((const float *)self->x.data)[i] : ((const double *)self->x.data)[i];
}

static inline void rolling_set_x(Rolling *self, size_t i, double value) {
    if (self->x.dtype == DTYPE_F32)
        ((float *)self->x.data)[i] = (float)value;
    else
        ((double *)self->x.data)[i] = value;
}

static inline double rolling_y(const Rolling *self, size_t i) {
    return self->y.dtype == DTYPE_F32 ? (double)((const float *)self->y.data)[i] : ((const double *)self->y.data)[i];
}

static inline void rolling_reference_of(Rolling *self, int bound) {
    if (rungs_op_rolling.reference(&self->problem, &self->x, bound, &self->reference) != STATUS_OK)
        fail_msg("%s: %s", self->text, status_message());
}

/* The case, its input from its family, memory for its output; no reference yet. */
static inline Rolling rolling_open(const char *format, ...) {
    Rolling self = {0};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(self.text, sizeof self.text, format, arguments);
    va_end(arguments);
    if (case_parse(self.text, &self.problem) != STATUS_OK) fail_msg("%s: %s", self.text, status_message());
    assert_int_equal(rungs_op_rolling.shapes(&self.problem, &self.x, &self.y), STATUS_OK);
    self.n = array_count(&self.x);
    self.window = (size_t)params_int(&self.problem.params, "window");
    self.x.data = malloc(self.n * sizeof(double) + 1);
    self.y.data = malloc(self.n * sizeof(double) + 1);
    self.reference.value = malloc(self.n * sizeof(double) + 1);
    self.reference.tolerance = malloc(self.n * sizeof(double) + 1);
    if (family_fill(&self.problem, 0, &self.x) != STATUS_OK) fail_msg("%s: %s", self.text, status_message());
    return self;
}

static inline void rolling_close(Rolling *self) {
    free(self->x.data);
    free(self->y.data);
    free(self->reference.value);
    free(self->reference.tolerance);
}

/* The output against the reference. */
static inline bool rolling_passes(const Rolling *self, char *why, size_t size) {
    ErrorReport report;
    norms_compare(&self->y, self->reference.value, self->reference.tolerance, &report);
    norms_explain(&report, "y", &self->x, why, size);
    return report.pass;
}
