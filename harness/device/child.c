#define _GNU_SOURCE
#include "device/child.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/usercode.h"
#include "device/descendants.h"
#include "device/log.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { POLL_MS = 50, MAX_ARGV = 32, CLOSE_GRACE_MS = 3000, ORPHANS_GRACE_MS = 300 };
static const size_t REPLY_MAX = (size_t)64 << 20;
static const off_t LOG_MAX = (off_t)1 << 30; /* what a worker prints is on disk, until it ends */

struct Child {
    pid_t pid;
    int commands, replies, log;        /* log: an unlinked file that takes stdout and stderr */
    size_t memory_limit, shared_bytes; /* shared: what it inherits, which is not its own */
    bool paused;
    int orphans;  /* that it left, and that were killed */
    Text pending; /* bytes of replies after the last whole line */
};

/* Nothing that this process has open is the worker's business. */
static void close_at_exec(void) {
    enum { FIRST = 3, MOST = 65536 };
    if (close_range(FIRST, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
    for (int fd = FIRST; fd < MOST; fd++) fcntl(fd, F_SETFD, FD_CLOEXEC); /* a kernel before 5.11 */
}

/* References and outputs lie in this process. A worker must not read them through /proc or ptrace: as an ordinary user because this
 * process is not dumpable (so it leaves no core file either), as root because it loses the capability. LeakSanitizer needs ptrace.
 */
static void conceal_memory(bool in_worker) {
#ifndef __SANITIZE_ADDRESS__
    if (in_worker) prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE);
    prctl(PR_SET_DUMPABLE, in_worker); /* until its exec a worker must be, to write to its own /proc */
#else
    (void)in_worker;
#endif
}

/* Only async-signal-safe calls: the parent may have threads. */
static void become_worker(const ChildOptions *options, char *const *argv, char *const *environment, int commands, int replies,
                          int log) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a parent killed with -9 takes its workers along */
    signal(SIGPIPE, SIG_DFL);         /* what the parent ignores would stay ignored */
    conceal_memory(true);
    const int null = open("/dev/null", O_RDONLY);
    dup2(null, 0);
    dup2(log, 1);
    dup2(log, 2);
    /* If memory runs out anyway, the kernel should take the worker, not the program that keeps the results. */
    const int oom = open("/proc/self/oom_score_adj", O_WRONLY);
    if (oom >= 0) {
        const ssize_t ignored = write(oom, "1000", 4);
        (void)ignored;
        close(oom);
    }
    close_at_exec();
    fcntl(commands, F_SETFD, 0);
    fcntl(replies, F_SETFD, 0);
    for (int i = 0; i < options->inherit_count; i++) fcntl(options->inherit[i], F_SETFD, 0);
    execve(argv[0], argv, environment);
    dprintf(2, "%s: cannot be started: %s\n", argv[0], strerror(errno));
    _exit(127);
}

static size_t bytes_of(const int *files, int count) {
    size_t bytes = 0;
    for (int i = 0; i < count; i++) {
        struct stat facts;
        if (fstat(files[i], &facts) == 0) bytes += (size_t)facts.st_size;
    }
    return bytes;
}

/* This process's, with the mark of its workers; NULL: no memory. */
static char **worker_environment(void) {
    size_t count = 0, kept = 0;
    while (environ[count]) count++;
    char **environment = calloc(count + 2, sizeof *environment);
    for (size_t i = 0; i < count && environment; i++)
        if (strncmp(environ[i], DESCENDANTS_MARK, strlen(DESCENDANTS_MARK)) != 0) environment[kept++] = environ[i];
    if (environment) environment[kept] = (char *)(uintptr_t)descendants_mark();
    return environment;
}

Status child_start(const ChildOptions *options, Child **out) {
    char commands_text[16], replies_text[16];
    char *argv[MAX_ARGV];
    int argc = 0;
    conceal_memory(false);
    while (options->argv[argc] && argc < MAX_ARGV - 5) {
        argv[argc] = (char *)options->argv[argc];
        argc++;
    }
    int down[2], up[2];
    if (pipe2(down, O_CLOEXEC) != 0) return status_fail(STATUS_IO, "no pipe for a worker: %s", strerror(errno));
    if (pipe2(up, O_CLOEXEC) != 0) {
        close(down[0]), close(down[1]);
        return status_fail(STATUS_IO, "no pipe for a worker: %s", strerror(errno));
    }
    snprintf(commands_text, sizeof commands_text, "%d", down[0]);
    snprintf(replies_text, sizeof replies_text, "%d", up[1]);
    char *const extra[] = {"--commands", commands_text, "--replies", replies_text, NULL};
    memcpy(&argv[argc], extra, sizeof extra);

    Child *child = calloc(1, sizeof *child);
    char **environment = worker_environment();
    const int log = log_create(), log_error = errno;
    descendants_expect();
    const pid_t pid = child && environment && log >= 0 ? fork() : -1;
    const int why = errno;
    if (pid == 0) become_worker(options, argv, environment, down[0], up[1], log);
    free(environment);
    close(down[0]), close(up[1]);
    if (pid < 0) {
        close(down[1]), close(up[0]);
        if (log >= 0) close(log);
        free(child);
        const char *folder = getenv("TMPDIR");
        if (log < 0)
            return status_fail(STATUS_IO, "the log of a worker cannot be made in %s (TMPDIR): %s",
                               folder && *folder ? folder : "/tmp", strerror(log_error));
        return status_fail(STATUS_IO, "a worker cannot be started (%s): %s", argv[0], strerror(why));
    }
    setpgid(pid, pid);
    descendants_know(pid);
    *child = (Child){.pid = pid,
                     .commands = down[1],
                     .replies = up[0],
                     .log = log,
                     .memory_limit = options->memory_limit,
                     .shared_bytes = bytes_of(options->inherit, options->inherit_count)};
    signal(SIGPIPE, SIG_IGN); /* a dead worker is found out by its exit, not by our death */
    *out = child;
    return STATUS_OK;
}

