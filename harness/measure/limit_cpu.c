/* The least time to move bytes on a CPU. Loops of one thread up to all, cold and hot as measure_cpu() takes them. */
#include "measure/limit.h"
#include "measure/moves_cpu.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, HUGE_PAGE = 2 << 20, THREADS_MAX = 16 /* counts of threads that are tried */, FINALISTS = 2, SAMPLES = 7 };
static const double HUGE_FROM = 4 << 20, LEAST_MAX = 64 << 20, CORE_BYTES = 16 << 10;
static const double HOT_SECONDS = 20e-6, MODE_SECONDS = 0.2;
static const double BUSY_SECONDS = 5e-3, BUSY_SHARE = 0.9;

/* One way to do the work of a task. */
typedef struct Move {
    const MoveWay *way;
    int threads;
    double best; /* shortest sample; seconds per call */
} Move;

typedef struct Limiter {
    char *block;
    MoveArrays arrays; /* the part that is measured */
    double scale;      /* the whole over it */
    size_t sweep_words;
    uint64_t *sweep; /* NULL: hot */
    volatile uint64_t kept;
    int threads[THREADS_MAX], thread_counts;
} Limiter;

static double sample(Limiter *self, const Move *how, size_t calls) {
    if (self->sweep) (void)cache_sweep(self->sweep, self->sweep_words);
    const double begin = clock_seconds();
    for (size_t i = 0; i < calls; i++) self->kept = move_arrays(&self->arrays, how->way, how->threads);
    return (clock_seconds() - begin) / (double)calls;
}

/* So many samples, after calls that wake the team and find how many fill a sample. */
static void try_move(Limiter *self, Move *how, int samples) {
    uint64_t *const sweep = self->sweep;
    size_t calls = 1;
    self->sweep = NULL;
    (void)sample(self, how, 1);
    if (!sweep)
        for (double once = sample(self, how, calls); once * (double)calls < HOT_SECONDS && calls < 1 << 20;)
            calls *= 2, once = sample(self, how, calls);
    self->sweep = sweep;
    for (int i = 0; i < samples; i++) how->best = fmin(how->best, sample(self, how, calls));
}

static int by_best(const void *a, const void *b) {
    const double x = ((const Move *)a)->best, y = ((const Move *)b)->best;
    return (x > y) - (x < y);
}

/* Every way once, then the best of them again. */
static Move fastest(Limiter *self) {
    Move moves[THREADS_MAX * MOVE_WAYS_MAX];
    int count = 0;
    const double begin = clock_seconds();
    for (int t = 0; t < self->thread_counts; t++)
        for (int w = 0; w < MOVE_WAY_COUNT; w++) {
            moves[count] = (Move){&MOVE_WAYS[w], self->threads[t], INFINITY};
            try_move(self, &moves[count++], 1);
        }
    qsort(moves, (size_t)count, sizeof *moves, by_best);
    for (int i = 0; i < SAMPLES && clock_seconds() - begin < MODE_SECONDS; i++)
        for (int f = 0; f < FINALISTS && f < count; f++) try_move(self, &moves[f], 1);
    qsort(moves, (size_t)count, sizeof *moves, by_best);
    return moves[0];
}

/* 1, 2, 4 ... and all that OpenMP would start, or the machine has. */
static void count_threads(Limiter *self) {
    const int team = omp_get_max_threads(), cores = omp_get_num_procs(), all = team > cores ? team : cores;
    for (int t = 1; t < all && self->thread_counts < THREADS_MAX - 1; t *= 2) self->threads[self->thread_counts++] = t;
    self->threads[self->thread_counts++] = all;
}

/* Both arrays in one block: `to` begins half a page away from where `from` does within a page, so that no store waits for a load of
 * like address, and small ones share pages. */
static Status open_block(Limiter *self) {
    const size_t to = (self->arrays.read + PAGE - 1) / PAGE * PAGE + PAGE / 2;
    const size_t bytes = to + self->arrays.written + 2 * MOVE_LINE; /* of which the last lines are whole */
    const bool huge = (double)bytes >= HUGE_FROM;
    const size_t unit = huge ? HUGE_PAGE : PAGE, whole = (bytes + unit - 1) / unit * unit;
    self->block = aligned_alloc(unit, whole);
    if (!self->block) return status_fail(STATUS_MEMORY, "limit: no host memory for %zu bytes", whole);
    if (huge) (void)madvise(self->block, whole, MADV_HUGEPAGE);
    self->arrays.from = self->block, self->arrays.to = self->block + to;
    (void)move_arrays(&(MoveArrays){.to = self->block, .written = whole}, &MOVE_WAYS[0], omp_get_max_threads());
    return STATUS_OK;
}

/* Tells the limits of both modes for at most so many bytes together. Fewer than CORE_BYTES are measured as that many: a call, and
 * an instruction cache that is cold, cost more than such bytes, and an inlined loop pays less of that than these ways do. */
