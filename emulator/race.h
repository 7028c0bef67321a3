/* race.h - the race detector: who may have seen whose writes. Active in programs whose kernels are compiled with -fsanitize=thread;
 * its hooks are ours (hooks.c), ThreadSanitizer's runtime is not linked.
 *
 * Happens-before: program order; block barriers; __syncwarp() among the lanes of its mask; a fence, then an atomic or volatile
 * write, read by an atomic or volatile read, then a fence, all with scopes that reach the other thread; the beginning and end of a
 * kernel. Shuffles and votes order no memory (CUDA says so).
 */
#pragma once

#include "emulator/fiber.h"

/* Are the kernels of this program instrumented? */
bool race_enabled(void);
void race_launch_start(void);
void race_launch_finish(void);
/* To run a launch again (memory.h): which bytes of the arena were written, and the __device__ variables. */
void race_keep(void);
void race_bring_back(void);
void race_block_start(Block *block);
void race_block_finish(Block *block);
void race_block_barrier(Block *block);
void race_warp_sync(Block *block, unsigned first_thread, unsigned lanes);
void race_fence(EmulatorScope scope);
/* Atomic operations and, as CUDA's memory model has it, volatile accesses. */
typedef struct RaceOrder {
    EmulatorScope scope;
    EmulatorOrdering ordering;
} RaceOrder;
void race_synchronising_access(const void *address, size_t bytes, EmulatorAccess access, RaceOrder order, const void *pc,
                               EmulatorSite site);
/* From its start to its finish an asynchronous copy reads and writes unordered with everything, its own thread included. */
void race_copy_start(const AsyncCopy *copy, EmulatorSite site);
void race_copy_finish(const AsyncCopy *copy);
/* The running thread's clock. */
uint32_t race_now(void);
void race_volatile_access(const void *address, size_t bytes, bool write, const void *pc);
void race_plain_access(const void *address, size_t bytes, bool write, const void *pc);
/* The running thread's own stack: what lies there is its alone. */
extern Stack race_stack;
static inline bool race_is_local(const void *address) {
    return (uintptr_t)address - (uintptr_t)race_stack.bottom < race_stack.bytes;
}
/* The same for the usual sizes. */
void race_read1(const void *address, const void *pc);
void race_read2(const void *address, const void *pc);
void race_read4(const void *address, const void *pc);
void race_read8(const void *address, const void *pc);
void race_read16(const void *address, const void *pc);
void race_write1(const void *address, const void *pc);
void race_write2(const void *address, const void *pc);
void race_write4(const void *address, const void *pc);
void race_write8(const void *address, const void *pc);
void race_write16(const void *address, const void *pc);
/* The host or a runtime call wrote these bytes of device memory: they count as initialised. Or: their contents are undefined. */
void race_host_wrote(const void *address, size_t bytes);
void race_host_allocated(const void *address, size_t bytes);
/* Nobody will touch these whole pages again. */
void race_host_released(const void *address, size_t bytes);

/* The running thread is about to be left, for `next`; NULL: for the host. */
void race_before_switch(const Fiber *next);

/* An uninitialised read that is not reported yet, in words; NULL if there is none. */
const char *race_pending_note(void);

/* knowledge.c: vector clocks: up to which point of every other thread's life are its accesses known to have happened?
 *
 * A thread's life is counted in clocks; each synchronisation that publishes what it did ends one. Threads synchronise by whole
 * blocks most of the time, so knowledge is kept per block as a shared, counted vector and only what differs is copied. Values never
 * change once made; each function that returns one returns a reference to be dropped.
 */
/* NULL: nothing is known. */
typedef struct Knowledge Knowledge;

/* Threads of a block in this launch: the length of the vectors. */
void knowledge_set_threads(unsigned threads);

Knowledge *knowledge_share(Knowledge *self);
void knowledge_drop(Knowledge **self);
/* Of thread `thread` of block `block`: are its accesses up to `clock` known? */
bool knowledge_has(const Knowledge *self, uint32_t block, unsigned thread, uint32_t clock);
/* Of all threads of a block, up to which clock; NULL: none. */
const uint32_t *knowledge_clocks(const Knowledge *self, uint32_t block);
/* Of how many blocks something is known. */
unsigned knowledge_blocks(const Knowledge *self);
/* self = self and other. */
void knowledge_join(Knowledge **self, Knowledge *other);
/* self = self and the clocks of these threads of one block; clocks[i] is that of thread first + i, 0 for those left out. */
void knowledge_learn(Knowledge **self, uint32_t block, unsigned first, unsigned count, const uint32_t *clocks);

/* shadow.c: what the race detector remembers about memory: for each aligned word of eight bytes its last accesses and which of its
 * bytes were ever written. Device memory, __device__ variables, and the shared memory of each resident block have shadows; stacks
 * and host memory do not.
 */
enum { WORD_BYTES = 8, WORD_ACCESSES = 8 };

enum {
    ACCESS_WRITES = 1,
    ACCESS_ATOMIC = 2,
    ACCESS_OF_BLOCK = 4, /* atomic for its block alone */
    ACCESS_OBSERVES = 8, /* writes what it made of the value before: that write's order is its own */
    ACCESS_ASYNC = 16    /* an asynchronous copy's, which nobody waited for */
};

typedef struct Access {
    uint32_t block; /* linear */
    uint16_t thread;
    uint8_t bytes; /* mask within the word */
    uint8_t flags;
    uint32_t clock;
    uint32_t place; /* in the source: place_of_code() */
} Access;

