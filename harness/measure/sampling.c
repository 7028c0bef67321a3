#include "measure/measure.h"

#include "base/ranges.h"
#include "base/stats.h"
#include "base/vary.h"
#include "measure/kept.h"
#include "op.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

static const double KEEP_PILOT_SECONDS = 0.1; /* shorter pilots may still carry one-off costs and are thrown away */

void samples_free(Samples *samples) {
    free(samples->seconds);
    free(samples->sm_mhz);
    samples->seconds = NULL;
    samples->sm_mhz = NULL;
    samples->count = 0;
}

Status sampling_prepare(const SamplingSource *source, Sample *sample) {
    const MeasuredWork *work = source->work;
    SamplePlace *place = &sample->place;
    place->mode = mode_name(source->mode);
    place->back_to_back = source->mode == MODE_HOT || source->mode == MODE_GRAPH;
    place->warm = place->back_to_back || source->mode == MODE_COMPLETE;
    return work->before ? work->before(work->context, place) : STATUS_OK;
}

/* Was the device throttled, so that the sample is to be taken again? Waits before it is. */
static bool again(Throttling *self, bool pilot) {
    static const double PAUSE_FIRST = 0.25, PAUSE_LAST = 4;
    if (!self || !self->now(self->context)) return false;
    if (pilot || self->pause >= PAUSE_LAST) {
        self->remain++;
        return false;
    }
    self->pause = fmax(2 * self->pause, PAUSE_FIRST);
    self->retaken++;
    nanosleep(&(struct timespec){(time_t)self->pause, (long)(1e9 * fmod(self->pause, 1))}, NULL);
    return true;
}

static Status take_once(const SamplingSource *source, SamplePlace place, Sample *sample) {
    *sample = (Sample){.place = place, .seconds = NAN, .sm_mhz = NAN};
    const double begin = clock_seconds();
    ranges_begin(place.pilot ? "pilot" : "sample", mode_name(source->mode));
    Status status = sampling_prepare(source, sample);
    if (source->work->rested) measure_look_at_handlers();
    if (status == STATUS_OK) status = source->take(source->context, sample);
    if (status == STATUS_OK && source->work->rested) status = measure_check_handlers();
    ranges_end();
    TRY(status);
    sample->wall = clock_seconds() - begin;
    sample->place.seconds = sample->seconds;
    return STATUS_OK;
}

static bool counts(const Sample *sample) {
    return !sample->place.pilot || (sample->seconds > KEEP_PILOT_SECONDS && !sample->again);
}

static Status take(const SamplingSource *source, SamplePlace place, Sample *sample) {
    const MeasuredWork *work = source->work;
    TRY(take_once(source, place, sample));
    while (counts(sample) && again(source->pace->throttling, place.pilot)) {
        if (work->after) TRY(work->after(work->context));
        TRY(take_once(source, place, sample));
    }
    if (!(sample->seconds >= 0))
        return status_fail(STATUS_INTERNAL, "%s: a sample took %a seconds", sample->place.mode, sample->seconds);
    if (place.pilot && counts(sample)) sample->place.count = sampling_count(source->pace, sample->wall);
    if (work->taken && sample->place.count > 0) TRY(work->taken(work->context, &sample->place));
    return work->after ? work->after(work->context) : STATUS_OK;
}

Status sampling_pilot(const SamplingSource *source, Sample *sample) {
    return take(source, (SamplePlace){.pilot = true}, sample);
}

Status sampling_grow(const SamplingSource *source, size_t *calls, size_t most, Sample *pilot) {
    const size_t own = source->mode == MODE_GRAPH ? 1 : source->work->calls_most;
    if (source->work->calls_most > 0 && own < most) most = own;
    while (!source->work->after && (pilot->seconds + pilot->between) * (double)*calls < SAMPLING_SECONDS_MIN && *calls < most) {
        const double wanted = 1.2 * SAMPLING_SECONDS_MIN / fmax(pilot->seconds + pilot->between, source->on_gpu ? 1e-9 : 1e-10);
        const size_t more = wanted < (double)most ? (size_t)wanted : most;
        *calls = more > *calls ? more : *calls + 1;
        TRY(sampling_pilot(source, pilot));
    }
    return STATUS_OK;
}

size_t sampling_least(const SamplingPace *pace, double call_seconds) {
    enum { FEW = 3 };
    const size_t most = pace->min_samples ? pace->min_samples : 1, few = most < FEW ? most : FEW;
    const double fit = call_seconds > 0 ? 2 * pace->seconds / call_seconds : (double)most;
    return fit < (double)few ? few : fit < (double)most ? (size_t)fit : most;
}

