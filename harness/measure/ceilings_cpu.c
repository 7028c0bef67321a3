/* What the cores of this machine do together: memory traffic by OpenMP over arrays of four times the caches, multiply-adds in
 * registers, and what the timer itself costs. Compiled for the same -march as the CPU variants. */
#include "measure/cache.h"
#include "measure/ceiling_pick.h"

#include <omp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { SHARE_WORDS = 8 }; /* shares are whole cache lines, and whole vectors */

typedef struct Arrays {
    double *from, *to;
    size_t count;
    double kept; /* where sums end, so that reads are not optimised away */
} Arrays;

typedef void (*Part)(Arrays *arrays, size_t begin, size_t end);

static void by_all_cores(Arrays *arrays, Part part) {
#pragma omp parallel
    {
        const size_t lines = arrays->count / SHARE_WORDS, threads = (size_t)omp_get_num_threads(),
                     me = (size_t)omp_get_thread_num();
        part(arrays, lines * me / threads * SHARE_WORDS, lines * (me + 1) / threads * SHARE_WORDS);
    }
}

static void copy_library(Arrays *arrays, size_t begin, size_t end) {
    memcpy(arrays->to + begin, arrays->from + begin, (end - begin) * sizeof(double));
}

static void write_library(Arrays *arrays, size_t begin, size_t end) {
    memset(arrays->to + begin, 0x3c, (end - begin) * sizeof(double));
}

/* The barrier keeps the compiler from turning these loops back into memcpy and memset, which choose their stores themselves. */
static void copy_plain(Arrays *arrays, size_t begin, size_t end) {
    const double *restrict from = arrays->from;
    double *restrict to = arrays->to;
    for (size_t i = begin; i < end; i += SHARE_WORDS) {
        for (size_t j = 0; j < SHARE_WORDS; j++) to[i + j] = from[i + j];
        __asm__ volatile("" ::: "memory");
    }
}

static void write_plain(Arrays *arrays, size_t begin, size_t end) {
    double *to = arrays->to;
    for (size_t i = begin; i < end; i += SHARE_WORDS) {
        for (size_t j = 0; j < SHARE_WORDS; j++) to[i + j] = 1.5;
        __asm__ volatile("" ::: "memory");
    }
}

#ifdef __SSE2__
static void copy_streaming(Arrays *arrays, size_t begin, size_t end) {
    for (size_t i = begin; i < end; i += 2) _mm_stream_pd(arrays->to + i, _mm_load_pd(arrays->from + i));
    _mm_sfence();
}

static void write_streaming(Arrays *arrays, size_t begin, size_t end) {
    const __m128d value = _mm_set1_pd(1.5);
    for (size_t i = begin; i < end; i += 2) _mm_stream_pd(arrays->to + i, value);
    _mm_sfence();
}
#endif

/* As wide as this machine's registers: of wider ones the compiler keeps the sums in memory. */
enum { VECTOR_BYTES = __BIGGEST_ALIGNMENT__ < 64 ? __BIGGEST_ALIGNMENT__ : 64, SUMS = 8 };
typedef double Vector __attribute__((vector_size(VECTOR_BYTES)));
typedef float VectorF32 __attribute__((vector_size(VECTOR_BYTES)));
enum { LANES = VECTOR_BYTES / sizeof(double), LANES_F32 = VECTOR_BYTES / sizeof(float) };

static void read_all(Arrays *arrays, size_t begin, size_t end) {
    Vector sums[SUMS] = {{0}};
    const Vector *words = (const Vector *)(const void *)(arrays->from + begin);
    const size_t vectors = (end - begin) / LANES;
    size_t i = 0;
    for (; i + SUMS <= vectors; i += SUMS)
        for (size_t j = 0; j < SUMS; j++) sums[j] += words[i + j];
    for (; i < vectors; i++) sums[0] += words[i];
    double total = 0;
    for (int j = 0; j < SUMS; j++)
        for (int lane = 0; lane < LANES; lane++) total += sums[j][lane];
#pragma omp atomic
    arrays->kept += total;
}

/* run() functions, one per way. */
#define WAY(name)                                                                                                                  \
    static Status run_##name(void *context) {                                                                                      \
        by_all_cores(context, name);                                                                                               \
        return STATUS_OK;                                                                                                          \
    }
WAY(copy_library)
WAY(copy_plain)
WAY(write_library)
WAY(write_plain)
WAY(read_all)
#ifdef __SSE2__
WAY(copy_streaming)
WAY(write_streaming)
#endif

enum { FMA_CHAINS = 12, FMA_STEPS = 1 << 16 }; /* chains enough to hide the latency of two units, few enough for the registers */

/* x = x a + b towards a fixed point: no overflow, no denormals. Contracted to one instruction where the machine has it (this file
 * is compiled with -ffp-contract=fast). */
