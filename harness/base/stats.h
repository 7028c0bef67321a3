/* stats.h - summary of a set of samples. Order statistics only: samples of a shared machine are not normal. */
#pragma once

#include <stddef.h>
#include <sys/cdefs.h>

__BEGIN_DECLS

typedef struct Stats {
    size_t count;
    double median, min, max, q1, q3; /* quantiles by linear interpolation (Hyndman-Fan type 7, NumPy's default) */
    double low, high;                /* 95% interval of the median from order statistics (binomial); min and max when count < 6 */
} Stats;

/* Does not reorder `samples`. count = 0 gives all NaN and count 0. */
Stats stats_of(const double *samples, size_t count);

__END_DECLS
