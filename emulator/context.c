/* x86-64: a switch is a function call that returns on another stack, so it keeps what the System V ABI calls preserved and nothing
 * else. (swapcontext() also makes a system call for the signal mask, which makes it several times slower.) Elsewhere:
 * ucontext. */
#include "emulator/context.h"

#include <stdint.h>

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
