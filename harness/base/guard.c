#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2, close_range, ppoll */
#endif
#include "base/guard.h"

#include "base/children.h"
#include "base/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE = 0, STEP_MS = 10, TERM_PATIENCE_MS = 3000, KILL_PATIENCE_MS = 5000 };
enum { WORD_WAIT = 'w', WORD_TERM = 't', WORD_KILL = 'k' };

static void become_program(const GuardProgram *program, const sigset_t *mask, int failed) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* should somebody kill the guard */
    sigprocmask(SIG_SETMASK, mask, NULL);
    const int input = program->own_input ? STDIN_FILENO : open("/dev/null", O_RDONLY),
              errors = program->quiet_errors ? open("/dev/null", O_WRONLY) : program->output;
    dup2(input, STDIN_FILENO);
    dup2(program->output, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    if (input > STDERR_FILENO) close(input);
    if (program->quiet_errors && errors > STDERR_FILENO) close(errors);
    if (program->variable) putenv((char *)(uintptr_t)program->variable);
    execvp(program->argv[0], (char *const *)(uintptr_t)program->argv);
    const int why = errno;
    const ssize_t ignored = write(failed, &why, sizeof why);
    (void)ignored;
    _exit(127);
}

static void on_child(int number) {
    (void)number; /* it interrupts ppoll */
}

/* The guard itself, the program, and what that started: only the first is left. */
static void kill_others(void) {
    for (int waited = 0; waited < KILL_PATIENCE_MS; waited += STEP_MS) {
        Pids others = {0};
        children_add(getpid(), &others);
        for (int i = 0; i < others.count; i++) children_add(others.pid[i], &others);
        for (int i = 0; i < others.count; i++) kill(others.pid[i], SIGKILL);
        while (waitpid(-1, NULL, WNOHANG) > 0) continue;
        if (waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD) return;
        poll(NULL, 0, STEP_MS);
    }
}

/* Reaps what has ended; *code: of the program. */
static bool has_ended(pid_t program, int *code) {
    int how;
    bool ended = false;
    for (pid_t pid; (pid = waitpid(-1, &how, WNOHANG)) > 0;) {
        if (pid != program) continue;
        *code = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
        ended = true;
    }
    return ended;
}

/* What the dead process had open is closed one by one: its locks on temporary folders may still hold. */
static void wait_for_parent(pid_t parent) {
    for (int waited = 0; getppid() == parent && waited < KILL_PATIENCE_MS; waited += STEP_MS) poll(NULL, 0, STEP_MS);
}

static void end_all(pid_t program, bool ended, char word, pid_t parent) {
    int code = 128 + (word == WORD_KILL ? SIGKILL : SIGTERM);
    if (word != WORD_KILL && !ended) {
        kill(program, SIGTERM);
        for (int waited = 0; waited < TERM_PATIENCE_MS && !has_ended(program, &code); waited += STEP_MS) poll(NULL, 0, STEP_MS);
    }
    kill_others();
    if (word == 0) {
        wait_for_parent(parent);
        temporary_sweep();
    }
    _exit(code);
}

static void guard(pid_t program, pid_t parent, const sigset_t *mask) {
    bool ended = false, waits = false;
    int code = 127;
    for (;;) {
        char word = 0;
        struct pollfd line = {.fd = LINE, .events = POLLIN};
        ended = has_ended(program, &code) || ended;
        if (ended && waits) _exit(code);
        if (ppoll(&line, 1, NULL, mask) <= 0) continue;
        const ssize_t got = read(LINE, &word, 1);
        if (got < 0 && errno == EINTR) continue;
        if (got == 1 && word == WORD_WAIT)
            waits = true;
        else
            end_all(program, ended, got == 1 ? word : 0, parent);
    }
}

/* In the new process. The program stays in the terminal's group, for Ctrl-C and Ctrl-Z; the guard leaves it. */
static void start(const GuardProgram *program, int line, int failed, pid_t parent) {
    sigset_t children, mask;
    const struct sigaction noted = {.sa_handler = on_child};
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, &mask);
    sigaction(SIGCHLD, &noted, NULL);
    const pid_t pid = fork();
    if (pid == 0) become_program(program, &mask, failed);
    if (pid < 0) {
        const int why = errno;
        const ssize_t ignored = write(failed, &why, sizeof why);
        (void)ignored;
        _exit(127);
    }
    setsid();
    static const int OTHERS[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM};
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++) signal(OTHERS[i], SIG_IGN);
    dup2(line, LINE);
    if (close_range(LINE + 1, ~0U, 0) != 0)
        for (int fd = LINE + 1; fd < 1024; fd++) close(fd); /* a kernel before 5.9 */
    sigdelset(&mask, SIGCHLD);
    guard(pid, parent, &mask);
}

/* Until the program runs, or does not: 0 or an errno. */
static int why_not(int failed) {
    int why = 0;
    ssize_t got;
    while ((got = read(failed, &why, sizeof why)) < 0 && errno == EINTR) continue;
    return got == sizeof why ? why : 0;
}

int guard_start(const GuardProgram *program, Guard *out) {
    int line[2], failed[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line) != 0) return errno;
    if (pipe2(failed, O_CLOEXEC) != 0) {
        const int why = errno;
        close(line[0]), close(line[1]);
        return why;
    }
    const pid_t parent = getpid(), pid = fork();
    if (pid == 0) start(program, line[1], failed[1], parent);
    int why = pid < 0 ? errno : 0;
    close(line[1]), close(failed[1]);
    if (pid > 0) why = why_not(failed[0]);
    close(failed[0]);
    *out = (Guard){.pid = pid, .line = line[0]};
    if (!why) return 0;
    if (pid > 0)
        (void)guard_end(out, GUARD_WAIT);
    else
        close(line[0]);
    return why;
}

int guard_end(Guard *self, GuardEnd how) {
    static const char WORDS[] = {[GUARD_WAIT] = WORD_WAIT, [GUARD_TERM] = WORD_TERM, [GUARD_KILL] = WORD_KILL};
    int status = 0;
    const ssize_t ignored = send(self->line, &WORDS[how], 1, MSG_NOSIGNAL);
    (void)ignored;
    pid_t got;
    while ((got = waitpid(self->pid, &status, 0)) < 0 && errno == EINTR) continue;
    close(self->line);
    self->line = -1;
    if (got < 0) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