typedef struct Where {
    uint32_t block, clock, place;
} Where;

/* A line of the cache, all that a word with one or two accesses needs. */
enum { NEAR_ACCESSES = 2 };
typedef struct ShadowHead {
    uint32_t life; /* the launch, or in shared memory the block, whose accesses these are: those of an earlier one are forgotten */
    uint8_t count, writes; /* writes: a bit for each access that is one */
    uint8_t bytes[WORD_ACCESSES];
    uint16_t who[WORD_ACCESSES] __attribute__((aligned(16))); /* who_of() */
    Where near[NEAR_ACCESSES];
} __attribute__((aligned(64))) ShadowHead;

typedef struct ShadowRest {
    Where accesses[WORD_ACCESSES - NEAR_ACCESSES];
} ShadowRest;

typedef struct ShadowWord {
    ShadowHead *head;
    ShadowRest *rest;
} ShadowWord;

static inline uint16_t who_of(unsigned thread, unsigned flags) {
    return (uint16_t)(thread << 5 | flags);
}

static inline Where *where_of(ShadowWord word, int i) {
    /* Hard to predict, so without a branch. */
    const uintptr_t near = (uintptr_t)word.head->near, far = (uintptr_t)word.rest - NEAR_ACCESSES * sizeof(Where);
    return (Where *)((i < NEAR_ACCESSES ? near : far) + (unsigned)i * sizeof(Where));
}

static inline Access access_at(ShadowWord word, int i) {
    const Where *where = where_of(word, i);
    return (Access){.block = where->block,
                    .thread = word.head->who[i] >> 5,
                    .bytes = word.head->bytes[i],
                    .flags = word.head->who[i] & 31,
                    .clock = where->clock,
                    .place = where->place};
}

static inline void access_put(ShadowWord word, int i, Access access) {
    ShadowHead *head = word.head;
    head->bytes[i] = access.bytes;
    head->who[i] = who_of(access.thread, access.flags);
    head->writes = (uint8_t)((head->writes & ~(1u << i)) | (access.flags & ACCESS_WRITES) << i);
    *where_of(word, i) = (Where){access.block, access.clock, access.place};
}

/* A range of addresses; the others run in parallel. */
typedef struct Shadow {
    unsigned char *begin;
    size_t bytes;
    ShadowHead *heads;
    ShadowRest *rests;
    unsigned char *written;
} Shadow;

typedef struct Shadows {
    Shadow device, variables, dynamic_shared, static_shared[RESIDENT_MAX]; /* the last: by slot, at one address */
} Shadows;

extern Shadows shadows;

static inline bool shadow_covers(const Shadow *shadow, const void *address) {
    return (uintptr_t)address - (uintptr_t)shadow->begin < shadow->bytes;
}

/* The running thread's; NULL if the address has none. */
static inline const Shadow *shadow_of(const void *address) {
    const Shadow *own = &shadows.static_shared[engine.current->block->slot];
    return shadow_covers(&shadows.device, address)           ? &shadows.device
           : shadow_covers(&shadows.dynamic_shared, address) ? &shadows.dynamic_shared
           : shadow_covers(own, address)                     ? own
           : shadow_covers(&shadows.variables, address)      ? &shadows.variables
                                                             : NULL;
}

/* The word that holds `address`. */
static inline size_t shadow_index(const Shadow *shadow, const void *address) {
    return ((uintptr_t)address - (uintptr_t)shadow->begin) / WORD_BYTES;
}

static inline ShadowWord shadow_word(const Shadow *shadow, size_t index) {
    return (ShadowWord){&shadow->heads[index], &shadow->rests[index]};
}

/* Of device memory. */
void shadow_set_written(const void *address, size_t bytes, bool is_written);
/* What race_keep() says. A __device__ variable is kept when a kernel is about to write it. */
void shadow_keep(void);
void shadow_before_write(const void *address, size_t bytes);
void shadow_bring_back(void);
/* Fresh shared memory for a block. */
void shadow_block_start(Block *block);
void shadow_launch_start(void);
/* All accesses; what was written stays written. */
void shadow_forget_all(void);
void shadow_release(const void *address, size_t bytes);

/* findings.c: what was found, each pair of lines once. */
void finding_race(Access mine, Access other, const void *address, size_t bytes);
void finding_unwritten(Access mine, const void *address, size_t bytes);
/* Of two writes that meet, is the second done? Before anything else is accessed, and before the thread is left. */
extern bool findings_open;
void findings_decide(void);
static inline void findings_settle(void) {
    if (findings_open) findings_decide();
}
void findings_block_finish(const Block *block);
void findings_launch_finish(void);

/* What atomic and volatile writes carry to those who read them: one record for each such address. */
typedef struct SyncVar {
    struct SyncVar *next;
    uintptr_t key;  /* address, and for shared memory the block */
    uint32_t block; /* who wrote last, and who sees it */
    EmulatorScope scope;
    Knowledge *carried; /* published by fences of the device */
    struct {
        uint32_t block;
        Knowledge *carried;
    } own[RESIDENT_MAX]; /* by slot: published by any fence of this block, for itself */
} SyncVar;

/* NULL if there is none and `make` is false. */
SyncVar *syncvar_at(const void *address, bool make);
/* It carries nothing any more. */
void syncvar_clear(SyncVar *var);
void syncvar_forget_all(void);