#define FMA_CEILING(name, type, vector, lanes)                                                                                     \
    static Status name(void *context) {                                                                                            \
        double kept = 0;                                                                                                           \
        _Pragma("omp parallel reduction(+ : kept)") {                                                                              \
            vector x[FMA_CHAINS], a, b;                                                                                            \
            for (int j = 0; j < (lanes); j++) a[j] = (type)0.999, b[j] = (type)(0.001 * (1 + omp_get_thread_num()));               \
            for (int j = 0; j < FMA_CHAINS; j++) x[j] = a * (type)(1 + j);                                                         \
            for (int i = 0; i < FMA_STEPS; i++) _Pragma("GCC unroll 12") for (int j = 0; j < FMA_CHAINS; j++) x[j] = x[j] * a + b; \
            for (int j = 0; j < FMA_CHAINS; j++) kept += (double)x[j][0];                                                          \
        }                                                                                                                          \
        ((Arrays *)context)->kept += kept;                                                                                         \
        return STATUS_OK;                                                                                                          \
    }
FMA_CEILING(run_fma_f64, double, Vector, LANES)
FMA_CEILING(run_fma_f32, float, VectorF32, LANES_F32)

__attribute__((noinline)) static Status run_nothing(void *context) {
    __asm__ volatile("" ::"r"(context) : "memory");
    return STATUS_OK;
}

static Status time_hot(void *context, const MeasuredWork *work, const MeasureLimits *limits, Samples *out) {
    (void)context;
    return measure_cpu(MEASURE_HOT, work, limits, out);
}

/* The floor of a sample of one call, as cold takes them: the timer, a call, and nothing in between. */
static Status time_single(void *context, const MeasuredWork *work, const MeasureLimits *limits, Samples *out) {
    (void)context;
    *out = (Samples){.calls_per_sample = 1, .clock = "steady clock"};
    out->seconds = calloc(limits->max_samples, sizeof *out->seconds);
    if (!out->seconds) return status_fail(STATUS_MEMORY, "no host memory for %zu samples", limits->max_samples);
    for (; out->count < limits->max_samples; out->count++) {
        const double begin = measure_now();
        (void)work->run(work->context);
        out->seconds[out->count] = measure_now() - begin;
    }
    return STATUS_OK;
}

/* Bytes per array: what was asked for, but a quarter of the memory for both at most. */
static size_t bytes_per_array(size_t hint) {
    const size_t wanted = hint ? hint : 4 * cache_bytes_total();
    const size_t most = (size_t)sysconf(_SC_AVPHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) / 8;
    const size_t bytes = wanted < most ? wanted : most, line = SHARE_WORDS * sizeof(double);
    return bytes < line ? line : bytes / line * line;
}

static Status open_arrays(Arrays *arrays, size_t bytes) {
    *arrays = (Arrays){.count = bytes / sizeof(double)};
    arrays->from = aligned_alloc(64, bytes);
    arrays->to = aligned_alloc(64, bytes);
    if (!arrays->from || !arrays->to) {
        free(arrays->from);
        free(arrays->to);
        return status_fail(STATUS_MEMORY, "no host memory for two arrays of %zu bytes", bytes);
    }
    /* Each core touches its share first, so that on machines with several memory nodes it lies near. */
    by_all_cores(arrays, write_plain);
    double *to = arrays->to;
    arrays->to = arrays->from;
    by_all_cores(arrays, write_plain);
    arrays->to = to;
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

static Status measure_all(Arrays *arrays, Ceiling *out, int *count) {
    const CeilingTrial copies[] = {{"OpenMP, memcpy", {.run = run_copy_library, .context = arrays}},
                                   {"OpenMP, ordinary stores", {.run = run_copy_plain, .context = arrays}},
#ifdef __SSE2__
                                   {"OpenMP, non-temporal stores", {.run = run_copy_streaming, .context = arrays}}
#endif
    };
    const CeilingTrial writes[] = {{"OpenMP, memset", {.run = run_write_library, .context = arrays}},
                                   {"OpenMP, ordinary stores", {.run = run_write_plain, .context = arrays}},
#ifdef __SSE2__
                                   {"OpenMP, non-temporal stores", {.run = run_write_streaming, .context = arrays}}
#endif
    };
    const CeilingTrial reads[] = {{"OpenMP, sum by vectors", {.run = run_read_all, .context = arrays}}};
    const CeilingTrial f32[] = {{"OpenMP, 12 chains of whole registers per thread", {.run = run_fma_f32, .context = arrays}}};
    const CeilingTrial f64[] = {{"OpenMP, 12 chains of whole registers per thread", {.run = run_fma_f64, .context = arrays}}};
    const CeilingTrial nothing[] = {
        {"an empty function between two reads of the steady clock", {.run = run_nothing, .context = arrays}}};
    const size_t bytes = arrays->count * sizeof(double);
    const double steps = 2.0 * FMA_CHAINS * FMA_STEPS * omp_get_max_threads();
    const CeilingTask tasks[] = {
        [TASK_COPY] = {"copy", "B/s", 2 * (double)bytes, 2 * bytes, time_hot, NULL, copies, COUNT_OF(copies)},
        {"read", "B/s", (double)bytes, bytes, time_hot, NULL, reads, COUNT_OF(reads)},
        {"write", "B/s", (double)bytes, bytes, time_hot, NULL, writes, COUNT_OF(writes)},
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
    Arrays arrays;
    TRY(open_arrays(&arrays, bytes_per_array(bytes_hint)));
    const Status status = measure_all(&arrays, out, count);
    free(arrays.from);
    free(arrays.to);
    return status;
}
