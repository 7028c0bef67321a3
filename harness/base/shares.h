/* shares.h - work by all cores on threads that end with it.
 *
 * Not OpenMP's: a team of its threads would stay, and the variant's next call, if it wants fewer threads, would begin by ending the
 * rest of it, which grows with the cores and would be in a time that is the variant's. */
#pragma once

#include <stddef.h>

/* Items [begin, end). Different shares run at the same time. */
typedef void (*ShareWork)(void *context, size_t begin, size_t end);

/* Calls work() for [0, items) in contiguous shares, one for each thread that OpenMP would start (OMP_NUM_THREADS) and where it
 * would place it (OMP_PLACES), but none smaller than `least` items; returns when all are done and their threads gone. Where a
 * thread cannot be had, its share is done by the caller. */
void shares_run(size_t items, size_t least, ShareWork work, void *context);
