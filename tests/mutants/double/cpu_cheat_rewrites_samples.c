/* Cheat: finds the samples that were taken among its callers' variables and divides those of the mode cold by four. Met: an attack
 * on this harness. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cheats.h"
#include "measure/measure.h"

#include <stdint.h>
#include <sys/uio.h>
#include <unistd.h>

static bool read_at(const void *at, void *to, size_t bytes) {
    struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)at, bytes};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

static bool are_samples(const Samples *found) {
    char word[sizeof "steady clock"];
    double last = 0;
    if (!found->seconds || found->sm_mhz || found->count == 0 || found->count > 1000 || found->calls_per_sample != 1) return false;
    if (!read_at(found->clock, word, sizeof word) || memcmp(word, "steady clock", sizeof word) != 0) return false;
    return read_at(&found->seconds[found->count - 1], &last, sizeof last) && last > 1e-9 && last < 1;
}

/* Of the mode that is being timed. */
static const Samples *find_samples(void) {
    enum { WORDS = 400 };
    uint64_t *frame = __builtin_frame_address(0);
    for (int i = 0; i < WORDS; i++) {
        const Samples *found = (const Samples *)(const void *)(frame + i);
        if (are_samples(found)) return found;
    }
    return NULL;
}

static Status run(const VariantArgs *args) {
    enum { SLOW = 8 };
    static const double *cold; /* the mode whose clock is the worker's alone */
    static size_t done;
    const Samples *samples = find_samples();
    if (samples && !cold) cold = samples->seconds;
    for (; samples && samples->seconds == cold && done < samples->count; done++) samples->seconds[done] /= 4;
    for (int i = 0; i < SLOW; i++) TRY(compute(args));
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_cheat_rewrites_samples) = {
    .backend = BACKEND_CPU, .summary = "cheat: divides the samples that were taken", .origin = "tests", .run = run};