static Status take(Limiter *self, const LimitTask *task, double bytes_max, Limit out[MEASURE_MODE_COUNT]) {
    const double bytes = task->read + task->written, moved = fmin(fmax(bytes, CORE_BYTES), bytes_max);
    self->scale = bytes > 0 ? bytes / moved : 1;
    self->arrays = (MoveArrays){.read = (size_t)(task->read / self->scale), .written = (size_t)(task->written / self->scale)};
    TRY(open_block(self));
    const unsigned wanted[] = {MODE_HOT, MODE_COLD};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if (!(task->modes & 1u << wanted[i])) continue;
        /* Of arrays larger than the caches nothing is in them. */
        if (wanted[i] == MODE_COLD && self->scale <= 1) {
            self->sweep = cache_sweep_open(&self->sweep_words);
            if (!self->sweep) continue; /* without memory for it there is no cold limit */
        }
        const Move best = fastest(self);
        Limit *limit = &out[wanted[i]];
        limit->seconds = best.best * self->scale;
        snprintf(limit->kernel, sizeof limit->kernel, "%s, %d thread%s", best.way->name, best.threads, best.threads > 1 ? "s" : "");
    }
    free(self->sweep);
    free(self->block);
    self->sweep = NULL, self->block = NULL;
    return STATUS_OK;
}

static double cpu_seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Do other programs keep cores? A thread that spins gets less of its core then than the time that passes. */
static bool cores_are_busy(const Limiter *self) {
    double least = 1;
#pragma omp parallel num_threads(self->threads[self->thread_counts - 1]) reduction(min : least)
    {
        const double begin = clock_seconds(), used = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
        double passed = 0;
        while (passed < BUSY_SECONDS) passed = clock_seconds() - begin;
        least = (cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - used) / passed;
    }
    return least < BUSY_SHARE;
}

static void wake(void) {
#pragma omp parallel
    __asm__ volatile("" ::: "memory");
}

/* The most the cores can do, on a busy machine too: one thread with data in its first-level cache, or all of them after the
 * call that starts them. */
static Status core_limit(Limiter *self, const LimitTask *task, Limit out[MEASURE_MODE_COUNT]) {
    const int all = self->threads[self->thread_counts - 1];
    Limiter one = {.threads = {1}, .thread_counts = 1};
    Limit found[MEASURE_MODE_COUNT] = {0};
    const LimitTask hot = {task->read, task->written, 1u << MODE_HOT, false};
    TRY(take(&one, &hot, CORE_BYTES, found));
    double team = INFINITY;
    for (int i = 0; i < SAMPLES; i++) {
        const double begin = clock_seconds();
        wake();
        team = fmin(team, clock_seconds() - begin);
    }
    const double alone = found[MODE_HOT].seconds, seconds = fmin(alone, team + alone / all);
    for (int m = 0; m < MEASURE_MODE_COUNT; m++) {
        if (!(out[m].seconds > seconds)) continue;
        out[m].seconds = seconds;
        snprintf(out[m].kernel, sizeof out[m].kernel, "first-level caches of %d thread%s", all, all > 1 ? "s" : "");
    }
    return STATUS_OK;
}

Status limit_cpu(const LimitTask *task, Limit out[MEASURE_MODE_COUNT]) {
    for (int m = 0; m < MEASURE_MODE_COUNT; m++) out[m] = (Limit){.seconds = NAN};
    Limiter self = {0};
    count_threads(&self);
    const double caches = 4 * (double)cache_bytes_total();
    const double memory = (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 8;
    bool busy = task->confirm && cores_are_busy(&self);
    TRY(take(&self, task, fmin(fmax(caches, LEAST_MAX), memory), out));
    if (task->confirm) busy = busy || cores_are_busy(&self);
    return busy ? core_limit(&self, task, out) : STATUS_OK;
}

/* ---- The verdict on a median, of either device. */

static const double LEAST_SHARE_GPU = 0.95, LEAST_SHARE_CPU = 0.5;

/* Seconds that a time per call may be off. CUDA events resolve half a microsecond, and a driver's calls vary by one; back to back,
 * launches of different kernels differ by tenths of a microsecond. The steady clock resolves tens of nanoseconds, and a call takes
 * one or two more or less with the loop around it. */
static double resolution(bool gpu, size_t calls) {
    const double per_sample = gpu ? 1e-6 : 50e-9, per_call = gpu ? 0.4e-6 : 2e-9;
    return per_sample / (double)(calls > 0 ? calls : 1) + per_call;
}

bool limit_is_beaten(double seconds, double limit, bool gpu, size_t calls_per_sample) {
    const double least = (gpu ? LEAST_SHARE_GPU : LEAST_SHARE_CPU) * limit;
    return seconds < least && limit - seconds > resolution(gpu, calls_per_sample);
}