/* Has it ended, or does it within this time? It stays a zombie, so that its number cannot become another's before kill_group. */
static bool ended(const Child *child, int patience_ms, int step_ms) {
    for (int waited = 0;; waited += step_ms) {
        siginfo_t info = {0};
        if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child->pid) return true;
        if (waited >= patience_ms) return false;
        poll(NULL, 0, step_ms);
    }
}

/* Kills its process group, itself, and orphans in other sessions. Returns its wait status. */
static int kill_group(Child *child) {
    int how = 0;
    if (child->pid <= 0) return how;
    kill(-child->pid, SIGKILL);
    kill(child->pid, SIGKILL); /* it may not have come to setpgid yet */
    while (waitpid(child->pid, &how, 0) < 0 && errno == EINTR) continue;
    child->orphans += descendants_end(0);
    usercode_forget(child->pid);
    child->pid = 0;
    return how;
}

static Status with_log(const Child *child, Status code, const char *what) {
    char tail[LOG_QUOTE_MAX], orphans[64] = "";
    log_quote(child->log, tail);
    if (child->orphans)
        snprintf(orphans, sizeof orphans, "; left %d process%s running", child->orphans, child->orphans == 1 ? "" : "es");
    return status_fail(code, "%s%s%s%s", what, orphans, tail[0] ? "; it printed: " : "", tail);
}

/* "crashed: signal 11 (...)", "ended with exit code 3". */
static void describe_end(int how, char *what, size_t size) {
    if (WIFSIGNALED(how))
        snprintf(what, size, "crashed: signal %d (%s)", WTERMSIG(how), strsignal(WTERMSIG(how)));
    else
        snprintf(what, size, "ended with exit code %d", WEXITSTATUS(how));
}

/* The pipe closed: find out how the worker ended. */
static Status died(Child *child) {
    char what[160];
    const bool by_itself = ended(child, CLOSE_GRACE_MS, POLL_MS);
    const int how = kill_group(child);
    describe_end(how, what, sizeof what);
    if (!by_itself) snprintf(what, sizeof what, "closed its pipe but kept running");
    return with_log(child, STATUS_DEVICE, what);
}

/* The arrays that it shares with this process are not its own; that their pages count half is allowed for in full. */
static bool over_memory_limit(const Child *child) {
    const size_t most = child->memory_limit + child->shared_bytes;
    return child->memory_limit && descendants_bytes(child->pid, most) > most;
}

/* The limits that hold while it works: time, memory, and what it may print or answer. */
static Status check_limits(Child *child, double deadline, double timeout) {
    char what[120];
    struct stat log;
    Status code = STATUS_DEVICE;
    if (clock_seconds() > deadline) {
        snprintf(what, sizeof what, "timed out after %.0f s", timeout);
    } else if (over_memory_limit(child)) {
        snprintf(what, sizeof what, "exceeded its limit of %.2f GiB of memory", (double)child->memory_limit / 0x1p30);
        code = STATUS_MEMORY;
    } else if (fstat(child->log, &log) == 0 && log.st_size > LOG_MAX) {
        snprintf(what, sizeof what, "printed more than %.0f GiB", (double)LOG_MAX / 0x1p30);
    } else if (child->pending.length > REPLY_MAX) {
        snprintf(what, sizeof what, "answered more than %zu MiB", REPLY_MAX >> 20);
    } else {
        return STATUS_OK;
    }
    kill_group(child);
    return with_log(child, code, what);
}

