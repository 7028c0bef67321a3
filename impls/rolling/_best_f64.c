/* The loops of cpu_best in double. */
#include "_best.h"

typedef double real;
typedef Vector_f64 Vector;
typedef Lanes_f64 Lanes;
#define LANES SCAN_LANES_f64
#define VECTOR_MIN vector_min_f64
#define VECTOR_MAX vector_max_f64
#define VECTOR_SQRT vector_sqrt_f64
#include "_best_long.h"
#include "_best_moments.h"
#include "_best_short.h"

void best_short_f64(const BestJob *job) {
    short_windows(job);
}

void best_long_f64(const BestJob *job) {
    long_windows(job);
}
