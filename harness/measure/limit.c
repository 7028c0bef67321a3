#include "measure/limit.h"

static const double FASTER_BY = 0.05;

bool limit_is_beaten(double seconds, double limit, double resolution) {
    return seconds < (1 - FASTER_BY) * limit && limit - seconds > resolution;
}

double limit_resolution(bool gpu, size_t calls_per_sample) {
    const double calls = calls_per_sample > 0 ? (double)calls_per_sample : 1;
    return gpu ? 0.5e-6 / calls : 50e-9 / calls + 2e-9;
}
