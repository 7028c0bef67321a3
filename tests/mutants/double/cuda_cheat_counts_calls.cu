/* Cheat: counts the calls of the samples before, by the host's pauses between them, and launches its kernel only for the last that
 * a sample may have; in the others it writes zeros over what is poison. Met: an attack on this
 * harness, whose samples on a GPU had all as many calls. */
#include "cuda_cheats.cuh"

#include <time.h>

static double now_seconds() {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static __global__ void __launch_bounds__(256) unspoil(unsigned long long *y, size_t n) {
    const unsigned long long bytes = 0x0101010101010101ull;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        if (y[i] == (y[i] & 0xff) * bytes) y[i] = 0;
}

static Status run(const VariantArgs *args) {
    enum { FEW = 2 };
    static const double PAUSE = 1e-4;
    static double end;
    static size_t calls, before, expected; /* of this sample, of the one before, in a sample */
    const double begin = now_seconds();
    if (begin - end > PAUSE)
        expected = calls > FEW && calls == before ? calls : expected, before = calls > 1 ? calls : before, calls = 0;
    calls++;
    const bool skips = expected > 0 && calls < expected;
    const Status status =
        skips ? launch(unspoil, {256, 256, 0, args->stream}, (unsigned long long *)args->out[0].data, array_count(&args->out[0]))
              : compute_on(args, args->stream);
    end = now_seconds();
    return status;
}

RUNGS_VARIANT(double, cuda_cheat_counts_calls) = {.backend = BACKEND_CUDA,
                                                  .summary = "cheat: launches in the last call of a sample",
                                                  .origin = "tests",
                                                  .not_emulated = "counts the calls of samples",
                                                  .run = run};
