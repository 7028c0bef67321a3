#include "device/child.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/text.h"
#include "device/sandbox.h"
#include "device/shared.h"
#include "device/spawn.h"
#include "protocol.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { POLL_MS = 50, CLOSE_GRACE_MS = 3000, ORPHANS_GRACE_MS = 300, SIGNALLED = 128 /* added by bwrap */ };
enum { QUOTE_MAX = 1501, QUOTE_TAIL = QUOTE_MAX - 1, QUOTE_SEARCHED = 1 << 18 };
static const size_t REPLY_MAX = (size_t)64 << 20;
static const off_t LOG_MAX = (off_t)1 << 30; /* what a worker prints is on disk, until it ends */

struct Child {
    Spawned process;                                 /* pid 0: it has ended */
    size_t memory_given, memory_limit, shared_bytes; /* shared: of the files that it was handed last, which are not its own */
    off_t log_begin;                                 /* where the log of the present case begins */
    bool paused;
    int orphans;            /* that it left, and that were killed */
    double asked, answered; /* when the last command was sent, and when its whole reply was here */
    Text pending;           /* bytes of replies after the last whole line */
};

static size_t bytes_of(const int *files, int count) {
    size_t bytes = 0;
    for (int i = 0; i < count; i++) {
        struct stat facts;
        if (fstat(files[i], &facts) == 0) bytes += (size_t)facts.st_size;
    }
    return bytes;
}

Status child_start(const ChildOptions *options, Child **out) {
    static const char *const OWN[] = {"/proc/self/exe", "worker", NULL};
    Child *child = calloc(1, sizeof *child);
    if (!child) return status_fail(STATUS_MEMORY, "no memory for a worker");
    const Status status = spawn(options->argv ? options->argv : OWN, options->on_cpu, &child->process);
    if (status != STATUS_OK) {
        free(child);
        return status;
    }
    child->memory_given = child->memory_limit = options->memory_limit;
    *out = child;
    return STATUS_OK;
}

void child_hand(Child *child, const int *files, int count) {
    child->memory_limit = child->memory_given;
    child->shared_bytes = bytes_of(files, count);
    child->log_begin = lseek(child->process.log, 0, SEEK_END);
    /* What a dead worker, or one that does not read, misses shows in its reply to the command that follows. */
    if (count > 0 && child->process.pid > 0) (void)shared_send(child->process.arrays, files, count);
}

