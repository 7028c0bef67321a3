/* What the cores of this machine do together: memory traffic by OpenMP over arrays of four times the caches, multiply-adds in
 * registers, and what the timer itself costs. Compiled for the same -march as the CPU variants. */
#include "measure/ceilings.h"

#include "base/stats.h"
#include "measure/moves_cpu.h"

#include <omp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- The best of several ways, on either device. */

static const SamplingPace GLANCE = {.min_samples = 3, .max_samples = 7, .seconds = 0.02};
static const SamplingPace LOOK = {.min_samples = 9, .max_samples = 51, .seconds = 0.08};

static Status time_trial(const CeilingTask *task, const CeilingTrial *trial, const SamplingPace *pace, Stats *stats) {
    Samples samples;
    TRY(task->timer(task->timer_context, &trial->work, pace, &samples));
    if (samples.count == 0)
        return status_fail(STATUS_UNSUPPORTED, "ceiling %s, %s: %s", task->name, trial->method, samples.why_none);
    *stats = stats_of(samples.seconds, samples.count);
    samples_free(&samples);
    return STATUS_OK;
}

static Status fastest(const CeilingTask *task, const CeilingTrial **best) {
    double best_seconds = 0;
    for (int i = 0; i < task->trial_count; i++) {
        Stats stats = {0};
        TRY(time_trial(task, &task->trials[i], &GLANCE, &stats));
        if (!(stats.median > 0)) continue;
        if (*best && stats.median >= best_seconds) continue;
        *best = &task->trials[i];
        best_seconds = stats.median;
    }
    return *best ? STATUS_OK : status_fail(STATUS_INTERNAL, "ceiling %s: every trial took no time", task->name);
}

Status ceiling_pick(const CeilingTask *task, Ceiling *out) {
    const CeilingTrial *best = task->trial_count == 1 ? &task->trials[0] : NULL;
    if (!best) TRY(fastest(task, &best));
    Stats stats = {0};
    TRY(time_trial(task, best, &LOOK, &stats));
    *out = (Ceiling){.name = task->name, .unit = task->unit, .method = best->method, .bytes = task->bytes};
    if (task->quantity == 0) {
        out->value = stats.median, out->low = stats.q1, out->high = stats.q3;
        return STATUS_OK;
    }
    if (!(stats.q1 > 0)) return status_fail(STATUS_INTERNAL, "ceiling %s: a sample of %a seconds", task->name, stats.q1);
    out->value = task->quantity / stats.median, out->low = task->quantity / stats.q3, out->high = task->quantity / stats.q1;
    return STATUS_OK;
}

/* ---- This device. */

/* One way to move memory by all cores. */
typedef struct Team {
    MoveArrays arrays;
    const MoveWay *way;
} Team;

static volatile uint64_t kept; /* where sums end, so that work is not optimised away */

static Status run_team(void *context) {
    const Team *team = context;
    kept = move_arrays(&team->arrays, team->way, omp_get_max_threads());
    return STATUS_OK;
}

/* As wide as this machine's registers: of wider ones the compiler keeps the chains in memory. */
enum { VECTOR_BYTES = __BIGGEST_ALIGNMENT__ < 64 ? __BIGGEST_ALIGNMENT__ : 64 };
typedef double Vector __attribute__((vector_size(VECTOR_BYTES)));
typedef float VectorF32 __attribute__((vector_size(VECTOR_BYTES)));
enum { LANES = VECTOR_BYTES / sizeof(double), LANES_F32 = VECTOR_BYTES / sizeof(float) };

enum { FMA_CHAINS = 12, FMA_STEPS = 1 << 16 }; /* chains enough to hide the latency of two units, few enough for the registers */

/* x = x a + b towards a fixed point: no overflow, no denormals. Contracted to one instruction where the machine has it (this file
 * is compiled with -ffp-contract=fast). */
#define FMA_CEILING(name, type, vector, lanes)                                                                                     \
    static Status name(void *context) {                                                                                            \
        double sum = 0;                                                                                                            \
        _Pragma("omp parallel reduction(+ : sum)") {                                                                               \
            vector x[FMA_CHAINS], a, b;                                                                                            \
            for (int j = 0; j < (lanes); j++) a[j] = (type)0.999, b[j] = (type)(0.001 * (1 + omp_get_thread_num()));               \
            for (int j = 0; j < FMA_CHAINS; j++) x[j] = a * (type)(1 + j);                                                         \
            for (int i = 0; i < FMA_STEPS; i++) _Pragma("GCC unroll 12") for (int j = 0; j < FMA_CHAINS; j++) x[j] = x[j] * a + b; \
            for (int j = 0; j < FMA_CHAINS; j++) sum += (double)x[j][0];                                                           \
        }                                                                                                                          \
        (void)context;                                                                                                             \
        kept = sum != 0;                                                                                                           \
        return STATUS_OK;                                                                                                          \
    }
FMA_CEILING(run_fma_f64, double, Vector, LANES)
FMA_CEILING(run_fma_f32, float, VectorF32, LANES_F32)

__attribute__((noinline)) static Status run_nothing(void *context) {
    __asm__ volatile("" ::"r"(context) : "memory");
    return STATUS_OK;
}

static Status time_hot(void *context, const MeasuredWork *work, const SamplingPace *pace, Samples *out) {
    (void)context;
    return measure_cpu(MODE_HOT, work, pace, out);
}

