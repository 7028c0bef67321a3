#include "device/cpu_fault.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

enum { BLOCKS_MAX = 256 /* further ones have no names */, NAME_MAX_BYTES = 32, STACK_BYTES = 64 << 10 };

typedef struct Watched {
    const void *pointer; /* NULL: free */
    CpuBlock block;
    char name[NAME_MAX_BYTES];
} Watched;

static Watched watched[BLOCKS_MAX];
static struct sigaction previous[2]; /* of SIGSEGV and SIGBUS: a sanitizer's */

static Watched *find(const void *pointer) {
    for (int i = 0; i < BLOCKS_MAX; i++)
        if (watched[i].pointer == pointer) return &watched[i];
    return NULL;
}

void cpufault_watch(const void *pointer, const CpuBlock *block) {
    Watched *w = find(NULL);
    if (w) *w = (Watched){.pointer = pointer, .block = *block};
}

void cpufault_describe(void *pointer, const char *name, const void *payload, size_t bytes) {
    Watched *w = find(pointer);
    if (!w) return;
    snprintf(w->name, sizeof w->name, "%s", name);
    w->block.begin = payload;
    w->block.end = w->block.begin + bytes;
}

void cpufault_forget(const void *pointer) {
    Watched *w = find(pointer);
    if (w) *w = (Watched){.pointer = NULL};
}

/* "wrote", "read"; "touched" where the processor does not say which. */
static const char *access_of(const void *context) {
#if defined(__x86_64__)
    return ((const ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2 ? "wrote" : "read";
#else
    (void)context;
    return "touched";
#endif
}

static void explain(const Watched *w, const unsigned char *at, const char *access) {
    char text[200];
    const CpuBlock *b = &w->block;
    const size_t bytes = (size_t)(b->end - b->begin);
    int length;
    if (at < b->begin)
        length = snprintf(text, sizeof text, "rungs-worker: %s %zu bytes before the start of %s, which has %zu bytes\n", access,
                          (size_t)(b->begin - at), w->name, bytes);
    else if (at >= b->end)
        length = snprintf(text, sizeof text, "rungs-worker: %s %zu bytes past the end of %s, which has %zu bytes\n", access,
                          (size_t)(at - b->end), w->name, bytes);
    else
        length = snprintf(text, sizeof text, "rungs-worker: %s to input %s, byte %zu of %zu\n", access, w->name,
                          (size_t)(at - b->begin), bytes);
    if (length > 0 && write(STDERR_FILENO, text, (size_t)length) < 0) return; /* stderr is closed */
}

static void on_fault(int number, siginfo_t *info, void *context) {
    const unsigned char *at = info->si_addr;
    for (int i = 0; i < BLOCKS_MAX; i++)
        if (watched[i].pointer && watched[i].name[0] && at >= watched[i].block.from && at < watched[i].block.to)
            explain(&watched[i], at, access_of(context));
    sigaction(number, &previous[number == SIGBUS], NULL); /* the instruction faults again, as if we had never been here */
}

void cpufault_explain(void) {
    static char stack[STACK_BYTES]; /* the fault may be an overflow of the other one */
    static bool explains;
    if (explains) return;
    explains = true;
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    stack_t present;
    if (sigaltstack(NULL, &present) == 0 && present.ss_flags & SS_DISABLE) sigaltstack(&alternate, NULL);
    sigaction(SIGSEGV, &action, &previous[0]);
    sigaction(SIGBUS, &action, &previous[1]);
}
