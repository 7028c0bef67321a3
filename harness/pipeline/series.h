/* series.h - a given number of samples of one variant on one case in one mode, from a worker of their own, verified as by `run`. */
#ifndef RUNGS_PIPELINE_SERIES_H
#define RUNGS_PIPELINE_SERIES_H

#include "pipeline/finish.h"

typedef struct Series {
    const RunOptions *options;
    const char *no_gpu_reason; /* NULL: there is a GPU */
    Limits *limits;            /* NULL: none are measured */
    const PlanItem *item;      /* whose case is in memory; NULL: none yet */
    Instance instance;
} Series;

/* A row with the samples of this mode, its rates, limit and errors (docs/RESULTS.md), or with a verdict and its reason, in a fresh
 * worker each time. Nothing is emulated: without a GPU a CUDA variant is a skip. Another Status than STATUS_OK: rungs itself cannot
 * go on. row: zero at first; row_free() it. */
Status series_take(Series *self, const PlanItem *item, const VariantChoice *choice, Mode mode, size_t samples, Row *row);
/* Releases the case. */
void series_close(Series *self);

#endif
