/* A subreaper inherits the orphans among its descendants, so that a double fork or setsid() hides nothing. */
#include "device/descendants.h"

#include "base/process.h"
#include "base/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STEP_MS = 10, KILL_PATIENCE_MS = 3000, ROUNDS_MAX = 1000, MARK_TEXT = 40 };

static Pids known;
static bool strangers; /* this process had children before its first worker */

const char *descendants_mark(void) {
    static char mark[MARK_TEXT];
    snprintf(mark, sizeof mark, DESCENDANTS_MARK "%d", (int)getpid());
    return mark;
}

static bool carries(pid_t pid, const char *wanted) {
    char path[64], *entry = NULL;
    size_t room = 0;
    bool marked = false;
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    FILE *environment = fopen(path, "re");
    while (environment && !marked && getdelim(&entry, &room, '\0', environment) > 0) marked = strcmp(entry, wanted) == 0;
    free(entry);
    if (environment) fclose(environment);
    return marked;
}

/* Kills the processes that carry a mark, until none is left. */
static void kill_marked(const char *wanted) {
    for (int round = 0, found = 1; found > 0 && round < ROUNDS_MAX; round++) {
        found = 0;
        DIR *processes = opendir("/proc");
        for (struct dirent *entry; processes && (entry = readdir(processes));) {
            const int pid = atoi(entry->d_name);
            if (pid > 0 && carries(pid, wanted) && kill(pid, SIGKILL) == 0) found++;
        }
        if (processes) closedir(processes);
        if (found > 0) poll(NULL, 0, STEP_MS);
    }
}

/* Runs in a process of its own, which is no child of the one that it waits for: that one's end closes the pipe. */
static void wait_and_kill(pid_t parent, int end_of_pipe, const char *wanted) {
    char nothing;
    process_stand_aside(end_of_pipe);
    while (read(STDIN_FILENO, &nothing, 1) < 0 && errno == EINTR) continue;
    kill_marked(wanted);
    temporary_sweep_after(parent);
    _exit(0);
}

/* The kernel ends a worker with this process (spawn.c), but not the processes that the worker started. Best effort: without a pipe
 * or a process they stay. */
static void watch(void) {
    char wanted[MARK_TEXT];
    int ends[2];
    snprintf(wanted, sizeof wanted, "%s", descendants_mark());
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    const pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        if (fork() == 0) wait_and_kill(parent, ends[0], wanted);
        _exit(0);
    }
    close(ends[0]); /* the other end stays open as long as this process lives */
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
}

/* Children that are not workers and were started since; those that have ended are reaped. */
static void find_orphans(Pids *out) {
    Pids children = {0};
    process_children(getpid(), &children);
    for (int i = 0; i < children.count; i++)
        if (!pids_contain(&known, children.pid[i]) && waitpid(children.pid[i], NULL, WNOHANG) == 0 &&
            (!strangers || carries(children.pid[i], descendants_mark())))
            pids_add(out, children.pid[i]);
}

void descendants_expect(void) {
    static bool asked;
    known.count = 0;
    process_children(getpid(), &known);
    if (asked) return;
    strangers = known.count > 0;
    watch();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    asked = true;
}

void descendants_know(pid_t pid) {
    pids_add(&known, pid);
}

/* The sum of two keys of a /proc file in bytes; 0 if the process is gone. */
static size_t sum_of(pid_t pid, const char *file, const char *one, const char *other) {
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    FILE *text = fopen(path, "re");
    size_t total = 0, kib;
    while (text && fgets(line, sizeof line, text)) {
        const char *colon = strchr(line, ':');
        const size_t length = colon ? (size_t)(colon - line) : 0;
        const bool wanted = (length == strlen(one) && memcmp(line, one, length) == 0) ||
                            (length == strlen(other) && memcmp(line, other, length) == 0);
        if (wanted && sscanf(colon + 1, "%zu", &kib) == 1) total += kib << 10;
    }
    if (text) fclose(text);
    return total;
}

/* The process, its descendants level by level, the orphans and theirs. */
static void find_tree(pid_t pid, Pids *tree) {
    int walked = 0;
    pids_add(tree, pid);
    for (; walked < tree->count; walked++) process_children(tree->pid[walked], tree);
    find_orphans(tree);
    for (; walked < tree->count; walked++) process_children(tree->pid[walked], tree);
}

size_t descendants_bytes(pid_t pid, size_t limit) {
    Pids tree = {0};
    size_t resident = 0, proportional = 0;
    find_tree(pid, &tree);
    for (int i = 0; i < tree.count; i++) resident += sum_of(tree.pid[i], "status", "RssAnon", "RssShmem");
    if (resident <= limit) return resident;
    /* Shared pages were counted once for each process. The exact figure walks page tables: only now. */
    for (int i = 0; i < tree.count; i++) proportional += sum_of(tree.pid[i], "smaps_rollup", "Pss_Anon", "Pss_Shmem");
    return proportional;
}

static double cpu_seconds(pid_t pid) {
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

double descendants_seconds(pid_t pid) {
    Pids tree = {0};
    double seconds = 0;
    find_tree(pid, &tree);
    for (int i = 0; i < tree.count; i++) seconds += cpu_seconds(tree.pid[i]);
    return seconds;
}

/* Its own processes are the first child of the first child, and so on. */
Helpers descendants_helpers(pid_t pid, int own) {
    Pids tree = {0};
    Helpers out = {0};
    find_tree(pid, &tree);
    for (int i = own; i < tree.count; i++) {
        out.count++;
        out.numbers += tree.pid[i];
        out.seconds += cpu_seconds(tree.pid[i]);
    }
    return out;
}

/* Kills these and waits, not for ever: a process can be stuck in a driver. */
static void kill_all(const Pids *pids) {
    for (int i = 0; i < pids->count; i++) kill(pids->pid[i], SIGKILL);
    for (int i = 0, waited = 0; i < pids->count && waited < KILL_PATIENCE_MS;) {
        if (waitpid(pids->pid[i], NULL, WNOHANG) != 0)
            i++;
        else
            poll(NULL, 0, 1), waited++;
    }
}

int descendants_end(int patience_ms) {
    int killed = 0;
    for (int waited = 0, round = 0; round < ROUNDS_MAX; waited += STEP_MS) {
        Pids orphans = {0};
        find_orphans(&orphans);
        if (orphans.count == 0) break;
        if (waited < patience_ms) {
            poll(NULL, 0, STEP_MS);
            continue;
        }
        kill_all(&orphans); /* whose own children are the orphans of the next round */
        killed += orphans.count;
        round++;
    }
    return killed;
}
