#include "device/spawn.h"

#include "device/confine.h"
#include "device/descendants.h"
#include "device/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_ARGV = 32 };

/* The worker's ends, and how it is confined. */
typedef struct Ends {
    int commands, replies, arrays, log;
    bool on_cpu;
} Ends;

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
static void become_worker(char *const *argv, char *const *environment, const char *folder, const Ends *ends) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a parent killed with -9 takes its workers along */
    signal(SIGPIPE, SIG_DFL);         /* what the parent ignores would stay ignored */
    conceal_memory(true);
    const int null = open("/dev/null", O_RDONLY);
    dup2(null, 0);
    dup2(ends->log, 1);
    dup2(ends->log, 2);
    /* If memory runs out anyway, the kernel should take the worker, not the program that keeps the results. */
    const int oom = open("/proc/self/oom_score_adj", O_WRONLY);
    if (oom >= 0) {
        const ssize_t ignored = write(oom, "1000", 4);
        (void)ignored;
        close(oom);
    }
    close_at_exec();
    if (!sandbox_used() && !confine_self(folder, !ends->on_cpu)) {
        dprintf(2, "a worker cannot be confined to %s (Landlock): %s\n", folder, strerror(errno));
        _exit(127);
    }
    fcntl(ends->commands, F_SETFD, 0);
    fcntl(ends->replies, F_SETFD, 0);
    fcntl(ends->arrays, F_SETFD, 0);
    execve(argv[0], argv, environment);
    dprintf(2, "%s: cannot be started: %s\n", argv[0], strerror(errno));
    _exit(127);
}

/* What names the places where libraries keep temporary files and compiled code: in a worker its own folder. */
static const char *const PLACES[] = {"TMPDIR=",           "XDG_CACHE_HOME=",           "CUDA_CACHE_PATH=",      "NUMBA_CACHE_DIR=",
                                     "TRITON_CACHE_DIR=", "TORCHINDUCTOR_CACHE_DIR=",  "TORCH_EXTENSIONS_DIR=", "CUPY_CACHE_DIR=",
                                     "MPLCONFIGDIR=",     "LIBCUDF_KERNEL_CACHE_PATH="};
enum { PLACE_COUNT = sizeof PLACES / sizeof *PLACES, PLACE_TEXT = TEMPORARY_PATH_MAX + 32 };

static bool is_replaced(const char *variable) {
    for (int i = 0; i < PLACE_COUNT; i++)
        if (strncmp(variable, PLACES[i], strlen(PLACES[i])) == 0) return true;
    return strncmp(variable, DESCENDANTS_MARK, strlen(DESCENDANTS_MARK)) == 0;
}

/* This process's, with the mark of its workers and their folder; NULL: no memory. One block. */
static char **worker_environment(const char *folder) {
    size_t count = 0, kept = 0;
    while (environ[count]) count++;
    char **environment = calloc(1, (count + PLACE_COUNT + 2) * sizeof *environment + (size_t)PLACE_COUNT * PLACE_TEXT);
    if (!environment) return NULL;
    char *text = (char *)(environment + count + PLACE_COUNT + 2);
    for (size_t i = 0; i < count; i++)
        if (!is_replaced(environ[i])) environment[kept++] = environ[i];
    for (int i = 0; i < PLACE_COUNT; i++, text += PLACE_TEXT) {
        snprintf(text, PLACE_TEXT, "%s%s", PLACES[i], folder);
        environment[kept++] = text;
    }
    environment[kept] = (char *)(uintptr_t)descendants_mark();
    return environment;
}

/* Room for its arguments, and the numbers of its ends as text. */
typedef struct Words {
    char *argv[MAX_ARGV], numbers[3][16];
} Words;

static void write_words(const char *const *argv, const Ends *ends, Words *out) {
    static const char *const NAMES[] = {"--commands", "--replies", "--arrays"};
    const int numbers[] = {ends->commands, ends->replies, ends->arrays};
    int count = 0;
    for (; argv[count] && count < MAX_ARGV - 7; count++) out->argv[count] = (char *)(uintptr_t)argv[count];
    for (int i = 0; i < 3; i++) {
        snprintf(out->numbers[i], sizeof out->numbers[i], "%d", numbers[i]);
        out->argv[count++] = (char *)(uintptr_t)NAMES[i];
        out->argv[count++] = out->numbers[i];
    }
    out->argv[count] = NULL;
}

static void close_all(const int *files, int count) {
    for (int i = 0; i < count; i++)
        if (files[i] >= 0) close(files[i]);
}

/* {ours, the worker's} of each. */
static Status open_ends(int down[2], int up[2], int pair[2], int *log) {
    int ends[2];
    *log = -1;
    if (pipe2(ends, O_CLOEXEC) != 0) return status_fail(STATUS_IO, "no pipe for a worker: %s", strerror(errno));
    down[0] = ends[1], down[1] = ends[0];
    if (pipe2(ends, O_CLOEXEC) != 0) return status_fail(STATUS_IO, "no pipe for a worker: %s", strerror(errno));
    up[0] = ends[0], up[1] = ends[1];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return status_fail(STATUS_IO, "no socket for a worker: %s", strerror(errno));
    pair[0] = ends[0], pair[1] = ends[1];
    *log = temporary_file();
    return *log >= 0 ? STATUS_OK
                     : status_fail(STATUS_IO, "the log of a worker cannot be made in %s (TMPDIR): %s", temporary_place(),
                                   strerror(errno));
}

Status spawn(const char *const *argv, bool on_cpu, Spawned *out) {
    int down[2] = {-1, -1}, up[2] = {-1, -1}, pair[2] = {-1, -1}, log;
    conceal_memory(false);
    Status status = open_ends(down, up, pair, &log);
    if (status == STATUS_OK) status = temporary_folder(&out->own);
    const Ends ends = {.commands = down[1], .replies = up[1], .arrays = pair[1], .log = log, .on_cpu = on_cpu};
    Words words;
    write_words(argv, &ends, &words);
    const char *sandboxed[SANDBOX_WORDS_MAX];
    if (status == STATUS_OK && sandbox_used()) status = sandbox_wrap(out->own.path, (const char *const *)words.argv, sandboxed);
    char *const *line = sandbox_used() ? (char *const *)(uintptr_t)sandboxed : words.argv;
    char **environment = status == STATUS_OK ? worker_environment(out->own.path) : NULL;
    descendants_expect();
    const pid_t pid = environment ? fork() : -1;
    const int why = errno;
    if (pid == 0) become_worker(line, environment, out->own.path, &ends);
    free(environment);
    close_all((const int[]){down[1], up[1], pair[1]}, 3);
    if (pid < 0) {
        close_all((const int[]){down[0], up[0], pair[0], log}, 4);
        if (status == STATUS_OK) temporary_folder_remove(&out->own);
        return status != STATUS_OK ? status : status_fail(STATUS_IO, "a worker cannot be started (%s): %s", argv[0], strerror(why));
    }
    setpgid(pid, pid);
    descendants_know(pid);
    signal(SIGPIPE, SIG_IGN); /* a dead worker is found out by its exit, not by our death */
    out->pid = pid;
    out->commands = down[0], out->replies = up[0], out->arrays = pair[0], out->log = log;
    return STATUS_OK;
}
