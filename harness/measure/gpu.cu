/* Timing on a GPU: CUDA events around the work, everything queued behind a blocking kernel so that the host's latency is not in it;
 * and, for enqueue and complete, the host's clock around a call on an idle stream.
 *
 * complete ends when cudaStreamSynchronize returns, under the driver's default scheduling: the host spins, or spins and yields if
 * there are more contexts than processors, and does not sleep on an interrupt. The microseconds from the end of the last kernel to
 * that return depend on driver and host. Every program that waits this way has them, so they are not subtracted. */
#include "kernel.h"
#include "measure/gpu_queue.h"
#include "measure/measure.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

/* The queue of launches is about a thousand deep; past it a launch waits for the device, that is for the blocking kernel. */
static const size_t CALLS_MAX = 64;
static const double HOLD_SECONDS = 10;
/* A call that waits for the device is found by the pilot: it returns only when the hold times out. So may one whose host was busy
 * or loaded a kernel late, hence a second pilot, with a hold several times as long as the host needed for the call without one. */
static const double PILOT_HOLD_SECONDS = 0.05, PILOT_HOLD_MOST_SECONDS = 1, HOLD_PER_HOST_SECOND = 4;
enum { PILOTS_HELD = 2 };
/* The stamps lie about 3 us outside of the events (H200). */
static const double STAMPS_SECONDS = 8e-6, STAMPS_AGREE = 1.02;
/* Of these the stamps take 20 us at least, the hold's end and the host's learning of it about ten (H200). */
static const double HOST_SECONDS = 60e-6;
static const char CLOCK_QUEUED[] = "cuda events";
static const char CLOCK_NOT_QUEUED[] = "cuda events, not queued ahead: the call waits for the device";
static const char CLOCK_HOST[] = "steady clock";

struct GpuSession {
    const MeasuredWork *work;
    Mode mode;
    GpuQueue queue;
    const SamplingSource *source;
    cudaEvent_t begin, end;
    cudaGraphExec_t graph;      /* in MODE_GRAPH: one call */
    bool queued;                /* launches go behind the blocking kernel */
    bool timed_out, asks_again; /* it did, and the pilot is taken once more if it does */
    double hold_seconds;
    double host_seconds;                  /* from the sample's first call until its last returned */
    size_t calls, now;                    /* of a sample; of the present one */
    double between_seconds;               /* of one between(); 0: none */
    size_t samples_queued, samples_short; /* by the device's timer these took longer than by the events */
    size_t samples_shared;                /* something else ran on the held device, or between the hold and the sample */
    bool whole;                           /* the hold was of all processors */
};

static Status call_once(GpuSession *session) {
    if (session->mode != MODE_GRAPH) return session->work->run(session->work->context);
    TRY_CUDA(cudaGraphLaunch(session->graph, session->queue.stream));
    return STATUS_OK;
}

/* All calls of a sample; its first state is made. */
static Status call_all(GpuSession *session) {
    const MeasuredWork *work = session->work;
    TRY(call_once(session));
    for (size_t left = session->now - 1; left-- > 0;) {
        if (work->between) TRY(work->between(work->between_context, left, true));
        TRY(call_once(session));
    }
    return STATUS_OK;
}

static bool rewrites(const GpuSession *session) {
    return session->work->between && session->now > 1;
}

/* Also a launch that failed without run() saying so: the runtime remembers it. The host asks, also where a variant has set that it
 * sleeps while it waits: take_once() needs the time that the thread spends. */
static Status wait_for_sample(const GpuSession *session) {
    const cudaError_t launched = cudaGetLastError();
    while (cudaStreamQuery(session->queue.stream) == cudaErrorNotReady) continue;
    const cudaError_t waited = cudaStreamSynchronize(session->queue.stream);
    (void)cudaGetLastError(); /* "not ready" */
    const cudaError_t error = waited != cudaSuccess ? waited : launched;
    if (error == cudaSuccess) return STATUS_OK;
    return status_fail(STATUS_DEVICE, "%s sample: %s (%s)", mode_name(session->mode), cudaGetErrorString(error),
                       cudaGetErrorName(error));
}

/* Before anything of a sample is queued: what a call does on another stream waits as its work does. */
static Status hold(GpuSession *session) {
    session->whole = true;
    return session->queued ? gpu_queue_hold_device(&session->queue, session->hold_seconds, &session->whole) : STATUS_OK;
}

