#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Hyndman & Fan 1996, type 7: the point (count - 1) p along the sorted samples, interpolated. */
static double quantile(const double *sorted, size_t count, double p) {
    const double position = (double)(count - 1) * p;
    const size_t below = (size_t)position;
    if (below + 1 >= count) return sorted[count - 1];
    return sorted[below] + (position - (double)below) * (sorted[below + 1] - sorted[below]);
}

/* The interval from the k-th smallest to the k-th largest sample misses the median with probability 2 P(B <= k - 1), B binomial
 * (count, 1/2), whatever the distribution. Returns the largest k for which that is at most 5%; 0 if even min to max misses more
 * often. */
static size_t interval_rank(size_t count) {
    const double n = (double)count;
    double below = 0;
    size_t k = 0;
    while (k < count / 2) {
        const double i = (double)k;
        below += exp(lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) - n * log(2.0));
        if (!(below <= 0.025)) break;
        k++;
    }
    return k;
}

static Stats nothing(size_t count) {
    return (Stats){count, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
}

Stats stats_of(const double *samples, size_t count) {
    if (count == 0) return nothing(0);
    for (size_t i = 0; i < count; i++)
        if (isnan(samples[i])) return nothing(count); /* a broken sample must not pass for a fast one */
    double *sorted = malloc(count * sizeof *sorted);
    if (!sorted) return nothing(count);
    memcpy(sorted, samples, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, ascending);
    const size_t k = interval_rank(count), first = k ? k - 1 : 0;
    const Stats stats = {
        .count = count,
        .median = quantile(sorted, count, 0.5),
        .min = sorted[0],
        .max = sorted[count - 1],
        .q1 = quantile(sorted, count, 0.25),
        .q3 = quantile(sorted, count, 0.75),
        .low = sorted[first],
        .high = sorted[count - 1 - first],
    };
    free(sorted);
    return stats;
}
