/* engine.h - what the kernels' header (cuda*.h, C++) asks of the engine (C): the whole interface between the two.
 *
 * Everything typed is done in the header; the engine sees bits, addresses and source positions.
 */
#pragma once

#ifndef RUNGS_PROGRAM /* a program as it is has names of its own */
#include "base/status.h"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

__BEGIN_DECLS

/* Where in the kernel's source an operation stands. */
typedef struct EmulatorSite {
    const char *file;
    int line;
} EmulatorSite;

typedef struct EmulatorLaunch {
    const void *kernel;             /* its address: reports turn it into a name */
    void (*enter)(void *arguments); /* calls the kernel once, for the thread that the built-in variables name */
    void *arguments;
    size_t argument_bytes;
    unsigned grid[3], block[3];
    size_t shared_bytes;
    void *stream;
    const char *unit; /* names the ELF section that holds the source file's __shared__ variables */
    const char *name; /* as the source writes it, with template arguments; NULL: what the address is called */
    bool cooperative; /* all blocks are resident at once, or the launch is refused */
} EmulatorLaunch;

/* Runs the whole grid before it returns. A launch that the hardware would refuse is a Status; a fault inside ends the process. */
#ifndef RUNGS_PROGRAM
Status emulator_launch(const EmulatorLaunch *launch);
#endif
/* Of a program (program.c): says why a launch is refused, and gives the runtime's error code. */
int emulator_program_launch(const EmulatorLaunch *launch, EmulatorSite site);
/* Of a program whose algorithms run on the CPU (Thrust): memory of the device is the host's too, from now on. */
void emulator_share(void);
/* Of a file that was bound to an op: work that names no stream goes to the given one (harness/bound.cu). */
void emulator_bind(void);
/* What reports call the next array that is allocated. */
void emulator_name_next(const char *name);
/* Where blocks of a cooperative launch count their arrivals; NULL in others. */
unsigned *emulator_grid_barrier(void);

void *emulator_dynamic_shared(void);

typedef enum EmulatorBarrier { BARRIER_PLAIN, BARRIER_COUNT, BARRIER_AND, BARRIER_OR } EmulatorBarrier;
/* Waits for the block; returns the reduction of `predicate` over its threads. */
int emulator_barrier(EmulatorBarrier kind, int predicate, EmulatorSite site);

typedef enum EmulatorWarpOp {
    WARP_SYNC,
    WARP_SHUFFLE,
    WARP_SHUFFLE_UP,
    WARP_SHUFFLE_DOWN,
    WARP_SHUFFLE_XOR,
    WARP_ALL,
    WARP_ANY,
    WARP_BALLOT,
    WARP_MATCH_ANY,
    WARP_MATCH_ALL,
    WARP_REDUCE_ADD,
    WARP_REDUCE_MIN,
    WARP_REDUCE_MAX,
    WARP_REDUCE_MIN_SIGNED,
    WARP_REDUCE_MAX_SIGNED,
    WARP_REDUCE_AND,
    WARP_REDUCE_OR,
    WARP_REDUCE_XOR
} EmulatorWarpOp;
/* Waits for the lanes of `mask`. `operand` is the lane, distance or lane mask of a shuffle, `width` its segment. */
uint64_t emulator_warp(EmulatorWarpOp op, unsigned mask, uint64_t value, unsigned operand, unsigned width, EmulatorSite site);
unsigned emulator_active_mask(void);
unsigned emulator_lane(void);

/* EXCHANGE: an update that needs nothing to be there. */
typedef enum EmulatorAccess { ACCESS_LOAD, ACCESS_STORE, ACCESS_UPDATE, ACCESS_EXCHANGE } EmulatorAccess;
typedef enum EmulatorScope { SCOPE_BLOCK, SCOPE_DEVICE } EmulatorScope;
/* What an atomic operation orders by itself, as C++'s memory orders have it; a bit each. */
typedef enum EmulatorOrdering { ORDERS_NOTHING, ACQUIRES, RELEASES, ACQUIRES_AND_RELEASES } EmulatorOrdering;
/* Called just before an atomic operation, which then is a plain one: no other thread runs until it is done. */
void emulator_atomic(const void *address, size_t bytes, EmulatorAccess access, EmulatorScope scope, EmulatorSite site);
void emulator_atomic_ordered(const void *address, size_t bytes, EmulatorAccess access, EmulatorScope scope,
                             EmulatorOrdering ordering, EmulatorSite site);
void emulator_fence(EmulatorScope scope);
bool emulator_in_kernel(void);
/* Asynchronous copies (cp.async): done when the thread waits for the group that they were committed to. The rest, `zeros` bytes, is
 * filled. */
void emulator_copy_start(void *to, const void *from, size_t bytes, size_t zeros, EmulatorSite site);
void emulator_copy_commit(void);
void emulator_copy_wait(unsigned groups_left);
/* The copy that was started last is waited for at a barrier: it belongs to the phase in which its thread arrives there next, and
 * arrives itself when a thread has waited for that phase. */
void emulator_copy_bind(const void *barrier);
void emulator_copy_arrive(const void *barrier, unsigned phase);
void emulator_copy_settle(const void *barrier, unsigned phase);
/* A place where another thread may go on: clock reads, __nanosleep. */
void emulator_pause(void);
uint64_t emulator_clock(void);

/* A vector access must be aligned to its size. */
void emulator_check_alignment(const void *address, size_t alignment);
/* __trap() and a failed promise of the header. */
void emulator_trap(const char *what, EmulatorSite site) __attribute__((noreturn));

__END_DECLS
