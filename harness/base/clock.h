/* clock.h - the steady clock: for how long something took and when to give up, never for a date. */
#pragma once

#include <time.h>

/* Seconds since some moment before the program began. */
static inline double clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
