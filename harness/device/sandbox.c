#include "device/sandbox.h"

#include "base/places.h"
#include "base/process.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char VARIABLE[] = "RUNGS_SANDBOX"; /* for sandbox_enter() */
static const double CHECK_SECONDS = 20;
static const char *const HIDDEN[] = {"/tmp", "/var/tmp", "/run", "/dev"};
enum { HIDDEN_COUNT = sizeof HIDDEN / sizeof *HIDDEN };

static bool used;

/* ---- The command line. */

typedef struct Line {
    const char **words;
    int count;
    bool full;
} Line;

static void add(Line *self, const char *word) {
    if (self->count + 1 >= SANDBOX_WORDS_MAX)
        self->full = true;
    else
        self->words[self->count++] = word;
    self->words[self->count] = NULL;
}

static void add_bind(Line *self, const char *how, const char *path) {
    add(self, how);
    add(self, path);
    add(self, path);
}

static bool is_hidden(const char *path) {
    for (int i = 0; i < HIDDEN_COUNT; i++) {
        const size_t length = strlen(HIDDEN[i]);
        if (strncmp(path, HIDDEN[i], length) == 0 && path[length] == '/') return true;
    }
    return false;
}

/* What the program consists of is there even where it lies in a folder that the sandbox has of its own. */
static void add_program(Line *self) {
    const char *const folders[] = {places_project(""), places_harness(""), places_libraries(""), places_build(""),
                                   places_beside("")};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (is_hidden(folders[i])) add_bind(self, "--ro-bind-try", folders[i]);
}

/* /dev has null, zero, full, random, urandom, pts and shm of its own; a terminal would take what is typed into it. */
static void add_devices(Line *self) {
    static glob_t gpus;
    if (!gpus.gl_pathv) (void)glob("/dev/nvidia*", 0, NULL, &gpus);
    for (size_t i = 0; gpus.gl_pathv && gpus.gl_pathv[i]; i++) add_bind(self, "--dev-bind-try", gpus.gl_pathv[i]);
    add(self, "--dev-bind"), add(self, "/dev/null"), add(self, "/dev/tty");
}

static const char *find_bwrap(void) {
    static char path[PATH_MAX];
    const char *place = getenv("PATH");
    while (place && *place) {
        const size_t length = strcspn(place, ":");
        const int written = snprintf(path, sizeof path, "%.*s/bwrap", (int)length, place);
        if (path[0] == '/' && written < (int)sizeof path && access(path, X_OK) == 0) return path;
        place += length + (place[length] == ':');
    }
    return NULL;
}

static const char *own_program(void) {
    static char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    return path;
}

/* Without a namespace for cgroups: a worker reads its limits below /sys/fs/cgroup. */
static void add_sandbox(Line *self, const char *bwrap) {
    static const char *const WORDS[] = {"--die-with-parent",
                                        "--unshare-user-try",
                                        "--unshare-ipc",
                                        "--unshare-pid",
                                        "--unshare-net",
                                        "--unshare-uts",
                                        "--cap-drop",
                                        "ALL",
                                        "--ro-bind",
                                        "/",
                                        "/",
                                        "--tmpfs",
                                        "/tmp",
                                        "--tmpfs",
                                        "/var/tmp",
                                        "--tmpfs",
                                        "/run",
                                        "--proc",
                                        "/proc",
                                        "--dev",
                                        "/dev"};
    add(self, bwrap);
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) add(self, WORDS[i]);
    add_devices(self);
    add_program(self);
}

Status sandbox_wrap(const char *folder, const char *const *argv, const char *words[SANDBOX_WORDS_MAX]) {
    Line line = {.words = words};
    const char *bwrap = find_bwrap();
    if (!bwrap) return status_fail(STATUS_UNSUPPORTED, "bwrap is not there any more");
    add_sandbox(&line, bwrap);
    add_bind(&line, "--bind", folder);
    add(&line, "--"), add(&line, own_program()), add(&line, "worker"), add(&line, "--confine"), add(&line, folder);
    while (*argv) add(&line, *argv++);
    return line.full ? status_fail(STATUS_INTERNAL, "the command line of a sandbox has more than %d words", SANDBOX_WORDS_MAX)
                     : STATUS_OK;
}

bool sandbox_enter(const char *module, char *const *argv) {
    const char *words[SANDBOX_WORDS_MAX], *bwrap = getenv(VARIABLE);
    Line line = {.words = words};
    if (!bwrap) return true;
    add_sandbox(&line, bwrap);
    if (is_hidden(module)) add_bind(&line, "--ro-bind", module);
    add(&line, "--"), add(&line, own_program());
    if (strcmp(argv[0], "worker") == 0) add(&line, argv[0]); /* what main() leaves of this program's; not of the emulator's */
    while (*++argv) add(&line, *argv);
    unsetenv(VARIABLE);
    if (!line.full) execv(bwrap, (char *const *)(uintptr_t)words);
    dprintf(STDERR_FILENO, "%s: cannot be started: %s\n", bwrap, strerror(errno));
    return false;
}

/* ---- Can there be one? */

/* The number in a file of /proc/sys; -1: there is no such file. */
static long setting(const char *path) {
    long value = -1;
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%ld", &value) != 1) value = -1;
    if (file) fclose(file);
    return value;
}

static const char *remedy(void) {
    if (setting("/proc/sys/user/max_user_namespaces") == 0) return "sysctl user.max_user_namespaces=15000 allows user namespaces";
    if (setting("/proc/sys/kernel/unprivileged_userns_clone") == 0)
        return "sysctl kernel.unprivileged_userns_clone=1 allows user namespaces";
    if (setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1)
        return "AppArmor allows bwrap user namespaces by a profile: apt-get install apparmor-profiles; cp "
               "/usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/; apparmor_parser -r "
               "/etc/apparmor.d/bwrap-userns-restrict";
    return "user namespaces must be allowed to this user; in a container also by its seccomp profile and its /proc (docker run "
           "--security-opt seccomp=unconfined --security-opt systempaths=unconfined)";
}

Status sandbox_check(void) {
    static const char *const PROGRAM[] = {"/bin/true", NULL};
    const char *words[SANDBOX_WORDS_MAX];
    Text said = {0};
    int code = 0;
    if (!find_bwrap()) return status_fail(STATUS_UNSUPPORTED, "no sandbox: there is no bwrap: apt-get install bubblewrap");
    Status status = sandbox_wrap("/dev/shm", PROGRAM, words);
    if (status == STATUS_OK) status = process_capture(words, &(ProcessLimits){.seconds = CHECK_SECONDS}, &said, &code);
    if (status == STATUS_OK && code != 0) {
        const char *why = said.text ? said.text : "it says nothing";
        status = status_fail(STATUS_UNSUPPORTED, "no sandbox: bwrap ended with exit code %d: %.*s. %s", code,
                             (int)strcspn(why, "\n"), why, remedy());
    }
    text_free(&said);
    return status;
}

Status sandbox_use(void) {
    TRY(sandbox_check());
    used = true;
    return setenv(VARIABLE, find_bwrap(), 1) == 0 ? STATUS_OK : status_fail(STATUS_MEMORY, "no memory for a variable");
}

bool sandbox_used(void) {
    return used;
}
