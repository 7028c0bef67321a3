/* discount.h - what the op discounted_cumsum and its gradient have in common: parameters, arrays, bounds. */
#pragma once

#include "op.h"
#include "reference/recurrence.h"
#include "reference/terms.h"
#include "reference/vector.h"

#include <float.h>

/* In the order of the choices. */
typedef enum DiscountGamma { GAMMA_ALL, GAMMA_ROW, GAMMA_ELEMENT } DiscountGamma;

/* Index into the bounds of both ops. */
typedef enum DiscountBound { DISCOUNT_SCAN, DISCOUNT_DIFFERENCE } DiscountBound;

/* The case as the reference uses it. */
typedef struct Discount {
    bool left, f32, unrounded;
    bool adjoint; /* the transposed sums: of a gradient */
    DType sums;   /* what a variant's are in */
    DiscountGamma gamma_per;
    size_t batch, n, terms; /* terms: 1 .. n, or n + 1: all */
    const void *gamma;
    const unsigned char *reset; /* NULL: none */
    double gamma_written;       /* the parameter, as written */
} Discount;

/* Parameters in common, for the tables of both ops. */
extern const char *const DISCOUNT_DIRECTIONS[], *const DISCOUNT_GAMMAS[], *const DISCOUNT_RESETS[];
#define DISCOUNT_PARAMS                                                                                                            \
    {"direction",                                                                                                                  \
     "right: sums run from an element to the end of its row; left: to its beginning",                                              \
     PARAM_CHOICE,                                                                                                                 \
     "right",                                                                                                                      \
     0,                                                                                                                            \
     0,                                                                                                                            \
     DISCOUNT_DIRECTIONS},                                                                                                         \
        {"batch", "rows", PARAM_INT, "1", 0, 0x1p40, NULL}, {"n", "elements of a row", PARAM_INT, "1000003", 0, 0x1p40, NULL},     \
        {"gamma", "the discount", PARAM_REAL, "0.99", -DBL_MAX, DBL_MAX, NULL},                                                    \
        {"gamma_per",    "all: one discount; row, element: one each, gamma times U(0.9, 1)", PARAM_CHOICE, "all", 0, 0,            \
         DISCOUNT_GAMMAS},                                                                                                         \
        {"k", "terms of a sum, its own element included; 0: all", PARAM_INT, "0", 0, 0x1p40, NULL}, {                              \
        "reset", "mask: a sum does not reach past an element that begins a segment", PARAM_CHOICE, "none", 0, 0, DISCOUNT_RESETS   \
    }

/* x (or dy) [batch, n]. */
Array discount_matrix(const Case *problem, const char *name);
/* gamma (or dgamma) [1], [batch] or [batch, n]. */
Array discount_gamma(const Case *problem, const char *name);
/* u8 [batch, n], or [0, 0] if there is none. */
Array discount_reset(const Case *problem);
/* STATUS_INVALID if batch * n elements cannot be, gamma is none of the dtype, or is to be taken as written where there are several.
 */
Status discount_check(const Case *problem);

/* Op.adopt: batch, n, gamma_per, gamma if it is one, reset and dtype. dy: NULL, or the array that must have the shape of x. */
Status discount_adopt(const Array *x, const Array *gamma, const Array *reset, const Array *dy, Case *problem);
Status discount_generate_gamma(const Case *problem, Array *gamma);
Status discount_generate_reset(const Case *problem, Array *reset);

/* rows.c: how the rows of a case lie, and what is carried into them. */
typedef struct DiscountRows {
    const Discount *self;
    const void *x, *initial; /* initial: NULL: nothing is carried into a row */
    size_t row_step, step;   /* element i of a row lies at row * row_step + i * step */
} DiscountRows;
/* All sums of all rows, one row after the other, and of each the last. final: without `initial` not used. */
Status discount_row_by_row(const DiscountRows *rows, const Reference *y, const Reference *final);
/* As discount_wrong_value(). right: of y and final. output: which of the two. */
bool discount_rows_wrong_value(const DiscountRows *rows, const Reference *right, int which, int output, size_t element,
                               double *value);

/* Op.least_read of sums of an input, x, or dy in the gradient: its elements, their factors and resets. */
typedef struct DiscountNeeds {
    const DiscountRows *rows;
    const Array *in;
    int summed, gamma, reset, initial; /* inputs */
} DiscountNeeds;
void discount_least_read(const DiscountNeeds *needs, Reads *reads);

