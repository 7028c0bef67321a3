/* confine.h - what a worker may write: its own folder, devices, and on a GPU what /proc has of itself and /dev/shm. Nothing that
 * decides a row, now or later: program, modules, references, rows, scenarios, Python packages. By Landlock (Linux 5.13), which
 * needs no privileges and holds for all that the process starts. Reading is not restricted. By seccomp it gets no userfaultfd, and
 * no shared memory, semaphores, queues and keys that would outlive it: no worker leaves word for the next; nor another clock. */
#pragma once

#include <stdbool.h>

/* Does the kernel have it? Where it has none, a worker is as free as its user. */
bool confine_available(void);
/* A folder where all workers may write (RUNGS_WORKERS_WRITE), as tests need it: their rows are not `confined`. NULL: none. */
const char *confine_shared(void);
/* This process, for good, also behind an exec: descriptors stay open. True where the kernel has none. folder: where it may make,
 * change and remove what it likes; NULL: nowhere. on_gpu: it may write to /proc/self, which has its code as a file (mem), and to
 * /dev/shm: CUDA may need them. Can be called again for less. False: errno is set. Async-signal-safe. */
bool confine_self(const char *folder, bool on_gpu);
/* The program's code is not changed by what it loads: modules, from their constructors on, cannot make memory writable that is
 * mapped from files and not writable now, nor map or unmap anything there. So no function of the harness or of libc is replaced, be
 * it in its code or in what the loader has filled in (RELRO). By seccomp; nobody traces this process or another from within (on a
 * GPU /proc/self/mem stays open). What the harness keeps in writable memory is not covered. files: false: the kernel's clock,
 * librungs_measure.so and what a library's worker keeps. For good, and for what this process starts. False: not kept, because the
 * kernel has no seccomp, or a tool is preloaded (LD_PRELOAD), which may have to change code.
 */
bool confine_code(bool files);
