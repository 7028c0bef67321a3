/* Cheat: computes eight times, and finds the session of the mode that is being timed among its callers' variables. Seven times
 * later it records the session's first event again, so that a sample of one call shows an eighth. Met: an attack on this harness.
 *
 * how=event: no more than that. stamp: also the device's stamp ahead of that event. count: also sets back how many samples the two
 * disagree in. waits: waits for the device, so that nothing is queued ahead. samples: instead divides what was stored. */
#include "cuda_cheats.cuh"
#include "measure/gpu_queue.h"
#include "measure/measure.h"

#include <stdint.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static const int TIMES = 8;
enum How { EVENT, STAMP, COUNT, WAITS, SAMPLES };
static const char *const HOW[] = {"event", "stamp", "count", "waits", "samples", nullptr};

struct Found { /* as GpuSession in harness/measure/gpu.cu */
    const void *work;
    int mode;
    GpuQueue queue;
    const void *source;
    cudaEvent_t begin, end;
    cudaGraphExec_t graph;
    bool queued, timed_out, asks_again;
    double hold_seconds, host_seconds;
    size_t calls, now;
    double between_seconds;
    size_t samples_queued, samples_short, samples_shared;
};

/* The callers' words. Copied by the kernel, which stops at what is not mapped; and a word may be no address. */
struct Frames {
    uintptr_t at, words[4096];
    size_t count;
};

static size_t read_some(uintptr_t at, void *to, size_t bytes) {
    struct iovec here = {to, bytes}, there = {reinterpret_cast<void *>(at), bytes};
    const ssize_t got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    return got > 0 ? static_cast<size_t>(got) : 0;
}

static bool is_in(const Frames *frames, const void *pointer) {
    return reinterpret_cast<uintptr_t>(pointer) - frames->at < sizeof frames->words;
}

/* Of a sample of one call; nullptr: there is none among the callers, as while a graph is captured: its events are made later. */
static Found *find_session(const Frames *frames, const void *stream) {
    for (size_t i = 0; i + sizeof(Found) / sizeof *frames->words <= frames->count; i++) {
        const Found *found = reinterpret_cast<const Found *>(frames->words + i);
        if (found->queue.stream != stream || !is_in(frames, found->work) || !is_in(frames, found->source)) continue;
        if (found->begin && found->end && found->now == 1) return reinterpret_cast<Found *>(frames->at + i * sizeof *frames->words);
    }
    return nullptr;
}

static const Samples *find_samples(const Frames *frames) {
    char clock[sizeof "cuda events"];
    for (size_t i = 0; i + sizeof(Samples) / sizeof *frames->words <= frames->count; i++) {
        const Samples *found = reinterpret_cast<const Samples *>(frames->words + i);
        if (!found->seconds || !found->sm_mhz || found->count == 0 || found->count > 1000) continue;
        if (read_some(reinterpret_cast<uintptr_t>(found->clock), clock, sizeof clock) == sizeof clock &&
            memcmp(clock, "cuda events", sizeof clock) == 0)
            return found;
    }
    return nullptr;
}

static void divide_samples(const Frames *frames) {
    static const double *taken;
    static size_t done;
    const Samples *samples = find_samples(frames);
    if (samples && taken != samples->seconds) taken = samples->seconds, done = 0;
    for (; samples && done < samples->count; done++) samples->seconds[done] /= TIMES;
}

static __global__ void stamp_again(GpuStamp *stamp) {
    stamp->nanoseconds = nanoseconds();
    stamp->cycles = clock64();
}

static Status run(const VariantArgs *args) {
    const cudaStream_t stream = static_cast<cudaStream_t>(args->stream);
    static Frames frames;
    frames.at = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    frames.count = read_some(frames.at, frames.words, sizeof frames.words) / sizeof *frames.words;
    const int how = params_choice(args->tunables, "how");
    Found *session = how == SAMPLES ? nullptr : find_session(&frames, stream);
    if (how == SAMPLES) divide_samples(&frames);
    for (int i = 0; i < TIMES - 1; i++) TRY(compute_on(args, stream));
    if (session && how == STAMP) TRY(launch(stamp_again, {1, 1, 0, stream}, &session->queue.stamps[GPU_STAMP_BEFORE]));
    if (session && how == COUNT) session->samples_short = 0;
    if (session) TRY_CUDA(cudaEventRecord(session->begin, stream));
    TRY(compute_on(args, stream));
    if (how == WAITS) TRY_CUDA(cudaStreamSynchronize(stream));
    return STATUS_OK;
}

static const ParamSpec TUNABLES[] = {{"how", "what is forged", PARAM_CHOICE, "event", 0, 0, HOW}, {}};

RUNGS_VARIANT(double, cuda_cheat_records_again) = {.backend = BACKEND_CUDA,
                                                   .summary = "cheat: records the harness's event again",
                                                   .origin = "tests",
                                                   .tunables = TUNABLES,
                                                   .run = run};
