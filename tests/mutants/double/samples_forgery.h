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

/* How many bytes were read: fewer where what follows is not mapped. */
static size_t read_some(const void *at, void *to, size_t bytes) {
    struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)at, bytes};
    const ssize_t got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    return got > 0 ? (size_t)got : 0;
}

static bool read_at(const void *at, void *to, size_t bytes) {
    return read_some(at, to, bytes) == bytes;
}

static bool is_time(const double *at) {
    double seconds = 0;
    return read_at(at, &seconds, sizeof seconds) && seconds > 1e-9 && seconds < 1;
}

/* Not those that were freed: the allocator writes to the first. */
static bool are_samples(const Samples *found) {
    char word[sizeof "steady clock"];
    if (!found->seconds || found->sm_mhz || found->count == 0 || found->count > 1000) return false;
    if (!read_at(found->clock, word, sizeof word) || memcmp(word, "steady clock", sizeof word) != 0) return false;
    return is_time(&found->seconds[0]) && is_time(&found->seconds[found->count - 1]);
}

/* Of the mode that is being timed. The first calls come from so near the end of the stack that there are fewer words. */
static const Samples *find_samples(void) {
    enum { WORDS = 400 };
    uint64_t words[WORDS];
    const uint64_t *frame = __builtin_frame_address(0);
    const size_t count = read_some(frame, words, sizeof words) / sizeof *words;
    for (size_t i = 0; i + sizeof(Samples) / sizeof *words <= count; i++)
        if (are_samples((const Samples *)(const void *)(words + i))) return (const Samples *)(const void *)(frame + i);
    return NULL;
}