static Status enqueue_sample(GpuSession *session) {
    GpuQueue *queue = &session->queue;
    if (session->mode == MODE_COLD) TRY(gpu_queue_unpin(queue));
    if (rewrites(session)) TRY(session->work->between(session->work->between_context, session->now - 1, false));
    if (session->mode == MODE_COLD) TRY(gpu_queue_flush(queue));
    TRY(hold(session));
    TRY(gpu_queue_stamp(queue, GPU_STAMP_BEFORE));
    /* What the host does in a call that is not queued ahead is part of its time: nothing of it may pass behind flush and stamp. */
    if (!session->queued) TRY_CUDA(cudaStreamSynchronize(queue->stream));
    const double begin = clock_seconds(); /* outside the events */
    TRY_CUDA(cudaEventRecord(session->begin, queue->stream));
    TRY(call_all(session));
    TRY_CUDA(cudaEventRecord(session->end, queue->stream));
    session->host_seconds = clock_seconds() - begin;
    return gpu_queue_stamp(queue, GPU_STAMP_AFTER);
}

static Status no_graph(Samples *out, const char *step, const char *why) {
    snprintf(out->why_none, sizeof out->why_none, "no CUDA graph: %s: %s", step, why);
    return STATUS_OK;
}

/* Records one call. What cannot be captured is no failure: why_none says what stood in the way. */
static Status capture(GpuSession *session, Samples *out) {
    const cudaStream_t stream = session->queue.stream;
    cudaError_t error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        return no_graph(out, "cudaStreamBeginCapture", cudaGetErrorString(error));
    }
    const Status ran = session->work->run(session->work->context);
    cudaGraph_t graph = nullptr;
    size_t nodes = 0;
    error = cudaStreamEndCapture(stream, &graph);
    if (error == cudaSuccess && ran == STATUS_OK) error = cudaGraphGetNodes(graph, nullptr, &nodes);
    if (ran != STATUS_OK)
        (void)no_graph(out, "during capture the call failed", status_message());
    else if (error != cudaSuccess)
        (void)no_graph(out, "capture", cudaGetErrorString(error));
    else if (nodes == 0)
        (void)no_graph(out, "capture", "the call enqueues nothing on its stream");
    else if ((error = cudaGraphInstantiate(&session->graph, graph, 0)) != cudaSuccess)
        (void)no_graph(out, "cudaGraphInstantiate", cudaGetErrorString(error));
    if (error != cudaSuccess) session->graph = nullptr;
    if (graph) (void)cudaGraphDestroy(graph);
    (void)cudaGetLastError(); /* a refused capture is not the device's fault */
    TRY_CUDA(cudaStreamSynchronize(stream));
    return STATUS_OK;
}

/* Of the thread on its processor, so that what else runs there adds nothing; and all that passed, where that clock is coarse. */
typedef struct HostClock {
    double passed, spent;
} HostClock;
static HostClock host_clock() {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return {clock_seconds(), static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec)};
}
static double host_seconds_since(const HostClock *begin) {
    const HostClock end = host_clock();
    return fmin(end.passed - begin->passed, end.spent - begin->spent);
}

static Status take_once(GpuSession *session, Sample *sample) {
    session->now = measure_fewer(session->calls);
    const bool queued = session->queued;
    const Status enqueued = enqueue_sample(session);
    const HostClock begin = host_clock(); /* run() has returned: events and stamps can be forged by what it queued, not this */
    gpu_queue_release(&session->queue);   /* whatever happened: nothing may stay blocked */
    if (enqueued != STATUS_OK) {
        (void)cudaStreamSynchronize(session->queue.stream);
        return enqueued;
    }
    TRY(wait_for_sample(session));
    const double waited = host_seconds_since(&begin) + (queued ? 0 : session->host_seconds);
    session->timed_out = queued && gpu_queue_timed_out(&session->queue);
    float milliseconds = 0;
    TRY_CUDA(cudaEventElapsedTime(&milliseconds, session->begin, session->end));
    const double all = 1e-3 * static_cast<double>(milliseconds), calls = static_cast<double>(session->now);
    if (queued && !session->timed_out) {
        session->samples_queued++;
        session->samples_shared += !session->whole || gpu_queue_late(&session->queue);
        session->samples_short += gpu_queue_seconds(&session->queue) > STAMPS_AGREE * all + STAMPS_SECONDS;
    }
    sample->place.longer = waited > STAMPS_AGREE * all + HOST_SECONDS;
    const double own = rewrites(session) ? session->between_seconds * (calls - 1) : 0;
    sample->seconds = fmax(all - own, all / 1024) / calls; /* never 0 */
    sample->between = all / calls - sample->seconds;
    sample->sm_mhz = gpu_queue_mhz(&session->queue);
    return STATUS_OK;
}

