/* own_code.h - the program's code is not changed by what it loads: modules, from their constructors on, cannot make memory writable
 * that is mapped from files and not writable now, nor map or unmap anything there. So no function of the harness or of libc is
 * replaced, be it in its code or in what the loader has filled in (RELRO). By seccomp; nobody traces
 * this process or another from within (on a GPU /proc/self/mem stays open: confine.h). What the harness keeps in writable memory is
 * not covered. */
#pragma once

#include <stdbool.h>

/* For good, and for what this process starts. False: not kept, because the kernel has no seccomp, or a tool is preloaded
 * (LD_PRELOAD), which may have to change code. */
bool own_code_keep(void);