static Status read_line(Child *child, double deadline, double timeout, json_t **reply) {
    for (;;) {
        char *newline = child->pending.text ? memchr(child->pending.text, '\n', child->pending.length) : NULL;
        if (newline) {
            json_error_t error;
            *reply = json_loadb(child->pending.text, (size_t)(newline - child->pending.text), JSON_REJECT_DUPLICATES, &error);
            const size_t used = (size_t)(newline + 1 - child->pending.text);
            memmove(child->pending.text, newline + 1, child->pending.length - used);
            child->pending.length -= used;
            if (*reply && json_is_object(*reply)) return STATUS_OK;
            json_decref(*reply);
            *reply = NULL;
            kill_group(child);
            return with_log(child, STATUS_INTERNAL, "sent a reply that is not a JSON object");
        }
        if (interrupt_pending()) {
            kill_group(child);
            return interrupt_check();
        }
        TRY(check_limits(child, deadline, timeout));
        struct pollfd wait_for = {.fd = child->replies, .events = POLLIN};
        const bool over = ended(child, 0, 1); /* before the last look: what it has said is read even so */
        if (poll(&wait_for, 1, over ? 0 : POLL_MS) <= 0) {
            if (over) return died(child); /* a process that it started keeps the pipe open */
            continue;
        }
        char chunk[65536];
        const ssize_t got = read(child->replies, chunk, sizeof chunk);
        if (got == 0 || (got < 0 && errno != EINTR)) return died(child);
        if (got > 0) TRY(text_append(&child->pending, "%.*s", (int)got, chunk)); /* which stops at NUL; replies have none */
    }
}

static Status worker_says(const json_t *reply) {
    const char *skip = json_string_value(json_object_get(reply, "skip"));
    if (skip) return status_fail(STATUS_UNSUPPORTED, "%s", *skip ? skip : "refused without a reason");
    const char *error = json_string_value(json_object_get(reply, "error"));
    if (!error)
        return json_is_true(json_object_get(reply, "ok")) ? STATUS_OK
                                                          : status_fail(STATUS_INTERNAL, "replied neither ok, skip nor error");
    const char *kind = json_string_value(json_object_get(reply, "kind"));
    static const Status KINDS[] = {STATUS_INVALID, STATUS_IO, STATUS_MEMORY, STATUS_DEVICE, STATUS_CHECK, STATUS_INTERNAL};
    Status code = STATUS_INTERNAL;
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (kind && strcmp(kind, status_word(KINDS[i])) == 0) code = KINDS[i];
    return status_fail(code, "%s", *error ? error : "failed without a message");
}

Status child_ask(Child *child, const json_t *command, double timeout_seconds, json_t **reply) {
    *reply = NULL;
    if (child->pid <= 0) return status_fail(STATUS_INTERNAL, "the worker has ended");
    TRY(memory_check()); /* a command that lacks a part asks for something else */
    if (child->paused) kill(-child->pid, SIGCONT);
    child->paused = false;
    char *text = json_dumps(command, JSON_COMPACT);
    if (!text) return status_fail(STATUS_MEMORY, "no memory for a command");
    const int sent = dprintf(child->commands, "%s\n", text);
    free(text);
    if (sent < 0) return died(child);
    TRY(read_line(child, clock_seconds() + timeout_seconds, timeout_seconds, reply));
    const Status status = worker_says(*reply);
    if (status != STATUS_OK) {
        json_decref(*reply);
        *reply = NULL;
    }
    return status;
}

void child_allow(Child *child, size_t more_bytes) {
    if (child->memory_limit) child->memory_limit += more_bytes;
}

bool child_pause(Child *child) {
    if (descendants_exist(child->pid)) return false;
    kill(-child->pid, SIGSTOP);
    child->paused = true;
    return true;
}

/* After its last reply: its exit handlers, and what it leaves behind. */
static Status wait_for_end(Child *child, double deadline, double timeout) {
    char what[160];
    bool by_itself = false;
    while (!by_itself && clock_seconds() < deadline && !interrupt_pending()) by_itself = ended(child, POLL_MS, 1);
    if (by_itself) child->orphans += descendants_end(ORPHANS_GRACE_MS);
    const int how = kill_group(child);
    TRY(interrupt_check());
    describe_end(how, what, sizeof what);
    if (!by_itself)
        snprintf(what, sizeof what, "timed out after %.0f s", timeout);
    else if (how == 0 && child->orphans)
        snprintf(what, sizeof what, "exited");
    else if (how == 0)
        return STATUS_OK;
    return with_log(child, STATUS_DEVICE, what);
}

Status child_end(Child *child, double timeout_seconds) {
    if (!child || child->pid <= 0) return STATUS_OK;
    const double deadline = clock_seconds() + timeout_seconds;
    json_t *command = json_pack("{s:s}", "do", "close"), *reply = NULL;
    Status status = child_ask(child, command, timeout_seconds, &reply);
    json_decref(command);
    json_decref(reply);
    if (status == STATUS_OK) status = wait_for_end(child, deadline, timeout_seconds);
    return status == STATUS_OK ? status : status_prefix(status, "at its end: ");
}

void child_stop(Child *child) {
    if (!child) return;
    if (child->pid > 0) {
        if (child->paused) kill(-child->pid, SIGCONT);
        dprintf(child->commands, "{\"do\":\"close\"}\n");
        close(child->commands);
        child->commands = -1;
        (void)ended(child, CLOSE_GRACE_MS, 10);
        kill_group(child);
    }
    if (child->commands >= 0) close(child->commands);
    close(child->replies);
    close(child->log);
    text_free(&child->pending);
    free(child);
}
