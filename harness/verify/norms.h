/* norms.h - how far an output is from the reference, and the verdict on it. */
#pragma once

#include "base/array.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Over the comparable elements (reference finite and actual finite) unless said otherwise. */
typedef struct ErrorReport {
    size_t count;        /* elements compared in all */
    double max_absolute; /* max |actual - reference| */
    double max_relative; /* max |actual - reference| / |reference|, where reference != 0 */
    double l2_relative;  /* ||actual - reference|| / ||reference|| */
    double max_ulp;      /* in units of the output dtype's spacing at the reference */
    double max_ratio;    /* max |actual - reference| / tolerance (0/0 = 0, x/0 = inf): <= 1 passes */
    size_t incomparable; /* NaN or inf where the reference has none, or the other way round, or the wrong inf */
    size_t first_incomparable;
    size_t unwritten; /* elements still poison */
    size_t first_unwritten;
    bool undecided; /* it would pass if the elements that equal the poison were written: another pattern can tell */
    size_t worst;   /* index of max_ratio */
    double worst_truth, worst_actual, worst_tolerance; /* there; at the first incomparable element if there is one */
    bool pass; /* starts false; true only if every element was written, is comparable and satisfies err <= tolerance */
    /* Of the elements whose reference is finite and not 0, the share whose tolerance is at least |reference|: 0 would pass there.
     * Elements that are 0 do not count: 0 is the right value. 0 if no element counts. */
    double vacuous;
    bool judgeable; /* vacuous <= NORMS_VACUOUS_MAX; else `pass` does not verify the values */
} ErrorReport;

/* Above this share an output of zeros, or of noise of the reference's size, can hardly be distinguished from a correct one. */
#define NORMS_VACUOUS_MAX 0.5

/* Compares on all cores. actual: f32 or f64 on the host, `value` and `tolerance` of as many doubles. n = 0 passes. */
void norms_compare(const Array *actual, const double *value, const double *tolerance, ErrorReport *out);
/* As norms_compare() after a run from another pattern of base/poison.h. */
void norms_compare_poisoned(const Array *actual, const double *value, const double *tolerance, unsigned char poison,
                            ErrorReport *out);
/* One sentence for people with %a values: what failed, where; "" if it passed. input may be NULL. Returns text. */
char *norms_explain(const ErrorReport *report, const char *output, const Array *input, char *text, size_t size);
