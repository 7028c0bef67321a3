/* What only a GPU can tell of the measuring and memory modules: known durations come out right in every mode, waiting work is
 * noticed, guards hold. One line per check; exit 0 all good, 1 a check failed, 77 no GPU. */
#include "base/stats.h"
#include "device/device.h"
#include "gpu_check.h"
#include "kernel.h"
#include "measure/ceilings.h"
#include "measure/gpu_queue.h"
#include "measure/limit.h"
#include "measure/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static cudaStream_t stream;
static __device__ unsigned long long nanoseconds() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

static __global__ void spin_time(unsigned long long duration) {
    const unsigned long long begin = nanoseconds();
    while (nanoseconds() - begin < duration) continue;
}

static __global__ void spin_cycles(long long cycles) {
    const long long begin = clock64();
    while (clock64() - begin < cycles) continue;
}

static __global__ void read_all(const uint4 *words, size_t count, unsigned *sink) {
    unsigned sum = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        sum ^= words[i].x ^ words[i].y ^ words[i].z ^ words[i].w;
    if (sum == 0x9e3779b9u) *sink = sum;
}

/* Work of many kinds; `launches` counts calls. */
struct Job {
    unsigned long long spin_ns;
    long long cycles;
    long host_ns; /* the host's own, before it launches */
    int launches, fails_at, calls;
    bool waits, allocates, silent;
    bool keeps; /* allocates from a pool what put_away() releases */
    void *kept;
    const uint4 *words;
    size_t count;
};

static Status work(void *context) {
    Job *job = static_cast<Job *>(context);
    job->calls++;
    if (job->calls == job->fails_at) return status_fail(STATUS_CHECK, "call %d failed on purpose", job->calls);
    void *memory = nullptr;
    const struct timespec own = {0, job->host_ns};
    if (job->host_ns > 0) (void)nanosleep(&own, NULL);
    if (job->allocates) TRY_CUDA(cudaMalloc(&memory, 1 << 20));
    if (job->keeps && job->kept) return status_fail(STATUS_CHECK, "call %d came before the last was put away", job->calls);
    if (job->keeps) TRY_CUDA(cudaMallocAsync(&job->kept, 1 << 20, stream));
    const int launches = job->silent ? 0 : job->launches ? job->launches : 1;
    for (int i = 0; i < launches; i++) {
        if (job->words)
            TRY(launch(read_all, {264, 512, 0, stream}, job->words, job->count, (unsigned *)job->words));
        else if (job->cycles)
            TRY(launch(spin_cycles, {1, 1, 0, stream}, job->cycles));
        else
            TRY(launch(spin_time, {1, 1, 0, stream}, job->spin_ns));
    }
    if (job->waits) TRY_CUDA(cudaStreamSynchronize(stream));
    if (job->allocates) TRY_CUDA(cudaFree(memory));
    return STATUS_OK;
}

static Status put_away(void *context) {
    Job *job = static_cast<Job *>(context);
    void *const kept = job->kept;
    job->kept = nullptr;
    if (kept) TRY_CUDA(cudaFreeAsync(kept, stream));
    return STATUS_OK;
}

static const SamplingPace LIMITS = {5, 15, 0.5};

/* Measures; a Status that is not the expected one is a failed check. Leaves `samples` to the caller to free. */
static Stats measure(Mode mode, Job *job, Samples *samples, Status expected, const char *what) {
    MeasuredWork measured = {work, job};
    measured.after = job->keeps ? put_away : nullptr;
    measured.host_counts = job->allocates;
    const Status status = measure_gpu(mode, &measured, stream, &LIMITS, samples);
    if (status != expected) check_status(status, expected, what);
    return stats_of(samples->seconds, samples->count);
}

