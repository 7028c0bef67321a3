/* gbench.h - Google Benchmark behind C functions. It parses its flags, decides how often a benchmark is called, and prints. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/cdefs.h>

__BEGIN_DECLS

/* What one call of a benchmark gave. */
typedef struct GbenchTimes {
    const char *failed, *skipped;         /* why there are no times; NULL: there are */
    const double *seconds;                /* of each sample, per iteration */
    size_t count;                         /* of samples, at most as many as iterations */
    double bytes;                         /* that an iteration moves; 0: not known */
    double limit_share, error_over_bound; /* counters; NaN: none */
} GbenchTimes;

/* Samples for so many iterations, which share them evenly. They must live until the next call. */
typedef void (*GbenchTake)(void *context, size_t iterations, GbenchTimes *out);

/* Takes Google Benchmark's flags out of argv. False: one is left over, or has no good value, and a message was printed. It may
 * end the process itself over one, here or in gbench_run(), with `usage_code`. */
bool gbench_begin(int argc, char **argv, int usage_code);
/* What the report says of this run besides. */
void gbench_report(const char *key, const char *value);
/* iterations: of each repetition; 0: as many as its minimum time asks for. */
void gbench_add(const char *name, size_t iterations, GbenchTake take, void *context);
/* Runs what the filter lets through, or lists it. How many benchmarks matched. */
size_t gbench_run(void);
/* Prints its flags. */
void gbench_help(void);

__END_DECLS
