/* threads.h - counts the threads that a call of a CPU variant used: those of this process whose CPU time grew during the call. */
#ifndef RUNGS_WORKER_THREADS_H
#define RUNGS_WORKER_THREADS_H

/* Before the call. */
void threads_begin(void);
/* After the call: how many threads ran, the calling one included; 0: unknown, because one of them has ended. */
int threads_end(void);

#endif
