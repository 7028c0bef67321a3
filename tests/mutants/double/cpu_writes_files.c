/* Right, and tries to change what decides a row, now or later: each file or folder that $RUNGS_MUTANT_TARGETS names, one a line, at
 * which the test looks afterwards; and to leave something in the kernel, which is an error if it can. */
#include "variant.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void attack(const char *path) {
    char beside[1024];
    struct stat facts;
    if (stat(path, &facts) == 0 && S_ISDIR(facts.st_mode)) {
        snprintf(beside, sizeof beside, "%s/planted", path);
        const int made = open(beside, O_CREAT | O_WRONLY, 0600);
        if (made >= 0) close(made);
        return;
    }
    const int file = open(path, O_WRONLY | O_APPEND);
    if (file >= 0) (void)!write(file, "forged\n", 7);
    if (file >= 0) close(file);
    snprintf(beside, sizeof beside, "%s.planted", path);
    if (symlink(path, beside) == 0 || link(path, beside) == 0) (void)rename(beside, path);
    const bool refused = truncate(path, 0) != 0;
    if (unlink(path) != 0 || refused) return;
}

static void attack_all(void) {
    const char *named = getenv("RUNGS_MUTANT_TARGETS");
    char *targets = named ? strdup(named) : NULL, *rest = targets;
    for (char *path; rest && (path = strsep(&rest, "\n"));) attack(path);
    free(targets);
}

__attribute__((constructor)) static void begin(void) {
    attack_all();
}

/* What it could leave for another worker; NULL: nothing. */
static const char *leave(void) {
    if (shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600) >= 0) return "shared memory";
    if (msgget(IPC_PRIVATE, IPC_CREAT | 0600) >= 0) return "a queue";
    if (semget(IPC_PRIVATE, 1, IPC_CREAT | 0600) >= 0) return "a semaphore";
    if (syscall(SYS_add_key, "user", "rungs-mutant", "x", (size_t)1, -4 /* the user's */) >= 0) return "a key";
    return shm_open("/rungs-mutant", O_CREAT | O_RDWR, 0600) >= 0 ? "a file in /dev/shm" : NULL;
}

static Status run(const VariantArgs *args) {
    const char *left = getenv("RUNGS_MUTANT_TARGETS") ? leave() : NULL;
    if (left) return status_fail(STATUS_CHECK, "left %s in the kernel", left);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    attack_all();
    for (size_t i = 0; i < array_count(&args->in[0]); i++) y[i] = 2 * x[i];
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_writes_files) = {
    .backend = BACKEND_CPU, .summary = "mutant: writes where it must not", .origin = "tests", .run = run};
