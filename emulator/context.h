/* context.h - switching between stacks: the only machine-dependent part of the emulator. */
#ifndef RUNGS_EMULATOR_CONTEXT_H
#define RUNGS_EMULATOR_CONTEXT_H

#include <stddef.h>

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

/* Makes a context that calls `enter` on the given stack when first switched to. `enter` never returns. */
void context_make(Context *context, void *stack, size_t bytes, void (*enter)(void));
/* Saves the running context in `from` and goes on with `to`. */
void context_switch(Context *from, Context *to);

#endif
