/* Mutants that would cost others something: `how` names the place and the deed. What they compute is right, except where they
 * forge. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create, MAP_ANONYMOUS */
#endif
#include "variant.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const HOW[] = {"nothing",
                                  "abort_in_supports",
                                  "hang_in_supports",
                                  "fork_in_supports",
                                  "abort_in_scratch",
                                  "abort_in_configuration",
                                  "hang_in_prepare",
                                  "abort_in_release",
                                  "hang_in_release",
                                  "abort_at_exit",
                                  "exit_code",
                                  "leaves_process",
                                  "leaves_daemon",
                                  "shared_memory",
                                  "memory_of_children",
                                  "writes_descriptors",
                                  "forges_input",
                                  "restores_input",
                                  "leaps_64k",
                                  "leaps_1m",
                                  "leaps_back",
                                  NULL};
static const ParamSpec TUNABLES[] = {{"how", "what it does", PARAM_CHOICE, "nothing", 0, 0, HOW}, {0}};

static bool does(const VariantArgs *args, const char *how) {
    return strcmp(params_text(args->tunables, "how"), how) == 0;
}

static void hang(void) {
    for (volatile int forever = 1; forever;) pause();
}

static void spin(void) {
    for (volatile int forever = 1; forever;) continue;
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    (void)reason;
    if (does(args, "abort_in_supports")) abort();
    if (does(args, "hang_in_supports")) hang();
    if (does(args, "fork_in_supports") && fork() == 0) {
        setsid();
        spin();
    }
    return true;
}

static size_t scratch_bytes(const VariantArgs *args) {
    if (does(args, "abort_in_scratch")) abort();
    return 256;
}

static Status configuration(const VariantArgs *args, LaunchNotes *out) {
    (void)out;
    if (does(args, "abort_in_configuration")) abort();
    return STATUS_OK;
}

static void leave_with_7(void) {
    _exit(7);
}

static Status prepare(const VariantArgs *args, void **state) {
    *state = NULL;
    if (does(args, "hang_in_prepare")) hang();
    if (does(args, "abort_in_release")) *state = (void *)(uintptr_t)1;
    if (does(args, "hang_in_release")) *state = (void *)(uintptr_t)2;
    if (does(args, "abort_at_exit")) atexit(abort);
    if (does(args, "exit_code")) atexit(leave_with_7);
    if (does(args, "leaves_process") && fork() == 0) {
        setsid();
        spin();
    }
    if (does(args, "leaves_daemon") && fork() == 0) {
        if (fork() > 0) _exit(0);
        setsid();
        spin();
    }
    return STATUS_OK;
}

static void release(void *state) {
    if (state == (void *)(uintptr_t)1) abort();
    if (state == (void *)(uintptr_t)2) hang();
}

static void fill(int flags) {
    enum { PARTS = 32, PART = 16 << 20 };
    for (int i = 0; i < PARTS; i++) {
        void *part = mmap(NULL, PART, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
        if (part != MAP_FAILED) memset(part, 1, PART);
    }
    sleep(2); /* so that somebody can look, if nobody did */
}

/* Descriptors that this process has no business with: writing, emptying, enlarging. */
static void write_descriptors(void) {
    static const char noise[4096] = "noise";
    for (int fd = 3; fd < 64; fd++) {
        if (fcntl(fd, F_GETFL) < 0) continue;
        struct stat facts;
        const bool pipe = fstat(fd, &facts) == 0 && S_ISFIFO(facts.st_mode);
        if (!pipe && (pwrite(fd, noise, sizeof noise, 0) < 0 || ftruncate(fd, 0) != 0)) continue;
    }
}

/* Every file in shared memory, by any name that the system has for it, is filled with zeros through a mapping of its own. */
static void forge(const char *folder) {
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        char path[400], target[400] = "";
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (readlink(path, target, sizeof target - 1) < 0 || !strstr(target, "memfd:x")) continue;
        const int fd = open(path, O_RDWR);
        struct stat facts;
        if (fd < 0 || fstat(fd, &facts) != 0) continue;
        void *data = mmap(NULL, (size_t)facts.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (data != MAP_FAILED) memset(data, 0, (size_t)facts.st_size);
        close(fd);
    }
    if (directory) closedir(directory);
}

static void beside(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    double *x = args->in[0].data, *y = args->out[0].data;
    if (does(args, "shared_memory")) fill(MAP_SHARED);
    if (does(args, "memory_of_children") && fork() == 0) {
        fill(MAP_PRIVATE);
        _exit(0);
    }
    if (does(args, "memory_of_children")) sleep(2);
    if (does(args, "writes_descriptors")) write_descriptors();
    if (does(args, "restores_input")) {
        volatile double *const middle = &x[n / 2];
        const double kept = *middle;
        *middle = 0;
        *middle = kept;
    }
    if (does(args, "leaps_64k")) y[n + (64 << 10) / sizeof *y] = 1;
    if (does(args, "leaps_1m")) y[n + (1 << 20) / sizeof *y] = 1;
    if (does(args, "leaps_back")) *(y - (64 << 10) / sizeof *y) = 1;
}

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    if (does(args, "forges_input")) {
        forge("/proc/self/fd");
        forge("/proc/self/map_files");
        memset(y, 0, n * sizeof *y);
        return STATUS_OK;
    }
    for (size_t i = 0; i < n; i++) y[i] = 2 * x[i];
    beside(args);
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_takes_along) = {.backend = BACKEND_CPU,
                                          .summary = "mutants: would cost others something",
                                          .origin = "tests",
                                          .tunables = TUNABLES,
                                          .supports = supports,
                                          .scratch_bytes = scratch_bytes,
                                          .configuration = configuration,
                                          .prepare = prepare,
                                          .release = release,
                                          .run = run};
