/* ceiling_pick.h - several ways to reach one ceiling: the best one is the ceiling. */
#ifndef RUNGS_MEASURE_CEILING_PICK_H
#define RUNGS_MEASURE_CEILING_PICK_H

#include "measure/ceilings.h"
#include "measure/measure.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CeilingTrial {
    const char *method; /* static storage */
    MeasuredWork work;
} CeilingTrial;

/* Times one trial: measure_cpu or measure_gpu with its mode and stream. */
typedef Status (*CeilingTimer)(void *context, const MeasuredWork *work, const MeasureLimits *limits, Samples *out);

typedef struct CeilingTask {
    const char *name, *unit;
    double quantity; /* bytes or flops per call; 0: the ceiling is a time */
    size_t bytes;    /* working set */
    CeilingTimer timer;
    void *timer_context;
    const CeilingTrial *trials;
    int trial_count;
} CeilingTask;

/* Tries each briefly, then measures the fastest anew: the value is not the luckiest of many looks. STATUS_UNSUPPORTED with a reason
 * if no trial could be timed. */
Status ceiling_pick(const CeilingTask *task, Ceiling *out);

#ifdef __cplusplus
}
#endif
#endif
