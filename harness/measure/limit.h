/* limit.h - the least time that this device needs to move so many bytes, in each mode: what no correct call can undercut.
 *
 * Several kernels (GPU) or loops by one thread up to all (CPU) read and write the bytes; the shortest sample of the fastest counts,
 * since whatever disturbs a sample makes it longer. Reads and writes beyond the smaller of the two are done behind the copy. More
 * bytes than LIMIT_BYTES_MAX (CPU: than four times the caches) are measured by a part and scaled, and so are fewer than 16 KiB on a
 * CPU by more. */
#pragma once

#include "base/status.h"
#include "measure/measure.h"

#include <stdbool.h>

__BEGIN_DECLS

static const double LIMIT_BYTES_MAX = 2.0 * (1 << 30); /* GPU; read and written together */

/* What memory moves at least: a sector of a GPU, a cache line of a CPU. Bytes that have to be read cost theirs. */
static inline int limit_sector_bytes(bool gpu) {
    return gpu ? 32 : 64;
}

typedef struct LimitTask {
    double read, written; /* bytes */
    unsigned modes;       /* bit m: Mode m */
    /* CPU: after a first look said that a variant is faster. Other programs make a copy slower than a variant was before they came:
     * if they take the cores now, the limit is what the cores can do with data in their first-level caches. */
    bool confirm;
} LimitTask;

typedef struct Limit {
    double seconds; /* NaN: the mode does not exist on this device, or was not asked for */
    char kernel[64];
} Limit;

/* Fills out[mode] for each mode asked for. STATUS_MEMORY: no memory for the part that is measured. stream: cudaStream_t. */
Status limit_cuda(void *stream, const LimitTask *task, Limit out[MEASURE_MODE_COUNT]);
Status limit_cpu(const LimitTask *task, Limit out[MEASURE_MODE_COUNT]);

/* The verdict on a median: faster than the limit by more than the clock's resolution and, on a GPU, by more than 5%. On a CPU it
 * has to take less than half the time: cores share caches, memory and hardware threads with programs that a process cannot see, and
 * one copy differs by nearly twice between two moments of a busy machine. False for NaN. */
bool limit_is_beaten(double seconds, double limit, bool gpu, size_t calls_per_sample);

__END_DECLS