/* A few samples may be interrupted between a stamp and an event. */
static Status check_events(const GpuSession *session) {
    if (2 * session->samples_shared > session->samples_queued)
        return status_fail(STATUS_CHECK,
                           "%s: before %zu of %zu samples the GPU did other work while all its processors were held or just let "
                           "go: on a stream of the variant's own, or of another process under MPS",
                           mode_name(session->mode), session->samples_shared, session->samples_queued);
    if (2 * session->samples_short <= session->samples_queued) return STATUS_OK;
    return status_fail(STATUS_CHECK, "%s: %zu of %zu samples are shorter by CUDA events than by the device's timer",
                       mode_name(session->mode), session->samples_short, session->samples_queued);
}

/* A sample whose hold timed out had waiting in it: it is taken again, and the rest of the series, without the hold. */
static Status take_events(void *context, Sample *sample) {
    GpuSession *session = static_cast<GpuSession *>(context);
    TRY(take_once(session, sample));
    if (!session->timed_out) return STATUS_OK;
    session->queued = false;
    sample->again = session->asks_again;
    if (sample->again) return STATUS_OK;
    if (session->work->after) TRY(session->work->after(session->work->context));
    TRY(sampling_prepare(session->source, sample));
    return take_once(session, sample);
}

static bool by_host(Mode mode) {
    return mode == MODE_ENQUEUE || mode == MODE_COMPLETE;
}

/* Host time until the call returns, or until its work is done; the queue is empty when the call is made. */
static Status take_host(void *context, Sample *sample) {
    GpuSession *session = static_cast<GpuSession *>(context);
    TRY_CUDA(cudaStreamSynchronize(session->queue.stream));
    const double begin = clock_seconds();
    TRY(call_once(session));
    if (session->mode == MODE_COMPLETE) TRY_CUDA(cudaStreamSynchronize(session->queue.stream));
    sample->seconds = clock_seconds() - begin;
    return wait_for_sample(session);
}

/* Can this work be queued behind the blocking kernel? One sample tells, unless it has to be asked again. */
static Status pilot_queued(const SamplingSource *source, GpuSession *session, Sample *pilot) {
    session->hold_seconds = PILOT_HOLD_SECONDS;
    session->asks_again = true;
    for (int i = 0; i < PILOTS_HELD && !session->queued; i++) {
        session->queued = true;
        TRY(sampling_pilot(source, pilot));
        session->hold_seconds =
            fmin(fmax(PILOT_HOLD_SECONDS, HOLD_PER_HOST_SECOND * session->host_seconds), PILOT_HOLD_MOST_SECONDS);
    }
    session->hold_seconds = HOLD_SECONDS;
    session->asks_again = false;
    return session->queued ? STATUS_OK : sampling_pilot(source, pilot);
}

static __global__ void empty_kernel() {}

static Status capture_empty(const GpuSession *session, cudaGraphExec_t *out) {
    cudaGraph_t graph = nullptr;
    TRY_CUDA(cudaStreamBeginCapture(session->queue.stream, cudaStreamCaptureModeThreadLocal));
    const Status launched = launch(empty_kernel, {1, 1, 0, session->queue.stream});
    TRY_CUDA(cudaStreamEndCapture(session->queue.stream, &graph));
    const cudaError_t error = launched == STATUS_OK ? cudaGraphInstantiate(out, graph, 0) : cudaSuccess;
    (void)cudaGraphDestroy(graph);
    TRY(launched);
    TRY_CUDA(error);
    return STATUS_OK;
}

static Status enqueue_left_out(const GpuSession *session, bool rewriting, cudaGraphExec_t empty) {
    const MeasuredWork *work = session->work;
    for (size_t left = CALLS_MAX; left-- > 0;) {
        if (rewriting) TRY(work->between(work->between_context, left, false));
        if (empty) TRY_CUDA(cudaGraphLaunch(empty, session->queue.stream));
    }
    return STATUS_OK;
}

/* As a sample is taken, with `empty` in the place of the calls; the least of a few times, for one of them. */
static Status time_left_out(GpuSession *session, bool rewriting, cudaGraphExec_t empty, double *least) {
    enum { TIMES = 5 };
    *least = INFINITY;
    for (int i = 0; i < TIMES; i++) {
        if (rewriting) TRY(session->work->between(session->work->between_context, CALLS_MAX, false));
        TRY(hold(session));
        TRY_CUDA(cudaEventRecord(session->begin, session->queue.stream));
        const Status enqueued = enqueue_left_out(session, rewriting, empty);
        const cudaError_t recorded = cudaEventRecord(session->end, session->queue.stream);
        gpu_queue_release(&session->queue);
        TRY(enqueued);
        TRY_CUDA(recorded);
        TRY(wait_for_sample(session));
        float milliseconds = 0;
        TRY_CUDA(cudaEventElapsedTime(&milliseconds, session->begin, session->end));
        *least = fmin(*least, 1e-3 * static_cast<double>(milliseconds) / static_cast<double>(CALLS_MAX));
    }
    return STATUS_OK;
}

