/* moves_cpu.h - ways to move bytes with one thread: what peaks and limits of the CPU are measured with. Compiled for the same
 * -march as the CPU variants. */
#pragma once

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { MOVE_LINE = 64 }; /* bytes that begin at a multiple of this may be moved */

/* Both functions: pointers at multiples of MOVE_LINE. The library's moves every byte, the others whole lines
 * only. */
typedef struct MoveWay {
    const char *name;
    void (*copy)(void *to, const void *from, size_t bytes);
    void (*write)(void *to, size_t bytes);
} MoveWay;

extern const MoveWay MOVE_WAYS[];
extern const int MOVE_WAY_COUNT;
enum { MOVE_WAYS_MAX = 3 };

/* What is moved: the smaller of both sizes is copied, and behind it, at the next line, the rest is read or written. */
typedef struct MoveArrays {
    const char *from;
    char *to;
    size_t read, written; /* bytes */
} MoveArrays;

/* By one thread, or by a team of which each moves a share. The result depends on all that is only read: the compiler keeps the
 * reads as long as it is used. */
uint64_t move_arrays(const MoveArrays *arrays, const MoveWay *way, int threads);

/* How much the CPU's caches hold, all together, and how to empty them. */

/* Bytes of all second- and last-level caches of this machine, each instance counted once. A guess of 32 MiB where the system does
 * not say (some virtual machines). */
size_t cache_bytes_total(void);
/* Bytes that a sweep must touch to leave nothing of what was cached before: twice that. */
size_t cache_sweep_bytes(void);
/* So many, each word written, on the cores that sweep it: one core takes long for the first touch of so much memory. free() it;
 * NULL: no memory. */
uint64_t *cache_sweep_open(size_t *words);
/* Reads the words on every core that OpenMP would use, so that private caches are turned over as well as the shared ones, on
 * threads that end with it (base/shares.h). It does not write: dirty lines would be left for the measured work to write back.
 * STATUS_CHECK: they are not what was written there, so that other memory may have been read. */
Status cache_sweep(const uint64_t *words, size_t count);
