#include "record/checkout.h"

#include "record/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double SECONDS = 20;

/* A folder without a .git of its own may lie in somebody else's checkout: that commit is none of it. */
static char *ask(const char *folder, const char *const *words, size_t count) {
    enum { MOST = 24 };
    const char *argv[MOST] = {"git", "-C", folder, "-c", "safe.directory=*"};
    char path[4096], why[256];
    if (snprintf(path, sizeof path, "%s/.git", folder) >= (int)sizeof path || access(path, F_OK) != 0) return NULL;
    memcpy(argv + 5, words, count * sizeof *words);
    return facts_command(argv, SECONDS, why, sizeof why);
}

#define ASK(folder, words) ask(folder, words, sizeof(words) / sizeof *(words))

char *checkout_commit(const char *folder) {
    static const char *const HEAD[] = {"rev-parse", "HEAD"};
    return ASK(folder, HEAD);
}

char *checkout_changes(const char *folder) {
    static const char *const TRACKED[] = {"status", "--porcelain", "--untracked-files=no", "--",
                                          ".",      ":!results",   ":!REPORT.md",          ":!docs/figures"};
    /* The build takes what it finds there: a new variant needs no other file to be changed. */
    static const char *const NEW[] = {
        "ls-files",      "--others",         "--exclude-standard",   "--", "harness", "impls", "reference", "cmake",
        "tests/mutants", "tests/regression", "CMakeUserPresets.json"};
    char *tracked = ASK(folder, TRACKED), *added = tracked ? ASK(folder, NEW) : NULL;
    if (added && *tracked == '\0') {
        free(tracked);
        return added;
    }
    if (!added) free(tracked), tracked = NULL;
    free(added);
    return tracked;
}
