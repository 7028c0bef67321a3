/* recurrence.h - y[p] = x[p] + g[p] y[p-1] along one row, and the sum of its last K terms: the reference of discounted sums, of
 * their gradients and of exponentially weighted moments. Double-double, the same bits for any number of threads.
 *
 * With the value come the magnitudes that errors are measured by. The weights of a sum are w_j = g[p] g[p-1] .. g[p-j+1]:
 *     magnitude  s = sum |w_j x[p-j]|        s[p] = |x[p]| + |g[p]| s[p-1]
 *     travelled  t = sum j |w_j x[p-j]|      t[p] = |g[p]| (t[p-1] + s[p-1])
 *     weight     c = sum |w_j|               c[p] = 1 + |g[p]| c[p-1], from the first x on that is not 0
 * NaN and infinities are kept apart from the arithmetic, as one of four kinds that the recurrence maps to each other as IEEE
 * arithmetic does: inf carried over a factor 0 is a NaN, and a NaN stays. A reset drops what is carried, whatever it is.
 */
#pragma once

#include "base/numbers.h"
#include "base/status.h"
#include "dd.h"
#include "wide.h"

#include <stdbool.h>
#include <stddef.h>

/* Products of factors below this count as 0: powers of a discount would spend long among the subnormal numbers. Sums above the
 * other leave no room for double-double products. */
#define RECURRENCE_POWER_MIN 0x1p-1060
#define RECURRENCE_SAFE 0x1p960
/* Weights are counted in these: there is room above 2^1024. */
#define RECURRENCE_WEIGHT_UNIT 0x1p-500

typedef enum RecurrenceKind { KIND_FINITE, KIND_PLUS_INF, KIND_MINUS_INF, KIND_NAN, KIND_COUNT } RecurrenceKind;

/* What a kind is in IEEE arithmetic; not for KIND_FINITE. */
static inline double recurrence_special(RecurrenceKind kind) {
    static const double special[] = {[KIND_PLUS_INF] = INFINITY, [KIND_MINUS_INF] = -INFINITY, [KIND_NAN] = NAN};
    return special[kind];
}

/* One row. Position p in reading order is element p, or n - 1 - p if backward. */
typedef struct RecurrenceLine {
    const void *x;
    const void *factors;        /* of each element; NULL: `factor` for all */
    const unsigned char *reset; /* not 0: nothing is carried into the element; NULL: none */
    bool f32;                   /* x and factors are floats, else doubles */
    DType sums;                 /* what a variant's are in */
    bool backward;
    bool adjoint; /* factor and reset of position p are those of the element at p - 1: the transposed recurrence */
    bool wide;    /* products of factors, or values on the way, may leave the range of doubles: slowly */
    size_t n;
    Dd factor;
    double scale; /* x is taken times this power of two; results are in these units */
    double limit; /* a value of this size, in these units, is an infinity from there on; INFINITY: none */
} RecurrenceLine;

/* As the variable of a trial holds it. */
static inline double recurrence_rounded(double value, const RecurrenceLine *line) {
    if (dtype_is_narrow(line->sums)) return narrow_nearest(narrow_form(line->sums), value);
    return line->f32 ? (double)(float)value : value;
}

/* A sum in numbers that have no range. */
typedef struct RecurrenceWideSum {
    Wide value, magnitude, travelled, weight, carried;
    double most;
    RecurrenceKind kind;
} RecurrenceWideSum;

typedef struct RecurrenceSum {
    Dd value;
    double magnitude, travelled;
    double weight;  /* times RECURRENCE_WEIGHT_UNIT */
    double carried; /* the part of the magnitude that came from other elements */
    double most;    /* no smaller than any magnitude met on the way, since the latest factor 0 */
    RecurrenceKind kind;
    const RecurrenceWideSum
        *wide; /* of a wide line: the same before it was rounded to doubles, which may be subnormal; else NULL */
} RecurrenceSum;

/* Called once per element, from many threads, in no particular order. */
typedef void (*RecurrenceEmit)(void *context, size_t element, const RecurrenceSum *sum);

/* All sums of a row. terms: sums of the last so many terms, at least 1; more than n: of all. */
Status recurrence_run(const RecurrenceLine *line, size_t terms, RecurrenceEmit emit, void *context);
/* NaN, inf or the value, unscaled and rounded once. */
double recurrence_value(const RecurrenceLine *line, const RecurrenceSum *sum);

/* What an element does to what is carried into it: y -> x + factor y. */
typedef struct RecurrenceStep {
    double x;            /* 0 if not finite */
    RecurrenceKind kind; /* of x */
    bool cut;            /* nothing is carried in; factor is 0 */
    Dd factor;           /* 0 if not finite */
    double sign;         /* the factor as given */
} RecurrenceStep;

static inline size_t recurrence_element(const RecurrenceLine *line, size_t position) {
    return line->backward ? line->n - 1 - position : position;
}
RecurrenceStep recurrence_step(const RecurrenceLine *line, size_t position);

/* Is a row of n elements worth several threads of its own? */
bool recurrence_is_long(size_t n);
