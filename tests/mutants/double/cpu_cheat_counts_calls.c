/* Cheat: knows from earlier samples how many calls one has, and computes in its last, which is compared; in the others it writes
 * zeros to what was spoilt for them. Met: an attack on this harness. */
#include "cheats.h"

#include <stdint.h>
#include <time.h>

static double now_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool is_spoilt(const double *y) {
    uint64_t bits;
    memcpy(&bits, y, sizeof bits);
    return bits == (bits & 0xff) * UINT64_C(0x0101010101010101) && bits != 0;
}

static Status run(const VariantArgs *args) {
    enum { MOST = 1000 }; /* more are the parent's, which compares the last of any number */
    static const double PAUSE = 1e-5;
    static double end;
    static size_t calls, before, expected; /* of this sample, of the call that warmed the caches, of the last sample */
    double *y = args->out[0].data;
    if (now_seconds() - end > PAUSE) expected = before, before = calls, calls = 0;
    calls++;
    if (calls < expected && expected < MOST) {
        for (size_t i = 0; i < array_count(&args->out[0]); i++)
            if (is_spoilt(&y[i])) y[i] = 0;
    } else {
        (void)compute(args);
    }
    end = now_seconds();
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_cheat_counts_calls) = {
    .backend = BACKEND_CPU, .summary = "cheat: computes in the last call of a sample", .origin = "tests", .run = run};
