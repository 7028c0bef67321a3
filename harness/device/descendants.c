/* The kernel lists a process's children in /proc/PID/task/TID/children. A subreaper inherits the orphans among its descendants, so
 * that a double fork or setsid() hides nothing. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "device/descendants.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIDS_MAX = 1024, STEP_MS = 10, KILL_PATIENCE_MS = 3000, ROUNDS_MAX = 1000 };

typedef struct Pids {
    int count;
    pid_t pid[PIDS_MAX];
} Pids;

static Pids known;
static bool strangers; /* this process had children before its first worker */

static bool contains(const Pids *pids, pid_t pid) {
    for (int i = 0; i < pids->count; i++)
        if (pids->pid[i] == pid) return true;
    return false;
}

static void add(Pids *pids, pid_t pid) {
    if (pids->count < PIDS_MAX && !contains(pids, pid)) pids->pid[pids->count++] = pid;
}

static void add_children(pid_t of, Pids *out) {
    char folder[64], path[400];
    snprintf(folder, sizeof folder, "/proc/%d/task", (int)of);
    DIR *threads = opendir(folder);
    for (struct dirent *entry; threads && (entry = readdir(threads));) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s/children", folder, entry->d_name);
        FILE *list = fopen(path, "re");
        int pid;
        while (list && fscanf(list, "%d", &pid) == 1) add(out, pid);
        if (list) fclose(list);
    }
    if (threads) closedir(threads);
}

const char *descendants_mark(void) {
    static char mark[40];
    snprintf(mark, sizeof mark, DESCENDANTS_MARK "%d", (int)getpid());
    return mark;
}

static bool is_marked(pid_t pid) {
    char path[64], *entry = NULL;
    size_t room = 0;
    bool marked = false;
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    FILE *environment = fopen(path, "re");
    while (environment && !marked && getdelim(&entry, &room, '\0', environment) > 0)
        marked = strcmp(entry, descendants_mark()) == 0;
    free(entry);
    if (environment) fclose(environment);
    return marked;
}

/* Children that no worker is and that were not there before; those that have ended are reaped. */
static void find_orphans(Pids *out) {
    Pids children = {0};
    add_children(getpid(), &children);
    for (int i = 0; i < children.count; i++)
        if (!contains(&known, children.pid[i]) && waitpid(children.pid[i], NULL, WNOHANG) == 0 &&
            (!strangers || is_marked(children.pid[i])))
            add(out, children.pid[i]);
}

void descendants_expect(void) {
    static bool asked;
    known.count = 0;
    add_children(getpid(), &known);
    if (asked) return;
    strangers = known.count > 0;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    asked = true;
}

void descendants_know(pid_t pid) {
    add(&known, pid);
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

/* The process, its descendants, and the orphans. */
static void find_tree(pid_t pid, Pids *tree) {
    add(tree, pid);
    find_orphans(tree);
    for (int i = 0; i < tree->count; i++) add_children(tree->pid[i], tree);
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

bool descendants_exist(pid_t pid) {
    Pids tree = {0};
    find_tree(pid, &tree);
    return tree.count > 1;
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
