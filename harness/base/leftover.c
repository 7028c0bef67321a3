#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2, close_range */
#endif
#include "base/leftover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

bool leftover_remove(const char *folder) {
    char path[800];
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    if (directory) closedir(directory);
    return rmdir(folder) == 0 || errno == ENOENT;
}

/* Nobody writes to the pipe: it ends with the last process that could. */
static void wait_and_remove(int end_of_pipe, const char *folder) {
    enum { PIPE = 0, TRIES = 600, STEP_MS = 100 };
    char nothing;
    setsid(); /* Ctrl-C is for the others */
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    dup2(end_of_pipe, PIPE);
    if (close_range(PIPE + 1, ~0U, 0) != 0)
        for (int fd = PIPE + 1; fd < 1024; fd++) close(fd); /* a kernel before 5.9 */
    while (read(PIPE, &nothing, 1) < 0 && errno == EINTR) continue;
    /* A program that was to fill the folder may not know yet that nobody waits for it. */
    for (int i = 0; i < TRIES && !leftover_remove(folder); i++) poll(NULL, 0, STEP_MS);
    _exit(0);
}

Status leftover_watch(const char *folder) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return status_fail(STATUS_IO, "no pipe: %s", strerror(errno));
    const pid_t pid = fork();
    if (pid == 0) {
        if (fork() == 0) wait_and_remove(ends[0], folder);
        _exit(0);
    }
    const int why = errno;
    close(ends[0]); /* the other end stays open as long as this process lives */
    if (pid > 0) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
        return STATUS_OK;
    }
    close(ends[1]);
    return status_fail(STATUS_IO, "no process can be started: %s", strerror(why));
}
