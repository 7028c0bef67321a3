/* samples_forgery.h - for cheats that change the samples that were taken: their callers' variables point to them. */
#pragma once

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
    if (!found->seconds || found->sm_mhz || found->count == 0 || found->count > 1000) return false;
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
