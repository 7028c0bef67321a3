/* moves_cpu.h - ways to move bytes with one thread: what peaks and limits of the CPU are measured with. Compiled for the same
 * -march as the CPU variants. */
#ifndef RUNGS_MEASURE_MOVES_CPU_H
#define RUNGS_MEASURE_MOVES_CPU_H

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

/* Reads whole lines. The result depends on all of them: the compiler keeps the reads as long as the result is used. */
uint64_t move_read(const void *from, size_t bytes);

/* Where the share of a thread in a team begins: at a line. The share of thread `threads`, which does not exist, begins at the end.
 */
static inline size_t move_share(size_t bytes, int thread, int threads) {
    return thread == threads ? bytes : bytes / MOVE_LINE * (size_t)thread / (size_t)threads * MOVE_LINE;
}

#endif
