#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int spawn(char *const argv[], int write_end, pid_t *pid) {
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error) return error;
    if (!error) error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, write_end, STDOUT_FILENO);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, write_end, STDERR_FILENO);
    if (!error) error = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Reads to the end even if memory runs out, so that the child never blocks on a full pipe. */
static Status drain(int read_end, Text *output) {
    Status status = STATUS_OK;
    char piece[4096];
    for (;;) {
        const ssize_t got = read(read_end, piece, sizeof piece);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return status;
        if (status == STATUS_OK) status = text_append(output, "%.*s", (int)got, piece);
    }
}

Status process_capture(char *const argv[], Text *output, int *exit_code) {
    int ends[2];
    if (pipe(ends) != 0) return status_fail(STATUS_IO, "%s: no pipe: %s", argv[0], strerror(errno));
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    pid_t pid;
    const int error = spawn(argv, ends[1], &pid);
    close(ends[1]);
    if (error) {
        close(ends[0]);
        return status_fail(error == ENOENT ? STATUS_UNSUPPORTED : STATUS_IO, "%s: cannot be started: %s", argv[0], strerror(error));
    }
    const Status status = drain(ends[0], output);
    close(ends[0]);
    int how = 0;
    while (waitpid(pid, &how, 0) < 0)
        if (errno != EINTR) return status_fail(STATUS_IO, "%s: cannot be waited for: %s", argv[0], strerror(errno));
    *exit_code = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
    return status;
}
