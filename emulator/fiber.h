/* fiber.h - the engine's own view: threads as fibers, the blocks that are resident, the launch under way.
 *
 * One operating-system thread runs everything, so nothing here is locked. A fiber is READY or it waits; a block in which every live
 * fiber waits can never go on, which is how deadlocks are found at once.
 */
#pragma once

#include "emulator/engine.h"

/* How a run is scheduled; together with the program's input it decides everything, so a failure can be replayed. */
typedef enum EmulatorOrder { ORDER_SEQUENTIAL, ORDER_REVERSE, ORDER_RANDOM } EmulatorOrder;

enum { RESIDENT_MAX = 16 };

typedef struct EmulatorSettings {
    EmulatorOrder order;        /* RUNGS_EMULATOR_ORDER=sequential|reverse|random */
    long long seed;             /* RUNGS_EMULATOR_SEED */
    long long resident_blocks;  /* RUNGS_EMULATOR_BLOCKS: how many blocks run at once */
    long long watchdog_seconds; /* RUNGS_EMULATOR_WATCHDOG: CPU seconds without progress until a launch counts as hung */
    long long uninitialised;    /* RUNGS_EMULATOR_INIT: uninitialised reads (race builds): a Class */
    long long same_value;       /* RUNGS_EMULATOR_SAME_VALUE (race builds): a Class */
    long long unset_copies;     /* RUNGS_EMULATOR_UNSET_COPIES: of memory that nobody wrote, to the host (memory builds): a Class */
    long long schedules;        /* RUNGS_EMULATOR_SCHEDULES: of a launch, until so many find nothing new (race builds) */
    long long relaxed_volatile; /* RUNGS_EMULATOR_VOLATILE=0: volatile accesses race as plain ones do (race builds) */
} EmulatorSettings;

/* What a class of findings is. */
enum { CLASS_SILENT, CLASS_NOTE, CLASS_ERROR };

extern EmulatorSettings emulator_settings;

/* From the environment. STATUS_INVALID names the variable, its text and what is allowed. */
Status settings_read(void);
/* The variables that bring this run back: "RUNGS_EMULATOR_SEED=7 ...". */
const char *settings_replay(void);

/* A stack that can be switched to: the only machine-dependent part of the emulator. */
#ifdef __x86_64__
typedef struct Context {
    void *stack_pointer; /* everything else that a call preserves lies on the stack */
} Context;
#else
#include <ucontext.h>
typedef struct Context {
    ucontext_t machine;
} Context;
#endif

enum {
    WARP_LANES = 32,
    BLOCK_THREADS_MAX = 1024,
    WARPS_MAX = BLOCK_THREADS_MAX / WARP_LANES,
    READY_WORDS = BLOCK_THREADS_MAX / 64
};

typedef enum FiberState { FIBER_READY, FIBER_AT_BARRIER, FIBER_AT_WARP, FIBER_DONE } FiberState;

typedef struct Stack {
    void *bottom;
    size_t bytes;
} Stack;

/* The bits of a value that were never set, and who is to blame (values.h). */
typedef struct UnsetBits {
    uint64_t bits;
    uint32_t origin;
} UnsetBits;

typedef struct WarpCall {
    EmulatorWarpOp op;
    unsigned mask, operand, width;
    uint64_t value;
    UnsetBits unset;
} WarpCall;

/* An asynchronous copy that nobody waited for yet; the oldest first. */
typedef struct AsyncCopy {
    struct AsyncCopy *next;
    unsigned char *to;
    const unsigned char *from;
    size_t bytes, zeros;
    unsigned group;
    uint32_t block; /* linear; with `thread`: whose it is */
    unsigned thread;
    const void *barrier; /* whose wait ends it, in this phase; NULL: its own thread's wait */
    unsigned phase;
    uint32_t clock; /* the thread's when it arrived there */
} AsyncCopy;

/* Its first line of the cache is all that a switch needs. */
typedef struct Fiber {
    Context context;
    Stack stack;              /* bottom is NULL until the thread first runs */
    void *sanitizer_stack;    /* AddressSanitizer's, kept while another fiber runs */
    const void *preempted_at; /* code address of its last preemption; NULL after an operation */
    struct Block *block;
    uint16_t thread, rank; /* linear index in the block; place in the running order */
    unsigned index[3];     /* threadIdx */
    FiberState state;
    EmulatorSite site; /* the operation it waits in or last came from */
    EmulatorBarrier barrier;
    int predicate;
    WarpCall call;
    uint64_t result;           /* of the operation it waited in */
    UnsetBits unset;           /* of the result */
    AsyncCopy *copies, *bound; /* bound: to a barrier */
    unsigned copy_groups;      /* committed */
} __attribute__((aligned(64))) Fiber;

typedef struct Block {
    bool resident;
    int slot;
    uint64_t linear;
    unsigned index[3]; /* blockIdx */
    unsigned threads, live, at_barrier;
    unsigned ready_count, cursor;
    int turns;                                                /* scheduling decisions left before another block gets its turn */
    uint64_t ready[READY_WORDS];                              /* by rank */
    unsigned live_lanes[WARPS_MAX], waiting_lanes[WARPS_MAX]; /* of each warp; waiting: in a warp operation */
    unsigned short thread_of_rank[BLOCK_THREADS_MAX];
    Fiber *fibers;          /* by thread */
    AsyncCopy *arrived;     /* bound to barriers, at which their threads have arrived */
    unsigned char *shared;  /* dynamic shared memory: exactly shared_bytes */
    unsigned char *statics; /* copy of the __shared__ variables while another block uses them */
} Block;

typedef struct Engine {
    const EmulatorLaunch *launch; /* NULL: host code is running */
    Context launcher;
    Stack launcher_stack; /* for AddressSanitizer */
    Fiber *current;
    Block *current_block; /* whose __shared__ variables are in place */
    Block blocks[RESIDENT_MAX];
    uint64_t block_count, blocks_started;
    uint32_t *block_order;
    unsigned block_threads;
    Stack dying;       /* stack of the fiber that has just ended: free once we are off it */
    uint64_t progress; /* threads ended and barriers passed: what the watchdog watches */
    uint64_t random_counter, random_at_launch;
} Engine;

extern Engine engine;
/* Basic blocks (or instrumented accesses) until the running thread is preempted; large while host code runs. */
extern int emulator_countdown;
enum { COUNTDOWN_NEVER = 0x7fffffff };

uint32_t engine_random(uint32_t below);

/* schedule.c */
/* The running fiber waits; returns once somebody called schedule_wake() for it. `check` is called when it has begun to wait: it may
 * wake those who waited for this one, the fiber itself included. */
void schedule_wait(FiberState state, EmulatorSite site, void (*check)(Fiber *self));
void schedule_wake(Fiber *fiber);
void schedule_preempt(const void *pc); /* countdown is over: yield and start a new one */

/* sync.c: a thread has ended, which may release those who waited for it. */
void barrier_check(Fiber *fiber);
void warp_thread_ended(Fiber *fiber);
void copies_thread_ended(Fiber *fiber);
void copies_block_ended(Block *block);

/* fiber.c */
/* Makes a context that calls `enter` on the given stack when first switched to. `enter` never returns. */
void context_make(Context *context, void *stack, size_t bytes, void (*enter)(void));
/* Saves the running context in `from` and goes on with `to`. */
void context_switch(Context *from, Context *to);
Stack stack_take(void);
void stack_give(Stack stack);
bool stack_guard_hit(const void *address);
