/* cache.h - how much the CPU's caches hold, all together, and how to empty them. */
#ifndef RUNGS_MEASURE_CACHE_H
#define RUNGS_MEASURE_CACHE_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of all second- and last-level caches of this machine, each instance counted once. A guess of 32 MiB where the system does
 * not say (some virtual machines). */
size_t cache_bytes_total(void);
/* Bytes that a sweep must touch to leave nothing of what was cached before: twice that. */
size_t cache_sweep_bytes(void);
/* Writes every word, on the cores that sweep it: one core takes long for the first touch of so much memory. */
void cache_fill(uint64_t *words, size_t count);
/* Reads the words on every core that OpenMP would use, so that private caches are turned over as well as the shared ones, on
 * threads that end with it (base/shares.h). It does not write: dirty lines would be left for the measured work to write back. */
void cache_sweep(const uint64_t *words, size_t count);

#endif
