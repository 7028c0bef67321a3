/* Right, and tries to change what decides a row, now or later: each file or folder that $RUNGS_MUTANT_TARGETS names, one a line.
 * The test looks at them afterwards. */
#include "variant.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

static Status run(const VariantArgs *args) {
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    attack_all();
    for (size_t i = 0; i < array_count(&args->in[0]); i++) y[i] = 2 * x[i];
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_writes_files) = {
    .backend = BACKEND_CPU, .summary = "mutant: writes where it must not", .origin = "tests", .run = run};
