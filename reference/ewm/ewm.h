/* ewm.h - shared by the files of the op `ewm`. */
#ifndef RUNGS_REFERENCE_EWM_H
#define RUNGS_REFERENCE_EWM_H

#include "op.h"
#include "reference/dd.h"
#include "reference/terms.h"

/* In the order of the choices. */
typedef enum EwmAgg { EWM_MEAN, EWM_VAR, EWM_STD } EwmAgg;

/* Index into the op's bounds. */
typedef enum EwmBound { EWM_SCAN, EWM_TRUNCATED, EWM_TEXTBOOK } EwmBound;

enum { EWM_TRUNCATED_SPANS = 10 /* terms that the bound `truncated` keeps, in spans */ };

/* A weight that is none beside that of the latest observation: the reference forgets it, variants may. No power of two: those are
 * the weights that round half-lives meet, and which side they are on must not hang on the last bit. */
#define EWM_FADED 0x1.8p-1000

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

/* Plain recurrences in the arithmetic of the variants, and how far they are from the exact values: where rounding errors are not
 * random, as on equal numbers, they show what to expect. */
typedef struct EwmTrial {
    double sum, weights;        /* sum w x and sum w in the dtype */
    double weight;              /* sum w in double */
    double mean, spread;        /* by shares of the weight, in double */
    double error, spread_error; /* the largest of late, of a mean and of the spread */
} EwmTrial;

/* What the observations of a series so far amount to. All sums are divided by the sum of their weights. */
typedef struct EwmState {
    size_t count;     /* observations */
    size_t gap;       /* steps since the latest */
    Dd weight;        /* of them all, as the next observation finds it; 1 for the latest if adjust=false */
    Dd mean, spread;  /* sum w x, sum w (x - mean)^2 */
    Dd pairs;         /* 1 - sum w^2: what corrects the bias */
    double special;   /* 0, or what NaN and inf make of a mean */
    double magnitude; /* sum w |x| */
    double travelled; /* sum w |x| j, j: steps since the observation */
    double moment;    /* sum w x j */
    double age;       /* sum w j */
    double square;    /* sum w x^2, and with j */
    double square_travelled;
    double spread_travelled;
    double mean_error; /* sum w e^2 of the errors e of the means on the way */
    double largest;    /* max |x|, not scaled */
    EwmTrial trial;
    double kept; /* share of the older observations' weight that the latest left, as a logarithm, summed up */
} EwmState;

/* How errors grow. */
typedef struct EwmErrors {
    double u;                          /* of the dtype; of a spread, whose state is double: of double */
    double depth;                      /* operations behind every term, beside those that grow with its distance */
    double drift;                      /* relative error of q as a variant has it */
    double mean_floor, variance_floor; /* what products lose among the subnormal numbers */
    double scale;
} EwmErrors;

/* reference.c */
Status ewm_reference(const Ewm *self, Reference *out);

/* bounds.c: in the units of the reference's scaled input; without what `truncated` loses. */
EwmErrors ewm_errors(const Ewm *self, double scale);
double ewm_mean_error(const EwmErrors *errors, const EwmState *state);
/* Of the mean that a spread is about: its weights are shares, which add up to 1 whatever q is. */
double ewm_shared_mean_error(const EwmErrors *errors, const EwmState *state);
/* Error of the unbiased variance. */
double ewm_variance_error(const EwmErrors *errors, EwmBound bound, const EwmState *state);
/* Largest |sqrt(v') - sqrt(v)| for v' >= 0 with |v' - v| <= dv. */
double ewm_root_error(double v, double dv);

/* trial.c: as the functions of the reference that are named like them. x: scaled. */
void ewm_trial_age(const Ewm *self, EwmTrial *trial);
void ewm_trial_begin(EwmTrial *trial, double x);
/* state: after x. */
void ewm_trial_observe(const Ewm *self, EwmTrial *trial, double x, const EwmState *state);

#endif
