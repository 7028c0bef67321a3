/* sampling.h - from one pilot sample to a whole series: how many samples a mode gets, and where they are kept.
 *
 * The pilot is one sample (hot and graph: repeated with more calls until it lasts SAMPLING_SECONDS_MIN). The series has
 * seconds / (wall time of the pilot, flush and waiting included) samples, within the limits. A pilot of more than 0.1 s per call is
 * kept as the first sample, so that a slow call is not repeated for nothing; a shorter one may carry one-off costs. */
#ifndef RUNGS_MEASURE_SAMPLING_H
#define RUNGS_MEASURE_SAMPLING_H

#include "measure/measure.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A sample is made of enough calls to last this long, in the modes that may repeat: clocks and events resolve well below it. */
#define SAMPLING_SECONDS_MIN 50e-6

typedef struct Sample {
    SamplePlace place;
    int slot;       /* of the inputs, as before() said */
    double seconds; /* per call */
    double sm_mhz;  /* NaN: not told */
    double wall; /* what taking it cost on the steady clock, with flush, waiting and all; set by sampling_take, without taken() */
} Sample;

/* Takes the time; before(), taken() and after() of the work are called around it. */
typedef Status (*SamplingTake)(void *context, Sample *sample);

typedef struct SamplingSource {
    MeasureMode mode;
    const MeasuredWork *work;
    SamplingTake take;
    void *context;
    bool on_gpu; /* keep an SM clock per sample */
} SamplingSource;

/* Takes a pilot and its wall time. */
Status sampling_pilot(const SamplingSource *source, Sample *sample);
/* More pilots of more calls, until they fill a sample or are `most`; none more if after() has to put away what each call leaves. */
Status sampling_grow(const SamplingSource *source, size_t *calls, size_t most, Sample *pilot);
/* The work's before() for this sample, whose place it completes by the mode. */
Status sampling_prepare(const SamplingSource *source, Sample *sample);
/* Fills out->seconds, sm_mhz and count. `pilot` was taken from the same source; one whose call was long is kept as the first
 * sample, so that a call of seconds is never run for nothing. On failure `out` is empty. */
Status sampling_run(const SamplingSource *source, const MeasureLimits *limits, const Sample *pilot, Samples *out);
/* The least number of samples where a call takes so long (0: not known): fewer than the limits say if these took more than twice
 * the mode's time, but three. */
size_t sampling_least(const MeasureLimits *limits, double call_seconds);
/* How many samples a pilot of this wall time buys. */
size_t sampling_count(const MeasureLimits *limits, double pilot_wall);

#ifdef __cplusplus
}
#endif
#endif
