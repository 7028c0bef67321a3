/* moments_support.h - a case of moments with its inputs and its reference, for the tests of the op and of its variants. */
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

extern const Op rungs_op_moments;

enum { MEAN, VAR, SKEWNESS, KURTOSIS, MIN, MAX, M5, M6, OUTPUTS };
enum { TWO_PASS, UPDATING, NAIVE_SUM, POWER_SUMS, BOUNDS };

typedef struct Moments {
    char text[CASE_TEXT_MAX];
    Case problem;
    Array in[2], out[OUTPUTS];
    Reference reference[OUTPUTS];
    size_t rows, cols;
    int order;
    bool weighted;
} Moments;

static inline double array_get(const Array *array, size_t i) {
    return array->dtype == DTYPE_F32 ? (double)((const float *)array->data)[i] : ((const double *)array->data)[i];
}

static inline void array_set(Array *array, size_t i, double value) {
    if (array->dtype == DTYPE_F32)
        ((float *)array->data)[i] = (float)value;
    else
        ((double *)array->data)[i] = value;
}

static inline double moments_x(const Moments *self, size_t row, size_t col) {
    return array_get(&self->in[0], row * self->cols + col);
}

static inline void moments_set_x(Moments *self, size_t row, size_t col, double value) {
    array_set(&self->in[0], row * self->cols + col, value);
}

static inline double moments_weight(const Moments *self, size_t row) {
    return self->weighted ? array_get(&self->in[1], row) : 1;
}

static inline void moments_reference_of(Moments *self, int bound) {
    if (rungs_op_moments.reference(&self->problem, self->in, bound, self->reference) != STATUS_OK)
        fail_msg("%s: %s", self->text, status_message());
}

/* The case, its inputs from its family, memory for its outputs; no reference yet. */
static inline Moments moments_open(const char *format, ...) {
    Moments self = {0};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(self.text, sizeof self.text, format, arguments);
    va_end(arguments);
    if (case_parse(self.text, &self.problem) != STATUS_OK) fail_msg("%s: %s", self.text, status_message());
    assert_int_equal(rungs_op_moments.shapes(&self.problem, self.in, self.out), STATUS_OK);
    self.rows = self.in[0].shape[0];
    self.cols = self.in[0].shape[1];
    self.order = (int)params_int(&self.problem.params, "order");
    self.weighted = array_count(&self.in[1]) > 0;
    for (int i = 0; i < 2; i++) {
        self.in[i].data = malloc(array_bytes(&self.in[i]) + 1);
        if (family_input(&rungs_op_moments, &self.problem, i, &self.in[i]) != STATUS_OK)
            fail_msg("%s: %s", self.text, status_message());
    }
    for (int i = 0; i < OUTPUTS; i++) {
        const size_t bytes = array_count(&self.out[i]) * sizeof(double) + 1;
        self.out[i].data = malloc(bytes);
        self.reference[i] = (Reference){malloc(bytes), malloc(bytes)};
    }
    return self;
}

static inline void moments_close(Moments *self) {
    for (int i = 0; i < 2; i++) free(self->in[i].data);
    for (int i = 0; i < OUTPUTS; i++) {
        free(self->out[i].data);
        free(self->reference[i].value);
        free(self->reference[i].tolerance);
    }
}

/* The outputs against the reference. */
static inline bool moments_passes(const Moments *self, char *why, size_t size) {
    for (int i = 0; i < OUTPUTS; i++) {
        ErrorReport report;
        norms_compare(&self->out[i], self->reference[i].value, self->reference[i].tolerance, &report);
        norms_explain(&report, self->out[i].name, NULL, why, size);
        if (!report.pass) return false;
    }
    return true;
}