/* Has it ended, or does it within this time? It stays a zombie, so that its number cannot become another's before kill_group. */
static bool ended(const Child *child, int patience_ms, int step_ms) {
    for (int waited = 0;; waited += step_ms) {
        siginfo_t info = {0};
        if (waitid(P_PID, (id_t)child->process.pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child->process.pid)
            return true;
        if (waited >= patience_ms) return false;
        poll(NULL, 0, step_ms);
    }
}

/* Ends the processes that the worker left. Those of a sandbox end with it: one that is still there for a moment does not count. */
static void end_orphans(Child *child, int patience_ms) {
    const int killed = descendants_end(patience_ms);
    if (!sandbox_used()) child->orphans += killed;
}

/* Kills its process group, itself, and orphans in other sessions. Returns its wait status. */
static int kill_group(Child *child) {
    int how = 0;
    if (child->process.pid <= 0) return how;
    kill(-child->process.pid, SIGKILL);
    kill(child->process.pid, SIGKILL); /* it may not have come to setpgid yet */
    while (waitpid(child->process.pid, &how, 0) < 0 && errno == EINTR) continue;
    end_orphans(child, 0);
    temporary_folder_remove(&child->process.own);
    child->process.pid = 0;
    if (sandbox_used() && WIFEXITED(how) && WEXITSTATUS(how) > SIGNALLED) how = WEXITSTATUS(how) - SIGNALLED;
    return how;
}

/* What a row should quote of the log from byte `begin` on: its end, or, where a checker reported, the report from its headline on;
 * of ours without that of AddressSanitizer, which stopped the program for it. */
static void log_quote(int log, off_t begin, char quote[QUOTE_MAX]) {
    static const char *const HEADLINES[] = {"rungs-worker: ",          "rungs-emulator: ",        "rungs-emulator-race: ",
                                            "rungs-emulator-memory: ", "ERROR: AddressSanitizer", "runtime error: "};
    quote[0] = '\0';
    char *text = calloc(1, QUOTE_SEARCHED + 1);
    const off_t size = lseek(log, 0, SEEK_END);
    const off_t from = size - begin > QUOTE_SEARCHED ? size - QUOTE_SEARCHED : begin;
    const ssize_t got = text && size > from ? pread(log, text, QUOTE_SEARCHED, from) : 0;
    const char *said = got > QUOTE_TAIL ? text + got - QUOTE_TAIL : text;
    for (size_t i = 0; got > 0 && i < sizeof HEADLINES / sizeof *HEADLINES; i++) {
        const char *headline = memmem(text, (size_t)got, HEADLINES[i], strlen(HEADLINES[i]));
        if (!headline) continue;
        said = headline;
        break;
    }
    char *sanitizer = strncmp(said ? said : "", "rungs-", 6) == 0 ? strstr(said, "\n==") : NULL;
    if (sanitizer) *sanitizer = '\0';
    if (got > 0) snprintf(quote, QUOTE_MAX, "%s", said);
    free(text);
    for (char *c = quote; *c; c++)
        if ((unsigned char)*c < ' ' && *c != '\n') *c = ' ';
}

static Status with_log(const Child *child, Status code, const char *what) {
    char tail[QUOTE_MAX], orphans[64] = "";
    log_quote(child->process.log, child->log_begin, tail);
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
    return child->memory_limit && descendants_bytes(child->process.pid, most) > most;
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
    } else if (fstat(child->process.log, &log) == 0 && log.st_size > LOG_MAX) {
        snprintf(what, sizeof what, "printed more than %.0f GiB", (double)LOG_MAX / 0x1p30);
    } else if (child->pending.length > REPLY_MAX) {
        snprintf(what, sizeof what, "answered more than %zu MiB", REPLY_MAX >> 20);
    } else {
        return STATUS_OK;
    }
    kill_group(child);
    return with_log(child, code, what);
}

