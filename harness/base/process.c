#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2 */
#endif
#include "base/process.h"

#include "base/clock.h"
#include "base/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const double SECONDS_BETWEEN_LOOKS = 0.5; /* whether a signal came just before the wait began */

static int spawn(const char *const argv[], int write_end, bool quiet_errors, pid_t *pid) {
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error) return error;
    error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, write_end, STDOUT_FILENO);
    if (!error)
        error = quiet_errors ? posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
                             : posix_spawn_file_actions_adddup2(&actions, write_end, STDERR_FILENO);
    /* posix_spawn promises not to write to the strings, though its type does not say so */
    if (!error) error = posix_spawnp(pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Until end of file, or until a limit says that the program has to go. */
static Status collect(const char *name, int read_end, const ProcessLimits *limits, Text *output) {
    const double until = limits->seconds > 0 ? clock_seconds() + limits->seconds : INFINITY;
    const size_t before = output->length;
    for (;;) {
        const double left = until - clock_seconds();
        TRY(interrupt_check());
        if (!(left > 0)) return status_fail(STATUS_IO, "%s did not complete its answer within %g s", name, limits->seconds);
        if (limits->bytes && output->length - before > limits->bytes)
            return status_fail(STATUS_IO, "%s wrote more than %zu bytes", name, limits->bytes);
        struct pollfd wait_for = {.fd = read_end, .events = POLLIN};
        const int ready = poll(&wait_for, 1, (int)(fmin(left, SECONDS_BETWEEN_LOOKS) * 1000) + 1);
        if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
        char piece[4096];
        const ssize_t got = read(read_end, piece, sizeof piece);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return status_fail(STATUS_IO, "%s: its answer cannot be read: %s", name, strerror(errno));
        if (got == 0) return STATUS_OK;
        TRY(text_append(output, "%.*s", (int)got, piece));
    }
}

Status process_capture(const char *const argv[], const ProcessLimits *limits, Text *output, int *exit_code) {
    static const ProcessLimits NONE = {0};
    if (!limits) limits = &NONE;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return status_fail(STATUS_IO, "%s: no pipe: %s", argv[0], strerror(errno));
    pid_t pid;
    const int error = spawn(argv, ends[1], limits->quiet_errors, &pid);
    close(ends[1]);
    if (error) {
        close(ends[0]);
        return status_fail(error == ENOENT ? STATUS_UNSUPPORTED : STATUS_IO, "%s: cannot be started: %s", argv[0], strerror(error));
    }
    const Status status = collect(argv[0], ends[0], limits, output);
    close(ends[0]);
    if (status != STATUS_OK) kill(pid, SIGKILL);
    int how = 0;
    while (waitpid(pid, &how, 0) < 0)
        if (errno != EINTR) return status_fail(STATUS_IO, "%s: cannot be waited for: %s", argv[0], strerror(errno));
    *exit_code = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
    return status;
}
