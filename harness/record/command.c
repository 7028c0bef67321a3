/* command.c - ask a program something and take its answer, within a time. */
#include "record/facts.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { ANSWER_MAX = 1 << 20 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int start(const char *const argv[], int output, pid_t *pid) {
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error) return error;
    error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (!error) error = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (!error) error = posix_spawnp(pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Until end of file; false when the time is up, the answer is far too long, or memory is. */
static bool collect(int input, double until, Text *answer) {
    for (;;) {
        const double left = until - now();
        if (!(left > 0) || answer->length > ANSWER_MAX) return false;
        struct pollfd wait_for = {.fd = input, .events = POLLIN};
        const int ready = poll(&wait_for, 1, (int)(left * 1000) + 1);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return false;
        char block[4096];
        const ssize_t got = read(input, block, sizeof block);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return false;
        if (got == 0) return true;
        if (text_append(answer, "%.*s", (int)got, block) != STATUS_OK) return false;
    }
}

static char *finish(const char *name, pid_t pid, bool complete, double seconds, Text *answer, char *why, size_t why_size) {
    int state = 0;
    if (!complete) kill(pid, SIGKILL);
    while (waitpid(pid, &state, 0) < 0 && errno == EINTR) {}
    while (answer->length > 0 && answer->text[answer->length - 1] == '\n') answer->text[--answer->length] = '\0';
    if (!complete)
        snprintf(why, why_size, "%s gave no complete answer within %g s", name, seconds);
    else if (!WIFEXITED(state) || WEXITSTATUS(state) != 0)
        snprintf(why, why_size, "%s failed: %.160s", name, answer->length ? answer->text : "it said nothing");
    else if (answer->length || text_append(answer, "%s", "") == STATUS_OK)
        return answer->text;
    text_free(answer);
    return NULL;
}

char *facts_command(const char *const argv[], double seconds, char *why, size_t why_size) {
    int ends[2];
    if (pipe(ends) != 0) {
        snprintf(why, why_size, "no pipe for %s: %s", argv[0], strerror(errno));
        return NULL;
    }
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    pid_t pid;
    const int error = start(argv, ends[1], &pid);
    close(ends[1]);
    char *result = NULL;
    if (error) {
        snprintf(why, why_size, "%s cannot be run: %s", argv[0], strerror(error));
    } else {
        Text answer = {0};
        const bool complete = collect(ends[0], now() + seconds, &answer);
        result = finish(argv[0], pid, complete, seconds, &answer, why, why_size);
    }
    close(ends[0]);
    return result;
}