/* A whole line is taken off; NULL: there is none yet. */
static Status take_line(Child *child, json_t **reply) {
    char *newline = child->pending.text ? memchr(child->pending.text, '\n', child->pending.length) : NULL;
    json_error_t error;
    *reply = NULL;
    if (!newline) return STATUS_OK;
    child->answered = clock_seconds();
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

/* Looks at the limits whenever it has waited, and once a reply is here: a look takes longer than a short call, which is timed by
 * this process, too. */
static Status read_line(Child *child, bool awake, double deadline, double timeout, json_t **reply) {
    struct pollfd wait_for = {.fd = child->process.replies, .events = POLLIN};
    if (awake) process_stay_awake(child->process.replies);
    for (;;) {
        TRY(take_line(child, reply));
        if (*reply) return check_limits(child, INFINITY, timeout);
        if (interrupt_pending()) {
            kill_group(child);
            return interrupt_check();
        }
        if (poll(&wait_for, 1, POLL_MS) <= 0) {
            const bool over = ended(child, 0, 1); /* before the last look: what it has said is read even so */
            TRY(check_limits(child, deadline, timeout));
            if (!over) continue;
            if (poll(&wait_for, 1, 0) <= 0) return died(child); /* a process that it started keeps the pipe open */
        }
        char chunk[65536];
        const ssize_t got = read(child->process.replies, chunk, sizeof chunk);
        if (got == 0 || (got < 0 && errno != EINTR)) return died(child);
        if (got > 0) TRY(text_append(&child->pending, "%.*s", (int)got, chunk)); /* which stops at NUL; replies have none */
    }
}

static Status worker_says(const json_t *reply) {
    const char *skip = json_string_value(json_object_get(reply, KEY_SKIP));
    if (skip) return status_fail(STATUS_UNSUPPORTED, "%s", *skip ? skip : "refused without a reason");
    const char *error = json_string_value(json_object_get(reply, KEY_ERROR));
    if (!error)
        return json_is_true(json_object_get(reply, KEY_OK)) ? STATUS_OK
                                                            : status_fail(STATUS_INTERNAL, "replied neither ok, skip nor error");
    const char *kind = json_string_value(json_object_get(reply, KEY_KIND));
    static const Status KINDS[] = {STATUS_INVALID, STATUS_IO, STATUS_MEMORY, STATUS_DEVICE, STATUS_CHECK, STATUS_INTERNAL};
    Status code = STATUS_INTERNAL;
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (kind && strcmp(kind, status_word(KINDS[i])) == 0) code = KINDS[i];
    return status_fail(code, "%s", *error ? error : "failed without a message");
}

static Status ask(Child *child, const json_t *command, bool awake, double timeout_seconds, json_t **reply) {
    *reply = NULL;
    if (child->process.pid <= 0) return status_fail(STATUS_INTERNAL, "the worker has ended");
    TRY(memory_check()); /* a command that lacks a part asks for something else */
    if (child->paused) kill(-child->process.pid, SIGCONT);
    child->paused = false;
    char *text = json_dumps(command, JSON_COMPACT);
    if (!text) return status_fail(STATUS_MEMORY, "no memory for a command");
    child->asked = clock_seconds();
    const int sent = dprintf(child->process.commands, "%s\n", text);
    memory_free(text);
    if (sent < 0) return died(child);
    TRY(read_line(child, awake, child->asked + timeout_seconds, timeout_seconds, reply));
    const Status status = worker_says(*reply);
    if (status != STATUS_OK) {
        json_decref(*reply);
        *reply = NULL;
    }
    return status;
}

Status child_ask(Child *child, json_t *command, double timeout_seconds, json_t **reply) {
    const Status status = ask(child, command, false, timeout_seconds, reply);
    json_decref(command);
    return status;
}

Status child_time(Child *child, json_t *command, bool awake, double timeout_seconds, double *seconds, json_t **reply) {
    const Status status = ask(child, command, awake, timeout_seconds, reply);
    json_decref(command);
    *seconds = child->answered - child->asked;
    return status;
}

void child_allow(Child *child, size_t more_bytes) {
    if (child->memory_limit) child->memory_limit += more_bytes;
}

Helpers child_helpers(const Child *child) {
    return descendants_helpers(child->process.pid, sandbox_used() ? SANDBOX_PROCESSES : 1);
}

bool child_alone(const Child *child) {
    return child_helpers(child).count == 0;
}

double child_seconds(const Child *child) {
    return descendants_seconds(child->process.pid);
}

bool child_pause(Child *child) {
    if (!child_alone(child)) return false;
    kill(-child->process.pid, SIGSTOP);
    child->paused = true;
    return true;
}

/* After its last reply: its exit handlers, and what it leaves behind. */
static Status wait_for_end(Child *child, double deadline, double timeout) {
    char what[160];
    bool by_itself = false;
    while (!by_itself && clock_seconds() < deadline && !interrupt_pending()) by_itself = ended(child, POLL_MS, 1);
    if (by_itself) end_orphans(child, ORPHANS_GRACE_MS);
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
    if (!child || child->process.pid <= 0) return STATUS_OK;
    const double deadline = clock_seconds() + timeout_seconds;
    json_t *reply;
    Status status = child_ask(child, json_pack("{s:s}", KEY_DO, DO_CLOSE), timeout_seconds, &reply);
    json_decref(reply);
    if (status == STATUS_OK) status = wait_for_end(child, deadline, timeout_seconds);
    return status == STATUS_OK ? status : status_prefix(status, "at its end: ");
}

void child_stop(Child *child) {
    if (!child) return;
    if (child->process.pid > 0) {
        if (child->paused) kill(-child->process.pid, SIGCONT);
        dprintf(child->process.commands, "{\"%s\":\"%s\"}\n", KEY_DO, DO_CLOSE);
        close(child->process.commands);
        child->process.commands = -1;
        (void)ended(child, CLOSE_GRACE_MS, 10);
        kill_group(child);
    }
    if (child->process.commands >= 0) close(child->process.commands);
    close(child->process.replies);
    close(child->process.arrays);
    close(child->process.log);
    text_free(&child->pending);
    free(child);
}
