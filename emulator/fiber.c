/* Stacks, and switching between them. */
#include "emulator/fault.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#ifdef __x86_64__

void emulator_context_swap(void **from, void *to);

__asm__(".text\n"
        ".globl emulator_context_swap\n"
        ".hidden emulator_context_swap\n"
        ".type emulator_context_swap, @function\n"
        "emulator_context_swap:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size emulator_context_swap, . - emulator_context_swap\n");

enum { SAVED_REGISTERS = 6 };

void context_make(Context *context, void *stack, size_t bytes, void (*enter)(void)) {
    uintptr_t top = ((uintptr_t)stack + bytes) & ~(uintptr_t)15;
    void **frame = (void **)top;
    *--frame = NULL; /* where a return address of `enter` would lie: keeps the ABI's alignment and ends back traces */
    *--frame = (void *)(uintptr_t)enter;
    for (int i = 0; i < SAVED_REGISTERS; i++) *--frame = NULL;
    context->stack_pointer = frame;
}

void context_switch(Context *from, Context *to) {
    emulator_context_swap(&from->stack_pointer, to->stack_pointer);
}

#else

void context_make(Context *context, void *stack, size_t bytes, void (*enter)(void)) {
    getcontext(&context->machine);
    context->machine.uc_stack.ss_sp = stack;
    context->machine.uc_stack.ss_size = bytes;
    context->machine.uc_link = NULL;
    makecontext(&context->machine, enter, 0);
}

void context_switch(Context *from, Context *to) {
    swapcontext(&from->machine, &to->machine);
}

#endif

/* A pool of fiber stacks. Pages cost nothing until touched; below each stack lies an inaccessible page. */

/* Sanitized frames are several times larger than plain ones. */
static const size_t STACK_BYTES = 256 * 1024, GUARD_BYTES = 4096;
enum { STACKS_MAX = RESIDENT_MAX * BLOCK_THREADS_MAX, TOGETHER = 64 };
/* Tops of stacks lie at different distances from their pages' ends, or all would compete for the same lines of the cache. */
enum { COLOURS = 32, COLOUR_BYTES = 192 };

static void *every[STACKS_MAX];
static Stack free_list[STACKS_MAX];
static int made, available;

Stack stack_take(void) {
    if (available > 0) return free_list[--available];
    if (made == STACKS_MAX) fault_internal("more fibers than stacks");
    static unsigned char *next;
    const size_t bytes = GUARD_BYTES + STACK_BYTES;
    if (made % TOGETHER == 0)
        next = mmap(NULL, TOGETHER * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    unsigned char *guard = next;
    if (guard == MAP_FAILED || mprotect(guard, GUARD_BYTES, PROT_NONE) != 0)
        fault_internal("no memory for another thread's stack; fewer resident blocks (RUNGS_EMULATOR_BLOCKS) need fewer");
    next += bytes;
    every[made++] = guard;
    return (Stack){guard + GUARD_BYTES, STACK_BYTES - (size_t)(made % COLOURS) * COLOUR_BYTES};
}

void stack_give(Stack stack) {
    free_list[available++] = stack;
}

bool stack_guard_hit(const void *address) {
    for (int i = 0; i < made; i++)
        if ((uintptr_t)address - (uintptr_t)every[i] < GUARD_BYTES) return true;
    return false;
}