Discount discount_of(const Case *problem, const Array *gamma, const Array *reset);

/* wrong.c: Op.wrong; a sum of x, or of dy in the gradient, by a wrong definition. */
typedef enum DiscountWrong { WRONG_LONGER, WRONG_SHORTER, WRONG_SHIFTED, WRONG_UNCUT, WRONG_STATELESS } DiscountWrong;
extern const char *const DISCOUNT_WRONG[];
bool discount_wrong_value(const Discount *self, const void *x, const double *right, int which, size_t element, double *value);

/* reference.c */
/* Operations behind every term of a sum of a row of n, beside those that grow with its distance. */
static inline double discount_depth(size_t n) {
    return 2 * ceil(log2((double)n + 1)) + 48;
}
/* What the data is like, found by one pass over it. */
typedef struct DiscountFacts {
    double scale;  /* for RecurrenceLine */
    bool wide;     /* likewise */
    bool unit;     /* every factor is 1 or -1: products are exact */
    bool integral; /* every finite element and every factor is an integer: sums below 1/u are exact in any order */
} DiscountFacts;
/* Of `rows` rows from row `first` on, for sums of so many terms. */
DiscountFacts discount_facts(const Discount *self, const void *x, size_t first, size_t rows, size_t terms);
/* One row as a recurrence. */
RecurrenceLine discount_line(const Discount *self, const DiscountFacts *facts, const void *x, size_t row);

/* How far a sum may be from the reference. */
typedef struct DiscountErrors {
    double u, tiny;    /* of the dtype: unit round-off, smallest subnormal */
    double more, most; /* roundings: times this for terms of second order, and at most this share of the magnitude */
    double depth;      /* operations behind every term, beside those that grow with its distance */
    double border;     /* additions that a term of a window meets before it leaves its block */
    double steps;      /* roundings per factor between a term and its sum */
    double drift;      /* relative error of the discount itself */
    bool integral;
} DiscountErrors;
DiscountErrors discount_errors(const Discount *self, const DiscountFacts *facts);
/* What roundings may cost a sum of a magnitude that has travelled so far, in its units: the first order, or 1/256 of the magnitude.
 */
double discount_rounding(const DiscountErrors *errors, double magnitude, double travelled);
/* In units of x. chance: a bound of what roundings cost, if it is less; INFINITY: none. */
double discount_tolerance(const DiscountErrors *errors, const RecurrenceLine *line, const RecurrenceSum *sum, double chance);
/* The names of what sums may be off by. */
#define DISCOUNT_TERM_PLAIN "roundings of the plain recurrence, 3 u sqrt(2 m)"
#define DISCOUNT_TERM_LEVELS "roundings in the d levels of a tree, 3 u sqrt(d v)"
#define DISCOUNT_TERM_BORDER "roundings of a window's part that is summed from its border, 3 u sqrt(2 (k R^2 + m))"
#define DISCOUNT_TERM_POWERS "powers of the discount that are made by products, u T / 2"
#define DISCOUNT_TERM_TRIAL "errors of one sign, 4 E"
/* What a sum may be off by: roundings of either sign (seven standard deviations), powers that err alike for all sums of a row (the
 * most on the way, and here), and products that lose bits among the subnormal numbers. */
typedef struct DiscountPart {
    double random, powers, powers_signed, underflow;
} DiscountPart;
/* What the squares of parts count, which may be aligned worse than on average. */
#define DISCOUNT_ALIGNED 1.5
/* sharpen.c. Tolerances of one row's sums of all terms, in units of x: lowered where the sums on the way are small beside their
 * terms. value, tolerance, parts (may be NULL): [n]. Returns whether it knows the parts. */
bool discount_sharpen(const DiscountErrors *errors, const RecurrenceLine *line, const double *value, double *tolerance,
                      DiscountPart *parts);
/* sharpen.c. What roundings may cost each sum of so many terms of a row, n at most, if they go both ways, in units of x; by
 * element, to be freed. *out is NULL where that is not known. tolerance: for which the terms are. */
Status discount_window_chances(const DiscountErrors *errors, const RecurrenceLine *line, size_t terms, const double *tolerance,
                               double **out);
/* All sums of all rows: value (may be NULL) and tolerance (may be NULL), in units of x. bound: DISCOUNT_DIFFERENCE doubles the
 * tolerance. */
Status discount_sums(const Discount *self, const void *x, size_t terms, DiscountBound bound, double *value, double *tolerance);
