/* Between this process and the program is a guard, a process that notices when this one ends: the socket between them closes. */
#include "base/process.h"

#include "base/clock.h"
#include "base/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE = STDIN_FILENO, STEP_MS = 10, TERM_PATIENCE_MS = 3000, KILL_PATIENCE_MS = 5000 };
static const double SECONDS_BETWEEN_LOOKS = 0.5; /* at signals that came just before the wait began */

/* What the guard has to do, one byte on the socket. */
typedef enum Order {
    ORDER_NONE,       /* the socket closed: this process has ended */
    ORDER_WAIT = 'w', /* until the program ends by itself */
    ORDER_TERM = 't', /* SIGTERM to the program, after TERM_PATIENCE_MS SIGKILL to all that is left */
    ORDER_KILL = 'k'  /* SIGKILL to all */
} Order;

typedef struct Guard {
    pid_t pid;
    int line; /* our end of the socket */
} Guard;

/* ---- A signal. */

static volatile sig_atomic_t noted;

void interrupt_note(int signal_number) {
    if (!noted) noted = signal_number;
}

int interrupt_pending(void) {
    return noted;
}

Status interrupt_check(void) {
    return noted ? status_fail(STATUS_IO, "interrupted by signal %d (%s)", (int)noted, strsignal(noted)) : STATUS_OK;
}

/* ---- Processes of a process. */

bool pids_contain(const Pids *pids, pid_t pid) {
    for (int i = 0; i < pids->count; i++)
        if (pids->pid[i] == pid) return true;
    return false;
}

void pids_add(Pids *pids, pid_t pid) {
    if (pids->count < PIDS_MAX && !pids_contain(pids, pid)) pids->pid[pids->count++] = pid;
}

void process_children(pid_t of, Pids *out) {
    char folder[64], path[400];
    snprintf(folder, sizeof folder, "/proc/%d/task", (int)of);
    DIR *threads = opendir(folder);
    for (struct dirent *entry; threads && (entry = readdir(threads));) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s/children", folder, entry->d_name);
        FILE *list = fopen(path, "re");
        int pid;
        while (list && fscanf(list, "%d", &pid) == 1) pids_add(out, pid);
        if (list) fclose(list);
    }
    if (threads) closedir(threads);
}

/* ---- The guard. */

void process_stand_aside(int descriptor) {
    static const int SIGNALS[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM};
    setsid();
    for (size_t i = 0; i < sizeof SIGNALS / sizeof *SIGNALS; i++) signal(SIGNALS[i], SIG_IGN);
    dup2(descriptor, STDIN_FILENO);
    if (close_range(STDIN_FILENO + 1, ~0U, 0) != 0)
        for (int fd = STDIN_FILENO + 1; fd < 1024; fd++) close(fd); /* a kernel before 5.9 */
}

void process_stay_awake(int descriptor) {
    static const double SECONDS = 1e-3;
    struct pollfd wait_for = {.fd = descriptor, .events = POLLIN};
    const double end = clock_seconds() + SECONDS;
    while (clock_seconds() < end && poll(&wait_for, 1, 0) == 0) sched_yield(); /* to who writes, on one processor */
}

static _Noreturn void give_up(int failed) {
    const int why = errno;
    const ssize_t ignored = write(failed, &why, sizeof why);
    (void)ignored;
    _exit(127);
}

static _Noreturn void become_program(const char *const argv[], const ProcessLimits *limits, int output, const sigset_t *mask,
                                     int failed) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* if the guard is killed */
    sigprocmask(SIG_SETMASK, mask, NULL);
    const int input = limits->own_input ? STDIN_FILENO : open("/dev/null", O_RDONLY), errors = limits->own_errors ? STDERR_FILENO
                                                                                               : limits->quiet_errors
                                                                                                   ? open("/dev/null", O_WRONLY)
                                                                                                   : output;
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    if (input > STDERR_FILENO) close(input);
    if (limits->quiet_errors && errors > STDERR_FILENO) close(errors);
    if (limits->variable) putenv((char *)(uintptr_t)limits->variable);
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    give_up(failed);
}

static void on_child(int number) {
    (void)number; /* it interrupts ppoll */
}

