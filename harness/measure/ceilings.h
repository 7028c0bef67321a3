/* ceilings.h - what this device can do at most, measured in the same run as the variants: the yardstick of every fraction. */
#pragma once

#include "measure/measure.h"

__BEGIN_DECLS

typedef struct Ceiling {
    const char *name;   /* "copy", "read", "write", "fma_f32", "fma_f64", "empty_launch" */
    const char *unit;   /* "B/s", "flop/s", "s" */
    const char *method; /* one line: how */
    double value;       /* median-based: best configuration for rates, median for times */
    double again;       /* the lower of two measurements, if it was measured twice (value: the higher); else 0 */
    double low, high;   /* quartiles of the samples of that configuration */
    size_t bytes;       /* working set per pass, where it applies */
} Ceiling;

enum { CEILINGS_MAX = 12 };

/* Fills out[0..*count). bytes_hint: working set per array, reduced to what fits; 0: default (1 GiB on a GPU, 4x LLC on a CPU). */
Status ceilings_cuda(void *stream, size_t bytes_hint, Ceiling out[CEILINGS_MAX], int *count);
Status ceilings_cpu(size_t bytes_hint, Ceiling out[CEILINGS_MAX], int *count);

/* ceilings_cpu.c: several ways to reach one ceiling; the best one is the ceiling. */
typedef struct CeilingTrial {
    const char *method; /* static storage */
    MeasuredWork work;
} CeilingTrial;

/* Times one trial: measure_cpu or measure_gpu with its mode and stream. */
typedef Status (*CeilingTimer)(void *context, const MeasuredWork *work, const SamplingPace *pace, Samples *out);

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

__END_DECLS
