/* discount_rows.h - one row of discounted_cumsum computed in its own precision, for the tests of its bounds. */
#pragma once

#include "scan_support.h"

typedef struct Row {
    Scan scan;
    bool f32, left;
    size_t n, terms;
    double gamma, *x, *y; /* in reading order */
    const Array *reset;
} Row;

/* An operation of the dtype: a double holds the exact sum or enough of the exact product of two floats to round correctly. */
static inline double rounded(const Row *row, double value) {
    return row->f32 ? (double)(float)value : value;
}

static inline size_t at(const Row *row, size_t p) {
    return row->left ? p : row->n - 1 - p;
}

static inline void row_open(Row *row, const char *text) {
    *row = (Row){.scan = scan_open("%s", text)};
    const Params *params = &row->scan.problem.params;
    row->f32 = row->scan.problem.dtype == DTYPE_F32;
    row->left = params_choice(params, "direction") == 1;
    row->n = row->scan.n;
    const size_t k = (size_t)params_int(params, "k");
    row->terms = k && k < row->n ? k : row->n;
    row->gamma = array_get(scan_array(&row->scan, "gamma"), 0);
    row->reset = scan_array(&row->scan, "reset");
    row->x = malloc((row->n + 1) * sizeof(double));
    row->y = malloc((row->n + 1) * sizeof(double));
    for (size_t p = 0; p < row->n; p++) row->x[p] = array_get(&row->scan.in[0], at(row, p));
}

static inline void row_close(Row *row) {
    free(row->x);
    free(row->y);
    scan_close(&row->scan);
}

static inline bool cut(const Row *row, size_t p) {
    return p == 0 || (array_count(row->reset) > 0 && array_get(row->reset, at(row, p)) != 0);
}

static inline void sequential(Row *row) {
    for (size_t p = 0; p < row->n; p++)
        row->y[p] = cut(row, p) ? row->x[p] : rounded(row, rounded(row, row->gamma * row->y[p - 1]) + row->x[p]);
}

static inline double power(const Row *row, size_t exponent) {
    double result = 1, square = row->gamma;
    for (; exponent; exponent /= 2, square = rounded(row, square * square))
        if (exponent & 1) result = rounded(row, result * square);
    return result;
}

static inline bool passes(Row *row, char *why, size_t size) {
    for (size_t p = 0; p < row->n; p++) array_set(&row->scan.out[0], at(row, p), row->y[p]);
    return scan_passes(&row->scan, 0, why, size);
}

static inline void must(bool expected, Row *row, const char *what) {
    char why[1024];
    if (passes(row, why, sizeof why) != expected)
        fail_msg("%s: %s %s: %s", row->scan.text, what, expected ? "does not pass" : "passes", why);
}

/* Families without NaN; f32 overflows nowhere. */
static const char *const FINITE[] = {"uniform",   "normal",      "ones",  "ramp",     "constant", "integers", "offset1e3",
                                     "spike1e16", "alternating", "mixed", "denormal", "sorted",   "heavytail"};
static const char *const GAMMAS[] = {"0.99", "1", "0", "0.5", "-0.5", "0.9999", "-0.99", "1.0001"};
#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *const WRONG_FAMILIES[] = {"uniform",   "normal", "ones",   "integers",
                                             "offset1e3", "mixed",  "sorted", "alternating"};