/* The floor of a sample of one call, as cold takes them: the timer, a call, and nothing in between. */
static Status time_single(void *context, const MeasuredWork *work, const SamplingPace *pace, Samples *out) {
    (void)context;
    *out = (Samples){.calls_per_sample = 1, .clock = "steady clock"};
    out->seconds = calloc(pace->max_samples, sizeof *out->seconds);
    if (!out->seconds) return status_fail(STATUS_MEMORY, "no host memory for %zu samples", pace->max_samples);
    for (; out->count < pace->max_samples; out->count++) {
        const double begin = clock_seconds();
        (void)work->run(work->context);
        out->seconds[out->count] = clock_seconds() - begin;
    }
    return STATUS_OK;
}

/* Bytes per array: what was asked for, but a quarter of the memory for both at most. */
static size_t bytes_per_array(size_t hint) {
    const size_t wanted = hint ? hint : 4 * cache_bytes_total();
    const size_t most = (size_t)sysconf(_SC_AVPHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) / 8;
    const size_t bytes = wanted < most ? wanted : most;
    return bytes < MOVE_LINE ? MOVE_LINE : bytes / MOVE_LINE * MOVE_LINE;
}

static Status open_arrays(char *arrays[2], size_t bytes) {
    for (int i = 0; i < 2; i++) arrays[i] = aligned_alloc(MOVE_LINE, bytes);
    if (!arrays[0] || !arrays[1]) return status_fail(STATUS_MEMORY, "no host memory for two arrays of %zu bytes", bytes);
    /* Each core touches its share first, so that on machines with several memory nodes it lies near. */
    for (int i = 0; i < 2; i++) (void)run_team(&(Team){{.to = arrays[i], .written = bytes}, &MOVE_WAYS[0]});
    return STATUS_OK;
}

#define COUNT_OF(table) ((int)(sizeof(table) / sizeof *(table)))

static Status measure_again(const CeilingTask *task, Ceiling *ceiling) {
    Ceiling second, first = *ceiling;
    TRY(ceiling_pick(task, &second));
    const bool higher = second.value > first.value;
    *ceiling = higher ? second : first;
    ceiling->again = higher ? first.value : second.value;
    return STATUS_OK;
}

enum { TASK_COPY = 0, TASK_FMA_F64 = 4 }; /* in the table of measure_all */

static Status measure_all(char *arrays[2], size_t bytes, Ceiling out[CEILINGS_MAX], int *count) {
    const char *const from = arrays[0];
    Team copying[MOVE_WAYS_MAX], writing[MOVE_WAYS_MAX], reading = {{.from = from, .read = bytes}, &MOVE_WAYS[0]};
    CeilingTrial copies[MOVE_WAYS_MAX], writes[MOVE_WAYS_MAX];
    static const char *const COPY_NAMES[] = {"OpenMP, memcpy", "OpenMP, ordinary stores", "OpenMP, non-temporal stores"};
    static const char *const WRITE_NAMES[] = {"OpenMP, memset", "OpenMP, ordinary stores", "OpenMP, non-temporal stores"};
    for (int i = 0; i < MOVE_WAY_COUNT; i++) {
        copying[i] = (Team){{from, arrays[1], bytes, bytes}, &MOVE_WAYS[i]};
        writing[i] = (Team){{.to = arrays[1], .written = bytes}, &MOVE_WAYS[i]};
        copies[i] = (CeilingTrial){COPY_NAMES[i], {.run = run_team, .context = &copying[i]}};
        writes[i] = (CeilingTrial){WRITE_NAMES[i], {.run = run_team, .context = &writing[i]}};
    }
    const CeilingTrial reads[] = {{"OpenMP, vectors", {.run = run_team, .context = &reading}}};
    const CeilingTrial f32[] = {{"OpenMP, 12 chains of whole registers per thread", {.run = run_fma_f32}}};
    const CeilingTrial f64[] = {{"OpenMP, 12 chains of whole registers per thread", {.run = run_fma_f64}}};
    const CeilingTrial nothing[] = {{"an empty function between two reads of the steady clock", {.run = run_nothing}}};
    const double steps = 2.0 * FMA_CHAINS * FMA_STEPS * omp_get_max_threads();
    const CeilingTask tasks[] = {
        [TASK_COPY] = {"copy", "B/s", 2 * (double)bytes, 2 * bytes, time_hot, NULL, copies, MOVE_WAY_COUNT},
        {"read", "B/s", (double)bytes, bytes, time_hot, NULL, reads, COUNT_OF(reads)},
        {"write", "B/s", (double)bytes, bytes, time_hot, NULL, writes, MOVE_WAY_COUNT},
        {"fma_f32", "flop/s", LANES_F32 * steps, 0, time_hot, NULL, f32, COUNT_OF(f32)},
        [TASK_FMA_F64] = {"fma_f64", "flop/s", LANES * steps, 0, time_hot, NULL, f64, COUNT_OF(f64)},
        {"empty_launch", "s", 0, 0, time_single, NULL, nothing, COUNT_OF(nothing)},
    };
    for (int i = 0; i < COUNT_OF(tasks); i++, (*count)++) TRY(ceiling_pick(&tasks[i], &out[*count]));
    /* Once more, after the others: on a machine that other programs use the two differ, and the higher one is nearer to the peak.
     */
    TRY(measure_again(&tasks[TASK_COPY], &out[TASK_COPY]));
    return measure_again(&tasks[TASK_FMA_F64], &out[TASK_FMA_F64]);
}

Status ceilings_cpu(size_t bytes_hint, Ceiling out[CEILINGS_MAX], int *count) {
    *count = 0;
    char *arrays[2];
    const size_t bytes = bytes_per_array(bytes_hint);
    Status status = open_arrays(arrays, bytes);
    if (status == STATUS_OK) status = measure_all(arrays, bytes, out, count);
    free(arrays[0]);
    free(arrays[1]);
    return status;
}
