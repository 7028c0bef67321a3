/* guard.h - a process between this one and a program that it starts. When this one ends, however it ends, the program and all that
 * it started end too, whatever session they moved to. */
#ifndef RUNGS_BASE_GUARD_H
#define RUNGS_BASE_GUARD_H

#include <stdbool.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Guard {
    pid_t pid;
    int line; /* that this process lives */
} Guard;

/* What the program gets. */
typedef struct GuardProgram {
    const char *const *argv; /* argv[0] is looked up on PATH; ends with NULL */
    const char *variable;    /* "NAME=VALUE", one more of its environment; may be NULL */
    int output;              /* its stdout */
    bool own_input;          /* stdin: that of this process; else /dev/null */
    bool quiet_errors;       /* stderr: /dev/null; else as stdout */
} GuardProgram;

/* 0, or the errno of why the program does not run. */
int guard_start(const GuardProgram *program, Guard *out);
typedef enum GuardEnd {
    GUARD_WAIT, /* until the program ends by itself */
    GUARD_TERM, /* SIGTERM to the program; after 3 s SIGKILL to all that is left */
    GUARD_KILL, /* SIGKILL to all */
} GuardEnd;
/* Returns the exit status of the program, 128 + signal where one ended it; -1: the guard is gone. */
int guard_end(Guard *self, GuardEnd how);

#ifdef __cplusplus
}
#endif
#endif
