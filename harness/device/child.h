/* child.h - a worker process, talked to in JSON lines (docs/PROTOCOL.md). Whatever happens to it stays in it: a crash, a hang and
 * memory without end each come back as a Status with words for the row. */
#pragma once

#include "base/status.h"
#include "device/descendants.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct Child Child;

typedef struct ChildOptions {
    /* Program and arguments, NULL-terminated, to which "--commands FD --replies FD --arrays FD" is added; NULL: this program's own
     * workers. */
    const char *const *argv;
    bool on_cpu;         /* it works with no GPU, and is confined further (device/confine.h) */
    size_t memory_limit; /* bytes beyond which it is killed (device/descendants.h), without the arrays it was handed; 0: none */
} ChildOptions;

/* It gets no files but its pipes, the socket, and the log. */
Status child_start(const ChildOptions *options, Child **out);
/* Hands it files, which the next command numbers from 0 in this order; they are those of a case, whose memory limit begins anew. At
 * most SHARED_MAX_FILES (device/shared.h). */
void child_hand(Child *child, const int *files, int count);
/* Sends a command, whose reference it takes, and waits for its one reply (new reference). STATUS_CHECK, _DEVICE, ... as the worker
 * says; STATUS_UNSUPPORTED for a skip. STATUS_DEVICE "crashed: signal 11 (Segmentation fault)", "timed out after 60 s", "exceeded 8
 * GiB of memory", "ended with exit code 3" otherwise, followed by the end of what it printed; the child is dead then. */
Status child_ask(Child *child, json_t *command, double timeout_seconds, json_t **reply);
/* The same with the seconds from the command to its whole reply. awake: see process_stay_awake(). */
Status child_time(Child *child, json_t *command, bool awake, double timeout_seconds, double *seconds, json_t **reply);
/* Raises the memory limit, if there is one, by what the harness itself is about to take in the worker. */
void child_allow(Child *child, size_t more_bytes);
/* Has it started no other process that still runs? */
bool child_alone(const Child *child);
/* The processes that it has started. */
Helpers child_helpers(const Child *child);
/* Its CPU time and that of the processes that it has started. */
double child_seconds(const Child *child);
/* Stops it until the next question, so that it takes no time from others. False: it has started other processes. */
bool child_pause(Child *child);
/* Says close and waits for its end, which is part of what it did: STATUS_DEVICE "at its end: ..." if it crashed, ended with another
 * exit code than 0, took longer, or left processes running (they are killed). Nothing to do if it has ended already. */
Status child_end(Child *child, double timeout_seconds);
/* Asks it to close if it still runs, waits a little, kills its remaining processes. May be NULL. */
void child_stop(Child *child);
