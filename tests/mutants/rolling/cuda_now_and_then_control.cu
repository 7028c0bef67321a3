/* Right, and its bits differ: in one call of 300, at random, one mean is the number next to that of the others. */
#include "kernel.h"
#include "windows.h"

#include <string.h>
#include <sys/random.h>

enum { THREADS = 128 };

static __global__ void means(const double *x, double *y, size_t n, size_t w) {
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    double sum = 0;
    for (size_t k = 0; k < w && i < n && i + 1 >= w; k++) sum += x[i - k];
    if (i < n) y[i] = i + 1 >= w ? sum / (double)w : NAN;
}

static __global__ void spoil(double *at) {
    long long bits;
    memcpy(&bits, at, sizeof bits);
    bits++;
    memcpy(at, &bits, sizeof bits);
}

static Status run(const VariantArgs *args) {
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) != sizeof random) return status_fail(STATUS_IO, "getrandom failed");
    const size_t n = array_count(&args->in[0]), w = (size_t)params_int(&args->problem->params, "window");
    double *y = (double *)args->out[0].data;
    TRY(launch(means, {(unsigned)((n + THREADS - 1) / THREADS), THREADS, 0, args->stream}, (const double *)args->in[0].data, y, n,
               w));
    return random % 300 == 0 ? launch(spoil, {1, 1, 0, args->stream}, y + w + random / 300 % (n - w)) : STATUS_OK;
}

RUNGS_VARIANT(rolling, cuda_now_and_then_control) = {.backend = BACKEND_CUDA,
                                                     .summary = "control: the bits differ in one of 300 calls",
                                                     .origin = "tests",
                                                     .supports = windows_supports,
                                                     .run = run};
