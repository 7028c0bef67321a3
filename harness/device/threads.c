#include "device/threads.h"

#include <errno.h>
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAID_MAX = 400 };

static _Noreturn void try_a_team(const int ends[2]) {
    int threads = 0;
    if (dup2(ends[1], STDERR_FILENO) < 0) _exit(EXIT_FAILURE);
#pragma omp parallel reduction(+ : threads)
    threads++;
    _exit(threads > 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

static Status refuse(const char *said) {
    said += strspn(said, "\n"); /* libgomp begins with an empty line */
    const int length = (int)strcspn(said, "\n");
    return status_fail(
        STATUS_UNSUPPORTED,
        "no team of %d threads can be started (%.*s); raise the limits of processes and of memory (ulimit -u, -v), or set "
        "OMP_NUM_THREADS and OMP_STACKSIZE lower",
        omp_get_max_threads(), length, said);
}

/* Has the child started its team? said: its message. */
static bool has_team(pid_t child, int from, char said[SAID_MAX]) {
    size_t used = 0;
    for (ssize_t got = 1; got != 0 && used < SAID_MAX - 1;) {
        got = read(from, said + used, SAID_MAX - 1 - used);
        if (got > 0) used += (size_t)got;
        if (got < 0 && errno != EINTR) break;
    }
    said[used] = '\0';
    int ended = 0;
    while (waitpid(child, &ended, 0) < 0 && errno == EINTR) continue;
    if (used == 0) snprintf(said, SAID_MAX, "the attempt ended without a word");
    return WIFEXITED(ended) && WEXITSTATUS(ended) == EXIT_SUCCESS;
}

/* Then a team in a child would wait for ever for threads that fork() did not copy. */
static bool has_threads(void) {
    struct stat tasks;
    return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink > 3; /* 2, and one for each */
}

Status threads_check(void) {
    static bool done;
    int ends[2];
    char said[SAID_MAX];
    if (done || has_threads()) return STATUS_OK;
    if (pipe(ends) != 0) return status_fail(STATUS_IO, "no pipe: %s", strerror(errno));
    const pid_t child = fork();
    if (child == 0) try_a_team(ends);
    const int error = errno;
    close(ends[1]);
    const bool good = child > 0 && has_team(child, ends[0], said);
    close(ends[0]);
    if (child < 0) return refuse(strerror(error));
    done = good;
    return good ? STATUS_OK : refuse(said);
}