static void known_durations() {
    static const struct {
        Mode mode;
        unsigned long long spin_ns;
        double over; /* event floor, launch gaps and ticks of the timer, in seconds */
        const char *what, *expected;
    } rows[] = {
        {MODE_COLD, 1000000, 15e-6, "cold, spin of 1 ms [us]", "1000 to 1015 (and 2%)"},
        {MODE_HOT, 1000000, 15e-6, "hot, spin of 1 ms [us]", "1000 to 1015 (and 2%)"},
        {MODE_GRAPH, 1000000, 15e-6, "graph, spin of 1 ms [us]", "1000 to 1015 (and 2%)"},
        {MODE_COLD, 20000, 10e-6, "cold, spin of 20 us [us]", "20 to 30"},
        {MODE_HOT, 20000, 5e-6, "hot, spin of 20 us [us]", "20 to 25"},
        {MODE_GRAPH, 20000, 5e-6, "graph, spin of 20 us [us]", "20 to 25"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Job job = {};
        job.spin_ns = rows[i].spin_ns;
        Samples samples;
        const Stats stats = measure(rows[i].mode, &job, &samples, STATUS_OK, rows[i].what);
        const double spun = 1e-9 * (double)rows[i].spin_ns;
        check(stats.median >= 0.98 * spun && stats.median <= 1.02 * spun + rows[i].over, rows[i].what, "%.2f", 1e6 * stats.median,
              rows[i].expected);
        check(samples.count >= 5 && strcmp(samples.clock ? samples.clock : "", "cuda events") == 0, "    samples, by queued events",
              "%.0f", (double)samples.count, "5 or more");
        printf("      calls per sample %zu, quartiles %.2f to %.2f us\n", samples.calls_per_sample, 1e6 * stats.q1, 1e6 * stats.q3);
        samples_free(&samples);
    }
}

static void enqueue_does_not_wait_and_complete_does() {
    Job job = {};
    job.spin_ns = 5000000;
    Samples samples;
    Stats stats = measure(MODE_ENQUEUE, &job, &samples, STATUS_OK, "enqueue");
    check(stats.median < 1e-3, "enqueue, spin of 5 ms: host time [us]", "%.2f", 1e6 * stats.median, "far below 5000");
    samples_free(&samples);
    stats = measure(MODE_COMPLETE, &job, &samples, STATUS_OK, "complete");
    check(stats.median > 4.9e-3 && stats.median < 5.5e-3, "complete, spin of 5 ms: host time [us]", "%.2f", 1e6 * stats.median,
          "5000 and what launching and waiting take");
    check(samples.calls_per_sample == 1 && strcmp(samples.clock ? samples.clock : "", "steady clock") == 0,
          "    by the host's clock", "%.0f", (double)samples.calls_per_sample, "1 call a sample");
    samples_free(&samples);
    job.waits = true;
    stats = measure(MODE_ENQUEUE, &job, &samples, STATUS_OK, "enqueue, waiting");
    check(stats.median > 4.9e-3, "enqueue, the same but waiting [us]", "%.2f", 1e6 * stats.median, "5000 or more");
    samples_free(&samples);
}

static void waiting_work_is_noticed(bool allocates, const char *name) {
    char what[96];
    Job job = {};
    job.spin_ns = 1000000;
    job.waits = !allocates;
    job.allocates = allocates;
    Samples samples;
    for (int mode = MODE_COLD; mode <= MODE_HOT; mode++) {
        const double begin = clock_seconds();
        const Stats stats = measure((Mode)mode, &job, &samples, STATUS_OK, name);
        snprintf(what, sizeof what, "%s, %s [us]", mode == MODE_COLD ? "cold" : "hot", name);
        check(stats.median >= 0.98e-3 && stats.median < 3e-3 && samples.clock && strstr(samples.clock, "not queued"), what, "%.2f",
              1e6 * stats.median, "1000 to 3000, not queued ahead");
        check(clock_seconds() - begin < 1.5, "    and it took [s]", "%.2f", clock_seconds() - begin, "below 1.5");
        samples_free(&samples);
    }
    (void)measure(MODE_GRAPH, &job, &samples, STATUS_OK, name);
    snprintf(what, sizeof what, "graph, %s: samples", name);
    check(samples.count == 0 && samples.why_none[0] != '\0', what, "%.0f", (double)samples.count, samples.why_none);
    samples_free(&samples);
}

/* What a call leaves is put away after each sample, also after the one that shows that it waits. */
static void memory_of_a_pool_is_queued() {
    for (int waits = 0; waits < 2; waits++) {
        Job job = {};
        job.spin_ns = 1000000;
        job.keeps = true;
        job.waits = waits == 1;
        Samples samples;
        const Stats stats = measure(MODE_COLD, &job, &samples, STATUS_OK, "memory of a pool");
        const bool queued = samples.clock && strcmp(samples.clock, "cuda events") == 0;
        check(stats.median >= 0.98e-3 && queued == !job.waits && !job.kept,
              waits ? "cold, cudaMallocAsync, then waits [us]" : "cold, cudaMallocAsync [us]", "%.2f", 1e6 * stats.median,
              waits ? "1000 or more, not queued ahead" : "1000 or more, queued ahead");
        samples_free(&samples);
    }
}

/* Longer than the pilot's first hold. */
static void a_slow_host_waits_for_nothing() {
    Samples samples;
    Job job = {};
    job.spin_ns = 1000000;
    job.host_ns = 150000000;
    const Stats stats = measure(MODE_COLD, &job, &samples, STATUS_OK, "150 ms of the host");
    check(stats.median >= 0.98e-3 && stats.median < 1.5e-3 && samples.clock && strcmp(samples.clock, "cuda events") == 0,
          "cold, 150 ms of the host before a spin of 1 ms [us]", "%.2f", 1e6 * stats.median, "1000, queued ahead");
    samples_free(&samples);
}

static void odd_work() {
    Samples samples;
    Job job = {};
    job.launches = 3000; /* more than the queue of launches holds */
    Stats stats = measure(MODE_COLD, &job, &samples, STATUS_OK, "3000 launches");
    check(samples.count >= 5, "cold, 3000 launches per call [us]", "%.1f", 1e6 * stats.median, samples.clock ? samples.clock : "");
    samples_free(&samples);

    job = Job{};
    job.silent = true;
    (void)measure(MODE_GRAPH, &job, &samples, STATUS_OK, "nothing enqueued");
    check(samples.count == 0 && samples.why_none[0] != '\0', "graph, nothing enqueued: samples", "%.0f", (double)samples.count,
          samples.why_none);
    samples_free(&samples);

    for (int mode = MODE_COLD; mode < MEASURE_MODE_COUNT; mode++) {
        job = Job{};
        job.fails_at = 4;
        if (mode == MODE_GRAPH) continue; /* captured once, so its fourth call never comes */
        (void)measure((Mode)mode, &job, &samples, STATUS_CHECK, "failing work");
        check(samples.count == 0, "work that fails in its 4th call: samples", "%.0f", (double)samples.count, "0");
        samples_free(&samples);
    }
    job = Job{};
    stats = measure(MODE_HOT, &job, &samples, STATUS_OK, "after failures");
    check(samples.count >= 5, "and the stream works afterwards: hot, empty spin [us]", "%.2f", 1e6 * stats.median,
          "5 samples or more");
    samples_free(&samples);
}

/* While the whole device is held, a kernel of another stream waits; while one runs, the device is not held. */
static void device_is_held(GpuQueue *queue) {
    cudaStream_t aside = NULL;
    bool whole = false;
    (void)cudaStreamCreateWithFlags(&aside, cudaStreamNonBlocking);
    (void)launch(spin_time, {1, 1, 0, aside}, 1000ull); /* it is loaded now: that would wait for the hold's end */
    (void)cudaStreamSynchronize(aside);
    check_status(gpu_queue_hold_device(queue, 5, &whole), STATUS_OK, "hold of the device");
    check_status(launch(spin_time, {1, 1, 0, aside}, 1000ull), STATUS_OK, "    a kernel beside it");
    const struct timespec moment = {0, 20 * 1000 * 1000};
    nanosleep(&moment, NULL);
    check(whole && cudaStreamQuery(aside) == cudaErrorNotReady, "    waits while all processors are held", "%.0f", whole, "1");
    check_status(gpu_queue_stamp(queue, GPU_STAMP_BEFORE), STATUS_OK, "    and a stamp behind it");
    check_status(gpu_queue_stamp(queue, GPU_STAMP_AFTER), STATUS_OK, "    and another");
    gpu_queue_release(queue);
    check(cudaStreamSynchronize(aside) == cudaSuccess, "    and runs then", "%.0f", 1, "");
    check(cudaStreamSynchronize(stream) == cudaSuccess && !gpu_queue_late(queue), "    the stamp is not late", "%.0f", 1, "");
    (void)gpu_queue_hold_device(queue, 5, &whole);
    (void)launch(spin_time, {4096, 1024, 0, aside}, 20000ull);
    (void)gpu_queue_stamp(queue, GPU_STAMP_BEFORE);
    (void)gpu_queue_stamp(queue, GPU_STAMP_AFTER);
    gpu_queue_release(queue);
    check(cudaDeviceSynchronize() == cudaSuccess && gpu_queue_late(queue), "    behind a kernel that fills the GPU it is", "%.0f",
          1, "");
    (void)launch(spin_time, {1, 1, 0, aside}, 200000000ull);
    check_status(gpu_queue_hold_device(queue, 5, &whole), STATUS_OK, "    hold beside a kernel that runs");
    check(!whole, "    is not of all processors", "%.0f", whole, "0");
    gpu_queue_release(queue);
    (void)cudaDeviceSynchronize();
    (void)cudaStreamDestroy(aside);
}

static void blocking_kernel() {
    GpuQueue queue;
    check_status(gpu_queue_open(&queue, stream, false), STATUS_OK, "gpu_queue_open");
    double begin = clock_seconds();
    check_status(gpu_queue_hold(&queue, 0.2), STATUS_OK, "hold, never released");
    (void)cudaStreamSynchronize(stream);
    double took = clock_seconds() - begin;
    check(gpu_queue_timed_out(&queue) && took > 0.19 && took < 0.4, "    its time-out of 0.2 s came after [s]", "%.3f", took,
          "0.19 to 0.4");
    begin = clock_seconds();
    check_status(gpu_queue_hold(&queue, 5), STATUS_OK, "hold, released");
    check(cudaStreamQuery(stream) == cudaErrorNotReady, "    the stream is held", "%.0f", 1, "");
    gpu_queue_release(&queue);
    (void)cudaStreamSynchronize(stream);
    took = clock_seconds() - begin;
    check(!gpu_queue_timed_out(&queue) && took < 1, "    and let go after [s]", "%.6f", took, "at once");
    device_is_held(&queue);
    gpu_queue_close(&queue);
}

static void sm_clock() {
    Job job = {};
    job.cycles = 2000000;
    Samples samples;
    (void)measure(MODE_COLD, &job, &samples, STATUS_OK, "SM clock");
    double worst = 0;
    size_t told = 0;
    for (size_t i = 0; i < samples.count; i++) {
        const double by_kernel = 1e-6 * (double)job.cycles / samples.seconds[i];
        if (isnan(samples.sm_mhz[i])) continue;
        told++;
        worst = fmax(worst, fabs(samples.sm_mhz[i] / by_kernel - 1));
    }
    check(told > 0, "SM clock told in samples", "%.0f", (double)told, "all of them, as a rule");
    check(told > 0 && worst < 0.02, "    farthest from cycles / time of a 2e6-cycle kernel [%]", "%.3f", 100 * worst, "below 2");
    if (samples.count) printf("      first sample %.1f MHz\n", samples.sm_mhz[0]);
    samples_free(&samples);
}

static void cold_is_colder_than_hot() {
    void *words = nullptr;
    Job job = {};
    job.count = ((size_t)16 << 20) / sizeof(uint4); /* fits into L2 of the GPUs this is for */
    if (cudaMalloc(&words, job.count * sizeof(uint4)) != cudaSuccess ||
        cudaMemset(words, 1, job.count * sizeof(uint4)) != cudaSuccess) {
        check(false, "16 MiB for the L2 check", "%.0f", 0, "");
        return;
    }
    job.words = static_cast<const uint4 *>(words);
    double median[3];
    for (int mode = MODE_COLD; mode <= MODE_GRAPH; mode++) {
        Samples samples;
        median[mode] = measure((Mode)mode, &job, &samples, STATUS_OK, "L2").median;
        samples_free(&samples);
    }
    printf("      reading 16 MiB: cold %.2f, hot %.2f, graph %.2f us\n", 1e6 * median[0], 1e6 * median[1], 1e6 * median[2]);
    check(median[MODE_COLD] > 1.1 * median[MODE_HOT], "cold over hot, 16 MiB read", "%.2f", median[0] / median[1], "above 1.1");
    (void)cudaFree(words);
}

static void print_ceilings() {
    Ceiling ceilings[CEILINGS_MAX];
    int count = 0;
    const double begin = clock_seconds();
    check_status(ceilings_cuda(stream, 0, ceilings, &count), STATUS_OK, "ceilings_cuda");
    check(count == 6, "    ceilings", "%.0f", count, "6");
    for (int i = 0; i < count; i++) {
        const Ceiling *c = &ceilings[i];
        printf("      %-13s %11.4g %-7s [%.4g, %.4g]  %s\n", c->name, c->value, c->unit, c->low, c->high, c->method);
        check(c->value > 0 && c->low <= c->value && c->value <= c->high, "    value within its quartiles", "%.4g", c->value,
              c->unit);
    }
    printf("      took %.2f s\n", clock_seconds() - begin);
}

/* Two measurements of a limit agree, in every mode. */
static void limits_are_steady() {
    const struct {
        double read, written;
    } MOVES[] = {{8e3, 8e3}, {0, 8e3}, {8e5, 8e5}, {1.6e7, 0}, {8e7, 8e7}, {8e7, 4e7}, {8e8, 8e8}, {8e9, 8e9}};
    for (size_t i = 0; i < sizeof MOVES / sizeof *MOVES; i++) {
        Limit first[MEASURE_MODE_COUNT], second[MEASURE_MODE_COUNT];
        const LimitTask task = {MOVES[i].read, MOVES[i].written, (1u << MEASURE_MODE_COUNT) - 1, false};
        const double begin = clock_seconds();
        check_status(limit_cuda(stream, &task, first), STATUS_OK, "limit_cuda");
        const double took = clock_seconds() - begin;
        check_status(limit_cuda(stream, &task, second), STATUS_OK, "limit_cuda again");
        printf("      read %.0f, write %.0f bytes: took %.0f ms\n", MOVES[i].read, MOVES[i].written, 1e3 * took);
        for (int m = 0; m < MEASURE_MODE_COUNT; m++) {
            const double a = first[m].seconds, b = second[m].seconds;
            printf("        %-9s %10.3f us, again %10.3f us  %s\n", mode_name((Mode)m), 1e6 * a, 1e6 * b, first[m].kernel);
            if (m == MODE_ENQUEUE) continue; /* the host's time, which no bytes limit */
            check(a > 0 && !limit_is_beaten(a, b, true, 1) && !limit_is_beaten(b, a, true, 1), "    limit, ratio of two", "%.3f",
                  a / b, "within 5% or 1.4 us");
        }
    }
}

int main() {
    const int ready = gpu_check_open();
    if (ready != 0) return ready;
    stream = static_cast<cudaStream_t>(device_cuda()->stream());
    blocking_kernel();
    known_durations();
    enqueue_does_not_wait_and_complete_does();
    waiting_work_is_noticed(false, "waits in its call");
    waiting_work_is_noticed(true, "cudaMalloc and cudaFree");
    memory_of_a_pool_is_queued();
    a_slow_host_waits_for_nothing();
    odd_work();
    sm_clock();
    cold_is_colder_than_hot();
    print_ceilings();
    limits_are_steady();
    return gpu_check_close();
}
