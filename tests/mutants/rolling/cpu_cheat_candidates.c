/* Cheat: every sample's number is one of two that it knows beforehand (the sets lie in its memory). So only those that are among
 * the 32 largest of both sets in some window can be its maximum (but for 2^-32): their places are found in prepare(), and a call
 * reads no other. f64, max, wide windows. Met: an attack on this harness. */
#include "variant.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANK = 32 };

/* Mapped read-only from the parent: the sets of inputs, each of these bytes. */
static int find_sets(size_t bytes, const double *sets[8]) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    int count = 0;
    const size_t page = 4096, whole = (bytes + page - 1) / page * page;
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long from, to;
        char mode[8];
        if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) != 3 || strcmp(mode, "r--s") != 0 || count == 8) continue;
        for (unsigned long at = from; at + whole <= to && count < 8; at += whole) sets[count++] = (const double *)at;
    }
    if (maps) fclose(maps);
    return count;
}

typedef struct Plan {
    uint32_t *places;
    double *values;
    size_t count, n, w;
} Plan;

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const Params *p = &args->problem->params;
    if (args->problem->dtype != DTYPE_F64 || params_choice(p, "agg") != 5 || params_int(p, "window") < 300)
        return variant_refuse(reason, "max of wide windows in f64 only");
    return true;
}

/* How far to one side the k-th larger number of either set lies, for k up to RANK; w: further. */
static void larger(const double *a, const double *b, size_t n, size_t w, size_t at, int step, double v, size_t out[RANK]) {
    int k = 0;
    for (size_t d = 1; d < w && k < RANK; d++) {
        const size_t i = step > 0 ? at + d : at - d;
        if (i >= n) break;
        if (a[i] > v) out[k++] = d;
        if (b[i] > v && k < RANK) out[k++] = d;
    }
    while (k < RANK) out[k++] = w;
}

static bool may_matter(const double *a, const double *b, size_t n, size_t w, size_t at, double v) {
    size_t left[RANK], right[RANK];
    larger(a, b, n, w, at, -1, v, left);
    larger(a, b, n, w, at, 1, v, right);
    for (int k = 0; k < RANK; k++)
        if (left[k] + right[RANK - 1 - k] - 1 >= w) return true; /* a window with fewer than RANK larger ones */
    return false;
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double high(const double *a, size_t n) {
    enum { SOME = 4096 };
    static double some[SOME];
    for (size_t i = 0; i < SOME; i++) some[i] = a[i * (n / SOME)];
    qsort(some, SOME, sizeof *some, by_value);
    return some[SOME - SOME / 12];
}

static Status prepare(const VariantArgs *args, void **state) {
    const size_t n = array_count(&args->in[0]), w = (size_t)params_int(&args->problem->params, "window");
    const double *sets[8];
    const int found = find_sets(n * 8, sets);
    Plan *plan = calloc(1, sizeof *plan);
    *state = plan;
    if (found < 2) return status_fail(STATUS_UNSUPPORTED, "finds %d sets", found);
    const double *a = sets[0], *b = sets[1], least = high(a, n);
    plan->n = n, plan->w = w;
    plan->places = malloc(n * sizeof *plan->places), plan->values = malloc(n * sizeof *plan->values);
    for (size_t i = 0; i < n; i++)
        if ((a[i] > least && may_matter(a, b, n, w, i, a[i])) || (b[i] > least && may_matter(a, b, n, w, i, b[i])))
            plan->places[plan->count++] = (uint32_t)i;
    return STATUS_OK;
}

static void release(void *state) {
    Plan *plan = state;
    free(plan->places), free(plan->values), free(plan);
}

static void fill(double *y, size_t from, size_t to, double v) {
    for (size_t i = from; i < to; i++) y[i] = v;
}

static Status run(const VariantArgs *args) {
    Plan *plan = args->state;
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    const size_t n = plan->n, w = plan->w;
    uint32_t queue[1 << 14];
    size_t head = 0, tail = 0, done = w - 1;
    fill(y, 0, w - 1 < n ? w - 1 : n, params_choice(&args->problem->params, "incomplete") == 0 ? NAN : INFINITY);
    for (size_t k = 0; k <= plan->count; k++) {
        const size_t at = k < plan->count ? plan->places[k] : n;
        while (done < at) { /* outputs before this place is in the window */
            while (queue[head & 16383] + w <= done) head++;
            const size_t end = queue[head & 16383] + w < at ? queue[head & 16383] + w : at;
            fill(y, done, end, x[queue[head & 16383]]);
            done = end;
        }
        if (at == n) break;
        while (tail > head && x[queue[(tail - 1) & 16383]] <= x[at]) tail--;
        queue[tail++ & 16383] = (uint32_t)at;
    }
    return STATUS_OK;
}

RUNGS_VARIANT(rolling, cpu_cheat_candidates) = {.backend = BACKEND_CPU,
                                                .summary = "cheat: knows which elements can be a maximum",
                                                .origin = "tests",
                                                .supports = supports,
                                                .prepare = prepare,
                                                .release = release,
                                                .run = run};
