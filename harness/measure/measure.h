/* measure.h - time one piece of work in the modes cold, hot, graph, enqueue, complete; every sample is kept. */
#pragma once

#include "base/array.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/vary.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

__BEGIN_DECLS

#include "base/mode.h" /* which C alone includes else */

/* Those before it are measured: the first call of a process is not repeated. */
enum { MEASURE_MODE_COUNT = MODE_FIRST };

/* Which sample is about to be taken or was. */
typedef struct SamplePlace {
    const char *mode;
    size_t index;
    size_t count;      /* of the mode's samples; of a pilot it is known once it counts, 0 before */
    bool pilot;        /* sets the number of samples; becomes sample 0 only if its call was long */
    bool warm;         /* hot, graph, complete: the caches are to hold what a call before it left there */
    bool back_to_back; /* hot, graph: a sample may be several calls with nothing between them */
    bool longer;       /* GPU: it took longer by the host's clock than by the events */
    double seconds;    /* of a call, once it was taken */
} SamplePlace;

typedef struct MeasuredWork {
    Status (*run)(void *context); /* enqueues (GPU) or does (CPU) the work once */
    void *context;
    /* After every sample and outside its time: puts away what the call left, such as outputs that it allocated. A sample is one
     * call then, and there is no graph, whose replays would all write to where the captured call's memory was. NULL: nothing is
     * left. */
    Status (*after)(void *context);
    /* The host's time in run() counts, for it allocates by cudaMalloc, which no stream orders: nothing is queued ahead. */
    bool host_counts;
    /* Before a sample, its flush and its hold: prepares inputs and outputs, where they are. NULL: nothing changes between samples.
     */
    Status (*before)(void *context, const SamplePlace *place);
    /* After a sample that counts, before after(). NULL: nothing. */
    Status (*taken)(void *context, const SamplePlace *place);
    /* Hot and graph: brings the inputs into a state (base/vary.h, Rewriting) and spoils a few elements of the outputs; on a GPU it
     * enqueues that. Each call of a sample finds another state; the first one the highest, which is made outside the time, the last
     * one 0, as before() made them. NULL: all calls find the same.
     * called: a call came since the state above, and has to have written what was spoilt for it. */
    Status (*between)(void *context, size_t state, bool called);
    void *between_context;
    /* Hot: a sample is at most so many calls, each on an array of its own that it updates in place; of a graph, whose replays have
     * one array, one. 0: any number. */
    size_t calls_most;
    /* CPU: before the clock starts, after all that is done for a sample. NULL: nothing. */
    Status (*rested)(void *context);
    bool last; /* CPU, hot: only the last call of a sample is timed, the one whose outputs can be compared */
} MeasuredWork;

/* Samples that a throttled device took: each is taken again after a pause, each pause is twice the one before, up to 4 s. */
typedef struct Throttling {
    bool (*now)(void *context); /* just after a sample */
    void *context;
    double pause;           /* the last one, in seconds */
    size_t retaken, remain; /* remain: pauses were of no use to so many samples */
} Throttling;

typedef struct SamplingPace {
    size_t min_samples, max_samples;
    double seconds;         /* aim: stop sampling once this much time went into a mode, but never below min_samples */
    double precision;       /* stop, too, once half of the median's interval is no more than this share of the median; 0: do not */
    Throttling *throttling; /* NULL: nobody can tell */
} SamplingPace;

typedef struct Samples {
    double *seconds; /* per call, in the order taken */
    double *sm_mhz;  /* SM clock during each sample; NaN where it is unknown; NULL on the CPU */
    size_t count;
    size_t calls_per_sample; /* hot, graph: so many where one is too short, or up to a third fewer; seconds are per call */
    double between_seconds;  /* what between() took each time, which is not in `seconds`; 0: it was not called */
    const char *clock;       /* "cuda events", "steady clock", "rdtsc": how the time was taken */
    const char *stopped;     /* "precision", "samples" (their largest number), "seconds": why there are no more */
    char why_none[256];      /* if count is 0: the reason ("the variant synchronises, so it cannot be captured") */
} Samples;

