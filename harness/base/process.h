/* process.h - runs another program and waits for it. Arguments go through as they are: there is no shell in between. When this
 * process ends, however it ends, the program and all that it started end too, whatever session they moved to. */
#pragma once

#include "base/status.h"
#include "base/text.h"

#include <stdbool.h>
#include <sys/types.h>

typedef struct ProcessLimits {
    double seconds;       /* the program is killed after this time; 0: no limit */
    size_t bytes;         /* and when it has written more than this; 0: no limit */
    bool quiet_errors;    /* its stderr goes to /dev/null, not to *output */
    bool own_errors;      /* its stderr is that of this process */
    bool own_input;       /* its stdin is that of this process, not /dev/null */
    const char *variable; /* "NAME=VALUE" for its environment; NULL: none */
} ProcessLimits;

/* argv[0] is looked up on PATH; argv ends with NULL. What it writes to stdout and stderr is appended to *output, with '?' for each
 * zero byte; *exit_code is its exit status, or 128 + signal. limits: may be NULL. STATUS_UNSUPPORTED if there is no such program;
 * STATUS_IO if it was killed for a limit. On an interrupt the program gets SIGTERM; whatever is left after 3 s is killed. */
Status process_capture(const char *const argv[], const ProcessLimits *limits, Text *output, int *exit_code);

/* In a forked child that watches over other processes: gives it a session of its own, lets it ignore the signals that would end it,
 * makes `descriptor` its stdin, and closes all others. */
void process_stand_aside(int descriptor);
/* Until something can be read there, a millisecond at most, without sleep: to wake takes longer than what is timed. */
void process_stay_awake(int descriptor);

enum { PIDS_MAX = 1024 };

/* Zero-initialise. Process ids beyond PIDS_MAX are left out: loops that kill processes list them again. */
typedef struct Pids {
    int count;
    pid_t pid[PIDS_MAX];
} Pids;

bool pids_contain(const Pids *pids, pid_t pid);
/* Adds a process id that is not in the list yet. */
void pids_add(Pids *pids, pid_t pid);
/* Adds the children of a process, without their own, from /proc/PID/task/TID/children. */
void process_children(pid_t of, Pids *out);

/* ---- A signal that asks this program to end. Code that waits, or is about to begin something long, checks whether one has come.
 * In a program that never calls interrupt_note the signal's default action holds. */

/* For a signal handler: the first signal stays. */
void interrupt_note(int signal_number);
/* The signal that came; 0: none. */
int interrupt_pending(void);
/* STATUS_IO if one came. */
Status interrupt_check(void);

/* The other threads of this process, by their CPU time. */
enum { OTHERS_MAX = 1024 };

typedef struct OtherThread {
    int id;
    double seconds; /* of CPU time */
} OtherThread;

/* CPU seconds of a thread so far; negative: it has ended. */
double other_seconds(int id);
/* Does it wait for something? Not one that waits for a core, for a page, or has ended. */
bool other_sleeps(int id);
/* CPU seconds of a thread since those were looked at; all of its own where it is none of them. */
double other_ran(OtherThread now, const OtherThread *before, int count);
/* All but the calling one, as many as there is room for; returns how many. */
int others_look(OtherThread threads[OTHERS_MAX]);

/* The file in memory that holds what a library's worker keeps (measure/kept.h), by which device/confine.h knows its pages. */
#define PROCESS_KEPT_FILE "rungs-kept"
