#include "measure/limit.h"

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
