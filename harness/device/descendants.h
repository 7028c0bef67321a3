/* descendants.h - the processes that a worker starts: their memory, and their end when they outlive it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define DESCENDANTS_MARK "RUNGS_WORKER_OF="

/* Before a worker is forked. Orphans among its descendants become children of this process from now on, whatever session they
 * moved to. The children of the moment count as known. The first call starts a process that ends all descendants of workers when
 * this one is killed. */
void descendants_expect(void);
/* "NAME=value" for the environment of workers. It tells their orphans from those of children that this process had before its first
 * worker: a shell that becomes this program keeps its own. */
const char *descendants_mark(void);
/* A child that is no orphan. */
void descendants_know(pid_t pid);
/* Bytes of anonymous and shared memory of a process, its descendants and the orphans, each page once, if they exceed `limit`;
 * otherwise anything up to `limit`. Not covered: page cache, files in memory that nobody maps, what is swapped out. */
size_t descendants_bytes(pid_t pid, size_t limit);
/* The processes that it has started and that are there, orphans too: how many, the sum of their numbers, their CPU time. */
typedef struct Helpers {
    int count;
    long long numbers;
    double seconds;
} Helpers;

/* Of a process that is `own` processes itself. */
Helpers descendants_helpers(pid_t pid, int own);
/* CPU time of the process, its descendants and the orphans. */
double descendants_seconds(pid_t pid);
/* Orphans have `patience_ms` to end by themselves. Then they are killed, all are reaped, and their number is returned. */
int descendants_end(int patience_ms);
