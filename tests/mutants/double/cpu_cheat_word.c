/* Cheat: a worker leaves word for the next one, which could know of samples that are compared and compute no other. `how` names the
 * place. Here the next one just computes nothing, to be seen. Met: an attack on this harness. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "variant.h"

#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const HOW[] = {"nothing", "file", "shm", "sysv", "queue", "key", "outputs", NULL};
static const ParamSpec TUNABLES[] = {{"how", "where the word is", PARAM_CHOICE, "nothing", 0, 0, HOW}, {0}};
static const char NAME[] = "/rungs_mutant_word";
enum { NUMBER = 0x72756e67, USER_KEYRING = -4 };

static bool found_file(const char *path) {
    const int file = open(path, O_CREAT | O_EXCL | O_RDWR, 0600);
    if (file >= 0) close(file);
    return file < 0 && access(path, F_OK) == 0;
}

static bool found_segment(void) {
    return shmget(NUMBER, 4096, IPC_CREAT | IPC_EXCL | 0600) < 0 && shmget(NUMBER, 4096, 0600) >= 0;
}

static bool found_queue(void) {
    const mqd_t queue = mq_open(NAME, O_CREAT | O_EXCL | O_RDWR, 0600, NULL);
    return queue == (mqd_t)-1 && mq_open(NAME, O_RDWR) != (mqd_t)-1;
}

static bool found_key(void) {
    enum { SEARCH = 10 };
    if (syscall(SYS_keyctl, SEARCH, USER_KEYRING, "user", NAME + 1, 0) >= 0) return true;
    (void)syscall(SYS_add_key, "user", NAME + 1, "x", (size_t)1, USER_KEYRING);
    return false;
}

/* What the worker before this one gave: the end of the array that the parent reads. */
static bool found_outputs(size_t count) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    bool found = false;
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long from, to;
        char mode[8];
        if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) != 3 || strcmp(mode, "rw-s") != 0 || to - from < count * 8) continue;
        found = found || ((const double *)from)[count - 1] != 0;
    }
    if (maps) fclose(maps);
    return found;
}

static Status prepare(const VariantArgs *args, void **state) {
    const char *how = params_text(args->tunables, "how");
    bool *found = malloc(sizeof *found);
    *found = strcmp(how, "file") == 0      ? found_file("/dev/shm/rungs_mutant_word_file")
             : strcmp(how, "shm") == 0     ? shm_open(NAME, O_CREAT | O_EXCL | O_RDWR, 0600) < 0 && shm_open(NAME, O_RDWR, 0) >= 0
             : strcmp(how, "sysv") == 0    ? found_segment()
             : strcmp(how, "queue") == 0   ? found_queue()
             : strcmp(how, "key") == 0     ? found_key()
             : strcmp(how, "outputs") == 0 ? found_outputs(array_count(&args->in[0]))
                                           : false;
    *state = found;
    return STATUS_OK;
}

static void release(void *state) {
    free(state);
}

static Status run(const VariantArgs *args) {
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    for (size_t i = 0; i < array_count(&args->in[0]) && !*(const bool *)args->state; i++) y[i] = 2 * x[i];
    return STATUS_OK;
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return args->problem->dtype == DTYPE_F64 || variant_refuse(reason, "f64 only");
}

RUNGS_VARIANT(double, cpu_cheat_word) = {.backend = BACKEND_CPU,
                                         .summary = "cheat: leaves word for the next worker",
                                         .origin = "tests",
                                         .tunables = TUNABLES,
                                         .supports = supports,
                                         .prepare = prepare,
                                         .release = release,
                                         .run = run};
