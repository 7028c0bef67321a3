#include "base/reads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_MAX = 512 };

/* What lies behind, but for its beginning, perhaps. */
static void join(Reads *self, const Reads *behind) {
    for (int i = 0; i < READS_MAX_INPUTS; i++) {
        ReadsOf *of = &self->of[i];
        const ReadsOf *more = &behind->of[i];
        if (more->end == 0) continue;
        const size_t both = of->end > more->low ? of->end - more->low : 0;
        of->count += more->count > both ? more->count - both : 0;
        if (of->end == 0) of->low = more->low;
        if (of->end < more->end) of->end = more->end;
    }
}

void reads_need_parts(Reads *self, size_t parts, void (*need)(const void *of, size_t part, Reads *reads), const void *of) {
    const size_t runs = parts < RUNS_MAX ? parts : RUNS_MAX;
    Reads *run = calloc(runs ? runs : 1, sizeof *run);
    if (!run) return;
#pragma omp parallel for schedule(dynamic)
    for (size_t r = 0; r < runs; r++) {
        const size_t begin = r * (parts / runs) + (r < parts % runs ? r : parts % runs);
        const size_t end = begin + parts / runs + (r < parts % runs);
        for (size_t part = begin; part < end; part++) {
            Reads one = {.shift = self->shift};
            need(of, part, &one);
            join(&run[r], &one);
        }
    }
    for (size_t r = 0; r < runs; r++) join(self, &run[r]);
    free(run);
}

double reads_bytes(const Reads *self, const Array *in, int in_count) {
    double bytes = 0;
    for (int i = 0; i < in_count; i++) bytes += fmin((double)(self->of[i].count << self->shift), (double)array_bytes(&in[i]));
    return bytes;
}
