/* ewm.h - shared by the files of the op `ewm`. */
#ifndef RUNGS_REFERENCE_EWM_H
#define RUNGS_REFERENCE_EWM_H

#include "op.h"
#include "recurrence.h"

/* In the order of the choices. */
typedef enum EwmAgg { EWM_MEAN, EWM_VAR, EWM_STD } EwmAgg;

/* Index into the op's bounds. */
typedef enum EwmBound { EWM_SCAN, EWM_TRUNCATED, EWM_TEXTBOOK } EwmBound;

/* The case as the truth uses it. */
typedef struct Ewm {
    EwmAgg agg;
    EwmBound bound;
    bool f32, adjust, propagate;
    size_t n, min_periods;
    double incomplete; /* NaN or inf */
    Dd alpha, q;       /* q = 1 - alpha */
    double span;       /* 2 / alpha - 1 */
    const void *x;
    const unsigned char *starts; /* NULL: one series */
} Ewm;

/* ewm_truth.c */
Status ewm_truth(const Ewm *self, Truth *out);

#endif