/* The guard inherits the orphans, so all that the program started becomes its child sooner or later. */
static void kill_children(void) {
    for (int waited = 0; waited < KILL_PATIENCE_MS; waited += STEP_MS) {
        Pids children = {0};
        process_children(getpid(), &children);
        for (int i = 0; i < children.count; i++) kill(children.pid[i], SIGKILL);
        while (waitpid(-1, NULL, WNOHANG) > 0) continue;
        if (waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD) return;
        poll(NULL, 0, STEP_MS);
    }
}

/* Reaps the processes that have ended; *code: exit code of the program. */
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

static _Noreturn void end_all(pid_t program, bool ended, Order order, pid_t parent) {
    int code = 128 + (order == ORDER_KILL ? SIGKILL : SIGTERM);
    if (order != ORDER_KILL && !ended) {
        kill(program, SIGTERM);
        for (int waited = 0; waited < TERM_PATIENCE_MS && !has_ended(program, &code); waited += STEP_MS) poll(NULL, 0, STEP_MS);
    }
    kill_children();
    if (order == ORDER_NONE) temporary_sweep_after(parent);
    _exit(code);
}

static _Noreturn void guard(pid_t program, pid_t parent, const sigset_t *mask) {
    bool ended = false, waits = false;
    int code = 127;
    for (;;) {
        char order = ORDER_NONE;
        struct pollfd line = {.fd = LINE, .events = POLLIN};
        ended = has_ended(program, &code) || ended;
        if (ended && waits) {
            if (code > 128) kill_children(); /* it was killed: what it watched over goes on alone */
            _exit(code);
        }
        if (ppoll(&line, 1, NULL, mask) <= 0) continue;
        if (read(LINE, &order, 1) < 0 && errno == EINTR) continue;
        if (order != ORDER_WAIT) end_all(program, ended, (Order)order, parent);
        waits = true;
    }
}

/* In the new process. The program stays in the terminal's group, for Ctrl-C and Ctrl-Z; the guard leaves it. */
static _Noreturn void become_guard(const char *const argv[], const ProcessLimits *limits, int output, int line, int failed,
                                   pid_t parent) {
    sigset_t children, mask;
    const struct sigaction action = {.sa_handler = on_child};
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, &mask);
    sigaction(SIGCHLD, &action, NULL);
    const pid_t pid = fork();
    if (pid == 0) become_program(argv, limits, output, &mask, failed);
    if (pid < 0) give_up(failed);
    process_stand_aside(line);
    sigdelset(&mask, SIGCHLD);
    guard(pid, parent, &mask);
}

/* Waits until exec has closed the pipe (0) or an errno came through it. */
static int why_not_started(int failed) {
    int why = 0;
    ssize_t got;
    while ((got = read(failed, &why, sizeof why)) < 0 && errno == EINTR) continue;
    return got == sizeof why ? why : 0;
}

static void give_order(const Guard *self, Order order) {
    const char byte = (char)order;
    const ssize_t ignored = send(self->line, &byte, 1, MSG_NOSIGNAL);
    (void)ignored;
}

/* Waits for the guard. The exit code of the program, 128 + signal where one ended it; -1: there is no guard. */
static int guard_end(Guard *self) {
    int how = 0;
    pid_t got;
    while ((got = waitpid(self->pid, &how, 0)) < 0 && errno == EINTR) continue;
    close(self->line);
    if (got < 0) return -1;
    return WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
}

/* 0, or the errno of why the program does not run. */
static int guard_start(const char *const argv[], const ProcessLimits *limits, int output, Guard *out) {
    int line[2], failed[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line) != 0) return errno;
    if (pipe2(failed, O_CLOEXEC) != 0) {
        const int why = errno;
        close(line[0]), close(line[1]);
        return why;
    }
    const pid_t parent = getpid(), pid = fork();
    if (pid == 0) become_guard(argv, limits, output, line[1], failed[1], parent);
    int why = pid < 0 ? errno : 0;
    close(line[1]), close(failed[1]);
    if (pid > 0) why = why_not_started(failed[0]);
    close(failed[0]);
    *out = (Guard){.pid = pid, .line = line[0]};
    if (why && pid > 0) {
        give_order(out, ORDER_WAIT);
        (void)guard_end(out);
    } else if (why) {
        close(line[0]);
    }
    return why;
}

/* ---- One program. */

/* A Text ends at its first zero: '?' stands for one. */
static Status append(Text *output, char *piece, size_t bytes) {
    for (char *zero; (zero = memchr(piece, '\0', bytes));) *zero = '?';
    return text_append(output, "%.*s", (int)bytes, piece);
}

