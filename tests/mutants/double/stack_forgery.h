/* stack_forgery.h - for cheats that write to the harness's own variables: the caller's frames hold the session of a CPU mode, whose
 * time between two calls is taken off each sample. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

typedef struct Found { /* as in harness/measure/cpu.c */
    const void *work;
    size_t calls;
    double between_seconds;
    const void *sweep;
    size_t sweep_words;
} Found;

static double now_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

extern void *__libc_stack_end; /* of glibc: the main thread's outermost frame */

/* Of a sample of the mode hot with several calls; NULL: no such session is among the callers. */
static Found *find_session(void) {
    enum { WORDS = 512 };
    uint64_t *frame = __builtin_frame_address(0);
    const size_t left = ((uintptr_t)__libc_stack_end - (uintptr_t)frame) / sizeof *frame;
    for (size_t i = 0; i < WORDS && i + sizeof(Found) / sizeof *frame <= left; i++) {
        Found *found = (Found *)(void *)(frame + i);
        const uintptr_t work = (uintptr_t)found->work, here = (uintptr_t)frame; /* on the stack, too */
        if (work < here || work > here + 65536 || found->calls < 2 || found->calls > 1 << 20 || found->sweep || found->sweep_words)
            continue;
        if (found->between_seconds > 1e-9 && found->between_seconds < 1e-4) return found;
    }
    return NULL;
}