/* What between() takes in a sample. Beside a graph's launch it takes longer than alone. */
static Status measure_between(GpuSession *session) {
    cudaGraphExec_t empty = nullptr;
    double with, without = 0;
    if (session->mode == MODE_GRAPH) TRY(capture_empty(session, &empty));
    Status status = time_left_out(session, true, empty, &with);
    if (status == STATUS_OK && empty) status = time_left_out(session, false, empty, &without);
    if (empty) (void)cudaGraphExecDestroy(empty);
    session->between_seconds = fmax(with - without, 0);
    return status;
}

static Status pilot_events(const SamplingSource *source, GpuSession *session, Sample *pilot) {
    TRY(session->work->host_counts ? sampling_pilot(source, pilot) : pilot_queued(source, session, pilot));
    if (session->mode == MODE_COLD) return STATUS_OK;
    const bool grows = pilot->seconds < SAMPLING_SECONDS_MIN && !session->work->after;
    if (grows && session->work->between) TRY(measure_between(session));
    /* One call carries the events' own floor, so the first estimate asks for too few calls. */
    return sampling_grow(source, &session->calls, CALLS_MAX, pilot);
}

/* Some graphs can be captured but not replayed (memory that a call allocates and keeps). If the device is well, that is a reason.
 */
static Status replay_refused(GpuSession *session, Status status, Samples *out) {
    (void)cudaGetLastError();
    if (cudaStreamSynchronize(session->queue.stream) != cudaSuccess) return status;
    return no_graph(out, "replay", status_message());
}

static Status take_series(GpuSession *session, const SamplingPace *pace, Samples *out) {
    const bool host = by_host(session->mode);
    const SamplingSource source = {session->mode, session->work, host ? take_host : take_events, session, pace, true};
    session->source = &source;
    if (session->mode == MODE_GRAPH) {
        if (session->work->after) return no_graph(out, "the call allocates memory", "a replay would write to the old address");
        Sample first = {};
        first.place.pilot = true;
        TRY(sampling_prepare(&source, &first));
        TRY(capture(session, out));
        if (!session->graph) return STATUS_OK;
    }
    TRY_CUDA(cudaEventCreate(&session->begin));
    TRY_CUDA(cudaEventCreate(&session->end));
    Sample pilot;
    const Status piloted = host ? sampling_pilot(&source, &pilot) : pilot_events(&source, session, &pilot);
    if (piloted == STATUS_DEVICE && session->mode == MODE_GRAPH) return replay_refused(session, piloted, out);
    TRY(piloted);
    TRY(sampling_run(&source, &pilot, out));
    TRY(check_events(session));
    out->calls_per_sample = session->calls;
    out->between_seconds = session->work->between && session->calls > 1 ? session->between_seconds : 0;
    out->clock = host ? CLOCK_HOST : session->queued ? CLOCK_QUEUED : CLOCK_NOT_QUEUED;
    return STATUS_OK;
}

Status measure_gpu(Mode mode, const MeasuredWork *work, void *stream, const SamplingPace *pace, Samples *out) {
    *out = Samples{};
    out->calls_per_sample = 1;
    out->clock = by_host(mode) ? CLOCK_HOST : CLOCK_QUEUED;
    GpuSession session = {};
    session.work = work;
    session.mode = mode;
    session.calls = 1;
    session.hold_seconds = HOLD_SECONDS;
    Status status = gpu_queue_open(&session.queue, stream, mode == MODE_COLD);
    if (status == STATUS_MEMORY) {
        snprintf(out->why_none, sizeof out->why_none, "%s", status_message());
        return STATUS_OK;
    }
    if (status == STATUS_OK) status = take_series(&session, pace, out);
    if (session.graph) (void)cudaGraphExecDestroy(session.graph);
    if (session.begin) (void)cudaEventDestroy(session.begin);
    if (session.end) (void)cudaEventDestroy(session.end);
    gpu_queue_close(&session.queue);
    return status;
}