/* Reads until the program has ended and no process has its output open. Not STATUS_OK: a limit is reached, or an interrupt came. */
static Status collect(const char *name, int read_end, const Guard *guard, const ProcessLimits *limits, Text *output) {
    const double until = limits->seconds > 0 ? clock_seconds() + limits->seconds : INFINITY;
    const size_t before = output->length;
    for (int from = read_end;;) {
        const double left = until - clock_seconds();
        TRY(interrupt_check());
        if (!(left > 0)) return status_fail(STATUS_IO, "%s did not complete its answer within %g s", name, limits->seconds);
        if (limits->bytes && output->length - before > limits->bytes)
            return status_fail(STATUS_IO, "%s wrote more than %zu bytes", name, limits->bytes);
        struct pollfd wait_for = {.fd = from, .events = POLLIN};
        const int ready = poll(&wait_for, 1, (int)(fmin(left, SECONDS_BETWEEN_LOOKS) * 1000) + 1);
        if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
        char piece[4096];
        const ssize_t got = read(from, piece, sizeof piece);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return status_fail(STATUS_IO, "%s: its answer cannot be read: %s", name, strerror(errno));
        if (got > 0) {
            TRY(append(output, piece, (size_t)got));
        } else if (from == read_end) {
            give_order(guard, ORDER_WAIT);
            from = guard->line; /* closes when the guard ends */
        } else {
            return STATUS_OK;
        }
    }
}

Status process_capture(const char *const argv[], const ProcessLimits *limits, Text *output, int *exit_code) {
    static const ProcessLimits NONE = {0};
    if (!limits) limits = &NONE;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return status_fail(STATUS_IO, "%s: no pipe: %s", argv[0], strerror(errno));
    Guard guard = {0};
    const int error = guard_start(argv, limits, ends[1], &guard);
    close(ends[1]);
    if (error) {
        close(ends[0]);
        return status_fail(error == ENOENT ? STATUS_UNSUPPORTED : STATUS_IO, "%s: cannot be started: %s", argv[0], strerror(error));
    }
    const Status status = collect(argv[0], ends[0], &guard, limits, output);
    close(ends[0]);
    if (status != STATUS_OK) give_order(&guard, interrupt_pending() ? ORDER_TERM : ORDER_KILL);
    *exit_code = guard_end(&guard);
    return *exit_code >= 0 ? status : status_fail(STATUS_IO, "%s: cannot be waited for", argv[0]);
}

/* ---- Other threads. */

double other_seconds(int id) {
    struct timespec time;
    const clockid_t clock = (clockid_t)(~(unsigned)id << 3 | 6); /* as pthread_getcpuclockid() has it, but by id */
    return clock_gettime(clock, &time) == 0 ? (double)time.tv_sec + 1e-9 * (double)time.tv_nsec : -1;
}

static bool read_file(int id, const char *name, char *text, size_t room) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/%s", id, name);
    FILE *file = fopen(path, "re");
    if (!file) return false;
    const size_t got = fread(text, 1, room - 1, file);
    fclose(file);
    text[got] = '\0';
    return got > 0;
}

bool other_sleeps(int id) {
    char text[512];
    if (!read_file(id, "stat", text, sizeof text)) return false;
    const char *state = strrchr(text, ')'); /* the name before it may hold anything */
    if (!state || strncmp(state, ") S", 3) != 0) return false;
    /* One that was preempted just before it blocked "sleeps", but has yet to run. A kernel may not tell. */
    return !read_file(id, "syscall", text, sizeof text) || strncmp(text, "running", strlen("running")) != 0;
}

int others_look(OtherThread threads[OTHERS_MAX]) {
    int count = 0;
    const int self = (int)gettid();
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *entry; tasks && (entry = readdir(tasks)) != NULL;) {
        const int id = atoi(entry->d_name);
        const double seconds = id > 0 && id != self ? other_seconds(id) : -1;
        if (seconds >= 0 && count < OTHERS_MAX) threads[count++] = (OtherThread){id, seconds};
    }
    if (tasks) closedir(tasks);
    return count;
}

double other_ran(OtherThread now, const OtherThread *before, int count) {
    for (int i = 0; i < count; i++)
        if (before[i].id == now.id) return now.seconds - before[i].seconds;
    return now.seconds;
}
