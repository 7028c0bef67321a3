/* children.h - the processes that a process started, as the kernel lists them in /proc/PID/task/TID/children. */
#ifndef RUNGS_BASE_CHILDREN_H
#define RUNGS_BASE_CHILDREN_H

#include <stdbool.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PIDS_MAX = 1024 };

/* Zero-initialise. What does not fit is left out: those who kill look again. */
typedef struct Pids {
    int count;
    pid_t pid[PIDS_MAX];
} Pids;

bool pids_contain(const Pids *pids, pid_t pid);
/* Once each. */
void pids_add(Pids *pids, pid_t pid);
/* Adds the children of a process, not theirs. */
void children_add(pid_t of, Pids *out);

#ifdef __cplusplus
}
#endif
#endif
