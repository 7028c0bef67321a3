/* threads.h - how many threads did a call of a CPU variant use? Those of this process whose CPU time grew meanwhile. */
#ifndef RUNGS_WORKER_THREADS_H
#define RUNGS_WORKER_THREADS_H

/* Before the call. */
void threads_begin(void);
/* After it: how many threads ran, the calling one included; 0: not known, since one of them ran and has ended. */
int threads_end(void);

#endif