size_t sampling_count(const SamplingPace *pace, double pilot_wall) {
    const size_t least = pace->min_samples ? pace->min_samples : 1;
    const size_t most = pace->max_samples > least ? pace->max_samples : least;
    const double affordable = pilot_wall > 0 ? pace->seconds / pilot_wall : (double)most;
    if (!(affordable > (double)least)) return least;
    return affordable < (double)most ? (size_t)affordable : most;
}

size_t sampling_round(const SamplingPace *pace, size_t taken, size_t count) {
    const size_t least = pace->min_samples ? pace->min_samples : 1, middle = (size_t)sqrt((double)least * (double)count);
    const size_t end = taken < least ? least : taken < middle ? middle : count;
    return pace->precision > 0 && end < count ? end : count;
}

static bool is_precise(const Samples *samples, double precision) {
    const Stats stats = stats_of(samples->seconds, samples->count);
    return stats.high - stats.low <= 2 * precision * stats.median;
}

/* A pilot that was kept has announced their number. */
static Status take_series(const SamplingSource *source, size_t count, Samples *out) {
    SamplingPace pace = *source->pace;
    if (out->count > 0) pace.precision = 0;
    out->stopped = count >= pace.max_samples ? "samples" : "seconds";
    while (out->count < count) {
        const size_t end = sampling_round(&pace, out->count, count);
        for (Sample sample; out->count < end; out->seconds[out->count++] = sample.seconds) {
            TRY(take(source, (SamplePlace){.index = out->count, .count = end}, &sample));
            if (out->sm_mhz) out->sm_mhz[out->count] = sample.sm_mhz;
        }
        if (pace.precision > 0 && is_precise(out, pace.precision)) {
            out->stopped = "precision";
            break;
        }
    }
    return STATUS_OK;
}

Status sampling_run(const SamplingSource *source, const Sample *pilot, Samples *out) {
    const size_t count = sampling_count(source->pace, pilot->wall);
    out->count = 0;
    out->seconds = calloc(count, sizeof *out->seconds);
    out->sm_mhz = source->on_gpu ? calloc(count, sizeof *out->sm_mhz) : NULL;
    if (!out->seconds || (source->on_gpu && !out->sm_mhz)) {
        samples_free(out);
        return status_fail(STATUS_MEMORY, "no host memory for %zu samples", count);
    }
    if (pilot->place.count > 0) {
        out->seconds[0] = pilot->seconds;
        if (out->sm_mhz) out->sm_mhz[0] = pilot->sm_mhz;
        out->count = 1;
    }
    const Status status = take_series(source, count, out);
    if (status != STATUS_OK) samples_free(out);
    return status;
}

enum { REWRITTEN_MAX = 16 };
static Rewriting rewritten[REWRITTEN_MAX];
static int rewritten_count;
static Patches patches; /* of a GPU, of the inputs above */

static Vary how_varied(const VariedInput *input) {
    Array first[OP_MAX_ARRAYS] = {0};
    const int column = vary_offsets((VaryHow)input->how, input->input);
    first[input->input] = array_1d("input", (DType)input->dtype, input->n);
    if (column >= 0) {
        first[column] = array_1d("offsets", input->wide ? DTYPE_I64 : DTYPE_I32, input->rows + 1);
        first[column].data = input->offsets;
    }
    return vary_input((VaryHow)input->how, input->key, input->input, first);
}

const Vary *measure_varied(const VariedInput *input) {
    static Vary self;
    kept_expect(KEPT_ALWAYS);
    self = how_varied(input);
    return &self;
}

void measure_rewritten(const VariedInput *input, const void *a, const void *b, void *to) {
    patches.states = 0;
    if (!input) rewritten_count = 0;
    if (!input || rewritten_count == REWRITTEN_MAX) return;
    Rewriting *to_come = &rewritten[rewritten_count++];
    *to_come = (Rewriting){.how = how_varied(input), .dtype = (DType)input->dtype, .n = input->n, .a = a, .b = b, .to = to};
    if (to_come->how.how == VARY_SHUFFLE) vary_extremes(to_come->dtype, a, to_come->n, to_come->extreme);
}

Status measure_rewrite(void *unused, size_t state, bool called) {
    (void)unused, (void)called;
    for (int i = 0; i < rewritten_count; i++) vary_rewrite(&rewritten[i], state);
    return STATUS_OK;
}

Status measure_rewrite_gpu(void *stream, size_t state, bool called) {
    const Spoiling nothing = {0};
    if (state >= patches.states) TRY(patches_make(&patches, rewritten, rewritten_count, &nothing, state + 1, stream));
    return patches_enqueue(&patches, state, called, stream);
}

void measure_vary(const VariedInput *input, const void *a, const void *b, void *to) {
    kept_expect(KEPT_ALWAYS);
    const Vary self = how_varied(input);
    vary_all(&self, (DType)input->dtype, input->n, a, b, to);
}
