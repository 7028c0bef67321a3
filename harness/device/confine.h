/* confine.h - what a worker may write: its own folder and devices; those of GPUs and libraries also /dev/shm, and what /proc has of
 * the process. Nothing that decides a row, now or later: program, modules, references, rows, scenarios, Python packages. By
 * Landlock (Linux 5.13), which needs no privileges and holds for all that the process starts. Reading is not restricted. By seccomp
 * it gets no userfaultfd, and a variant on the CPU nothing of the kernel's that would outlive it: shared memory, queues,
 * semaphores, keys. */
#ifndef RUNGS_DEVICE_CONFINE_H
#define RUNGS_DEVICE_CONFINE_H

#include <stdbool.h>

/* Does the kernel have it? Where it has none, a worker is as free as its user. */
bool confine_available(void);
/* This process, for good, also behind an exec: descriptors stay open. True where the kernel has none. folder: where it may make,
 * change and remove what it likes; NULL: nowhere. others_too: /dev/shm and /proc/self, which has its code as a file (mem), as well.
 * Can be called again for less. False: errno is set. Async-signal-safe. */
bool confine_self(const char *folder, bool others_too);

#endif
