/* The loops of cpu_best in float. */
#include "_best.h"

typedef float real;
typedef Vector_f32 Vector;
typedef Lanes_f32 Lanes;
#define LANES SCAN_LANES_f32
#define VECTOR_MIN vector_min_f32
#define VECTOR_MAX vector_max_f32
#define VECTOR_SQRT vector_sqrt_f32
#include "_best_long.h"
#include "_best_moments.h"
#include "_best_short.h"

void best_short_f32(const BestJob *job) {
    short_windows(job);
}

void best_long_f32(const BestJob *job) {
    long_windows(job);
}