/* GPU: by CUDA events, launches queued behind a blocking kernel with a time-out; cold flushes L2 (>= 2x its size) before
 * every sample and outside the events; enqueue and complete by the steady clock. stream: cudaStream_t. A mode that cannot be had
 * gives count 0 and a reason, STATUS_OK. */
Status measure_gpu(Mode mode, const MeasuredWork *work, void *stream, const SamplingPace *pace, Samples *out);
/* CPU: steady clock; cold reads a buffer of >= 2x the last-level cache before every sample. The modes of
 * a stream (graph, enqueue, complete) give a reason. */
Status measure_cpu(Mode mode, const MeasuredWork *work, const SamplingPace *pace, Samples *out);
/* Of a sample's calls a third fewer at most, so that a call cannot tell from earlier samples that it is the last, which is
 * compared. */
size_t measure_fewer(size_t calls);
/* So many calls of the mode hot, all after one another, and what they took with between(), by the steady clock; the first state is
 * made. */
Status measure_calls(const MeasuredWork *work, size_t calls, double *seconds);
Status measure_gpu_calls(const MeasuredWork *work, size_t calls, void *stream, double *seconds);
/* CPU: empties the caches, by reading memory that is kept for the next time. STATUS_UNSUPPORTED: there is none. */
Status measure_cool(void);
void measure_cool_end(void);
void samples_free(Samples *samples);
/* For the workers of Python libraries: vary_input() and vary_all() (base/vary.h), if what the harness calls is as it was. */
typedef struct VariedInput {
    int how, input, dtype; /* VaryHow, its number, DType */
    uint64_t key;
    size_t n;
    void *offsets; /* of its column, where rows come in another order */
    size_t rows;
    bool wide;
} VariedInput;
void measure_vary(const VariedInput *input, const void *a, const void *b, void *to);
/* For vary_gpu() (device/digest.h); valid until it is called again. */
const struct Vary *measure_varied(const VariedInput *input);
/* MeasuredWork's between() for them: rewrites the inputs that were named since the last call of measure_rewritten(NULL, ...). */
void measure_rewritten(const VariedInput *input, const void *a, const void *b, void *to);
Status measure_rewrite(void *unused, size_t state, bool called);
/* The same where the inputs are on a GPU; context: the stream. */
Status measure_rewrite_gpu(void *stream, size_t state, bool called);

/* They write and read a library's memory on the GPU by address, so that none of its code runs; on the legacy default stream. */
Status move_gpu(void *to, const void *from, size_t bytes);
Status fill_gpu(void *to, int byte, size_t bytes);
Status wait_gpu(void);
Status free_gpu(size_t *bytes);

/* For the workers of libraries: waits until the other threads rest, for a third of a second at most. */
void measure_watch(void);
/* MeasuredWork's rested(). */
Status measure_rested(void *unused);
/* Around a sample of a library, before Python goes on, which would run a handler that takes itself away; and is what the harness
 * calls as it was (measure/kept.h)? */
void measure_look_at_handlers(void);
Status measure_check_handlers(void);
/* An audit hook of Python's, which counts those that are set after it. */
int measure_hook(const char *event, void *given, void *told);
int measure_hooks(void);
/* A sample that the parent times, too: makes its calls but the last, replies `ok`, waits for the next command, makes the last
 * (calls: 0: none) and replies its seconds. If it fails it has not sent that reply: the caller replies with the error. Call
 * measure_check_handlers() afterwards. */
Status measure_asked(const MeasuredWork *work, bool cold, size_t calls, int commands, int replies, double *seconds);
/* Seconds that the threads ran from measure_watch() to the beginning of the sample's clock. */
double measure_worked(void);

/* Is an element that looks spoilt one? Of other types a result may look so. */
static inline bool spoiling_tells(DType dtype) {
    return dtype == DTYPE_F32 || dtype == DTYPE_F64;
}

