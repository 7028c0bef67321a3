/* ewm.h - shared by the files of the op `ewm`. */
#pragma once

#include "op.h"
#include "reference/dd.h"

/* In the order of the choices. */
typedef enum EwmAgg { EWM_MEAN, EWM_VAR, EWM_STD } EwmAgg;

/* Index into the op's bounds. */
typedef enum EwmBound { EWM_SCAN, EWM_TRUNCATED, EWM_TEXTBOOK } EwmBound;

enum { EWM_TRUNCATED_SPANS = 10 /* terms that the bound `truncated` keeps, in spans */ };

/* The case as the reference uses it. */
typedef struct Ewm {
    EwmAgg agg;
    EwmBound bound;
    bool f32, adjust, propagate;
    size_t n, min_periods;
    double incomplete; /* NaN or inf */
    Dd alpha, q;       /* q = 1 - alpha */
    double drift;      /* relative error of q as variants have it in double */
    const void *x;
    const unsigned char *starts; /* NULL: one series */
} Ewm;

Status ewm_reference(const Ewm *self, Reference *out);

/* wrong.c: Op.wrong, Op.wrong_value. */
extern const char *const EWM_WRONG[];
bool ewm_wrong_value(const Ewm *self, const Reference *right, int which, size_t i, double *value);