Status measure_gpu_calls(const MeasuredWork *work, size_t calls, void *stream, double *seconds) {
    const cudaStream_t ordered = static_cast<cudaStream_t>(stream);
    TRY_CUDA(cudaStreamSynchronize(ordered));
    const double begin = clock_seconds();
    double enqueued = 0;
    TRY(measure_calls(work, calls, &enqueued));
    TRY_CUDA(cudaStreamSynchronize(ordered));
    *seconds = clock_seconds() - begin;
    return STATUS_OK;
}

/* ---- Does a variant work on the stream it was given? */

enum { LOOK_THREADS = 256, LOOK_BLOCKS = 256 };
/* A variant that waits for its own stream, as every cudaFree does, is let go after this, and then nothing is concluded. Any other
 * only queues its work, and the watching is over well before. */
static const double WATCH_HOLD_SECONDS = 0.25;
static const long WATCH_NANOSECONDS = 20 * 1000 * 1000; /* long enough for a stray kernel to have written something */

struct Watch {
    GpuQueue queue;
    cudaStream_t aside; /* waits for nothing */
    unsigned *found;    /* on the device: how many bytes are not poison */
    const Array *outputs;
    int count;
    unsigned char poison;
};

static __global__ void __launch_bounds__(LOOK_THREADS)
    look_kernel(const unsigned char *bytes, size_t count, unsigned char poison, unsigned *found) {
    const size_t words = count / sizeof(uint4), stride = (size_t)gridDim.x * blockDim.x;
    const size_t thread = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    const uint4 *word = reinterpret_cast<const uint4 *>(bytes); /* an output begins at a multiple of 256 bytes */
    const unsigned four = 0x01010101u * poison;
    bool other = false;
    for (size_t i = thread; i < words; i += stride) {
        const uint4 w = word[i];
        other = other || w.x != four || w.y != four || w.z != four || w.w != four;
    }
    for (size_t i = words * sizeof(uint4) + thread; i < count; i += stride) other = other || bytes[i] != poison;
    if (other) atomicAdd(found, 1u);
}

/* Is there anything but poison in the outputs? */
static Status look(Watch *watch, bool *other) {
    unsigned found = 0;
    TRY_CUDA(cudaMemsetAsync(watch->found, 0, sizeof found, watch->aside));
    for (int i = 0; i < watch->count; i++)
        TRY(launch(look_kernel, {LOOK_BLOCKS, LOOK_THREADS, 0, watch->aside},
                   static_cast<const unsigned char *>(watch->outputs[i].data), array_bytes(&watch->outputs[i]), watch->poison,
                   watch->found));
    TRY_CUDA(cudaMemcpyAsync(&found, watch->found, sizeof found, cudaMemcpyDeviceToHost, watch->aside));
    TRY_CUDA(cudaStreamSynchronize(watch->aside));
    *other = found != 0;
    return STATUS_OK;
}

static Status watch_call(Watch *watch, Status (*run)(void *), void *context, bool *stray) {
    bool other = false;
    TRY(look(watch, &other)); /* also loads the kernel: under the blocking kernel that could wait for ever */
    if (other) return status_fail(STATUS_INTERNAL, "the outputs were to be poisoned before the stream is watched");
    TRY(gpu_queue_hold(&watch->queue, WATCH_HOLD_SECONDS));
    Status status = run(context);
    const struct timespec moment = {0, WATCH_NANOSECONDS};
    nanosleep(&moment, NULL);
    if (status == STATUS_OK) status = look(watch, &other);
    gpu_queue_release(&watch->queue);
    TRY_CUDA(cudaStreamSynchronize(watch->queue.stream));
    TRY_CUDA(cudaDeviceSynchronize()); /* whatever strayed is over before anybody reads on */
    if (status == STATUS_OK && !gpu_queue_timed_out(&watch->queue)) *stray = other;
    return status;
}

Status wrong_stream_gpu(Status (*run)(void *), void *context, void *stream, const Array *outputs, int count, unsigned char poison,
                        bool *stray) {
    Watch watch = {};
    void *found = NULL;
    *stray = false;
    watch.outputs = outputs;
    watch.count = count;
    watch.poison = poison;
    TRY(gpu_queue_open(&watch.queue, stream, false));
    Status status = STATUS_OK;
    if (cudaMalloc(&found, sizeof *watch.found) != cudaSuccess ||
        cudaStreamCreateWithFlags(&watch.aside, cudaStreamNonBlocking) != cudaSuccess)
        status = status_fail(STATUS_DEVICE, "no second stream to watch from");
    watch.found = static_cast<unsigned *>(found);
    if (status == STATUS_OK) status = watch_call(&watch, run, context, stray);
    if (watch.aside) (void)cudaStreamDestroy(watch.aside);
    if (found) (void)cudaFree(found);
    gpu_queue_close(&watch.queue);
    return status;
}