/* Outputs, of which a few elements are spoilt in each state. */
typedef struct Spoiling {
    const Array *outputs;
    int count;
    uint64_t key;
    unsigned char poison;
} Spoiling;

/* ---- patches.cu: what a kernel writes between two calls. */
typedef struct Patches {
    Patch *on_device;
    size_t states, of_state; /* patches of each state */
    size_t checks;           /* the last ones of each: what has to be gone */
    size_t capacity;
    void **left; /* on the device: an element that was not; behind it, where no call was */
} Patches;

/* For the states below `states`: the rewritten inputs, and elements of the outputs that are poisoned, at places by the key. Waits
 * for the stream. */
Status patches_make(Patches *self, const Rewriting *inputs, int in_count, const Spoiling *spoiling, size_t states, void *stream);
/* Enqueues what brings the state above into this one. */
Status patches_enqueue(const Patches *self, size_t state, bool called, void *stream);
/* *element: one that a call left as it was spoilt, since patches_make(); NULL: none. Waits for the stream. */
Status patches_left(const Patches *self, void *stream, const void **element);
void patches_free(Patches *self);

/* Does a variant work on the stream it was given? Block that stream, run the variant, and watch its output.
 *
 * The outputs are on the device and every byte of them is `poison`. Queues a blocking kernel on `stream`, calls run, waits a
 * moment, and looks for bytes that are not poison any more. *stray: there are some, although the stream stood still. `stream` must
 * not wait for the legacy default stream (cudaStreamNonBlocking). A run that waits for its own stream is let go by the blocker's
 * time-out; nothing is concluded then. On return the device is idle. */
Status wrong_stream_gpu(Status (*run)(void *context), void *context, void *stream, const Array *outputs, int count,
                        unsigned char poison, bool *stray);

/* ---- disturb.cu: other blocks take a part of the processors, from a moment and for as long as `random` says, of the order of the
 * call's own time; now and then none. Their stream is one that nothing waits for. */
Status disturb_gpu(uint64_t random, double call_seconds);
/* Waits for them. */
void disturb_gpu_end(void);

/* ---- sampling.c: from one pilot sample to a whole series: how many samples a mode gets, and where they are kept.
 *
 * The pilot is one sample (hot and graph: repeated with more calls until it lasts SAMPLING_SECONDS_MIN). The series has
 * seconds / (wall time of the pilot, flush and waiting included) samples, within the pace. A pilot of more than 0.1 s per call is
 * kept as the first sample, so that a slow call is not repeated for nothing; a shorter one may carry one-off costs. */
/* A sample is made of enough calls to last this long, in the modes that may repeat: clocks and events resolve well below it. */
#define SAMPLING_SECONDS_MIN 50e-6

typedef struct Sample {
    SamplePlace place;
    double seconds; /* per call */
    double between; /* what was taken off, per call */
    double sm_mhz;  /* NaN: unknown */
    bool again;     /* another pilot follows, and this one does not count */
    double wall; /* what taking it cost on the steady clock, with flush, waiting and all; set by sampling_take, without taken() */
} Sample;

/* Takes the time; before(), taken() and after() of the work are called around it. */
typedef Status (*SamplingTake)(void *context, Sample *sample);

typedef struct SamplingSource {
    Mode mode;
    const MeasuredWork *work;
    SamplingTake take;
    void *context;
    const SamplingPace *pace;
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
Status sampling_run(const SamplingSource *source, const Sample *pilot, Samples *out);
/* The least number of samples where a call takes so long (0: not known): fewer than the pace says if these took more than twice
 * the mode's time, but three. */
size_t sampling_least(const SamplingPace *pace, double call_seconds);
/* After which sample the precision is looked at next, of `count` that the pilot bought: at most twice before the last. */
size_t sampling_round(const SamplingPace *pace, size_t taken, size_t count);
/* How many samples a pilot of this wall time buys. */
size_t sampling_count(const SamplingPace *pace, double pilot_wall);

__END_DECLS
