#include "record/checkout.h"

#include "record/facts.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double SECONDS = 20;

enum { WORDS_MAX = 96, FILTERS_MAX = 16, FILTER_TEXT = 256 };

/* The words of a call. A checkout may be anybody's: its configuration names programs (a file monitor, hooks, filters, remotes, gpg)
 * that git would run with our rights, and asking does not need. */
typedef struct Call {
    const char *argv[WORDS_MAX];
    size_t count;
    char settings[2 * FILTERS_MAX + 1][FILTER_TEXT];
} Call;

static void add(Call *call, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++) call->argv[call->count++] = words[i];
}

#define ADD(call, words) add(call, words, sizeof(words) / sizeof *(words))

/* Each line of `names` is a setting of a filter, which gets an empty value. False: too many. */
static bool switch_off(Call *call, const char *names) {
    size_t filters = 0;
    while (*names) {
        const int length = (int)strcspn(names, "\n");
        if (filters == FILTERS_MAX || length > FILTER_TEXT - 32) return false;
        snprintf(call->settings[2 * filters], FILTER_TEXT, "GIT_CONFIG_KEY_%zu=%.*s", filters, length, names);
        snprintf(call->settings[2 * filters + 1], FILTER_TEXT, "GIT_CONFIG_VALUE_%zu=", filters);
        filters++;
        names += length + (names[length] == '\n');
    }
    for (size_t i = 0; i < 2 * filters; i++) call->argv[call->count++] = call->settings[i];
    snprintf(call->settings[2 * FILTERS_MAX], FILTER_TEXT, "GIT_CONFIG_COUNT=%zu", filters);
    call->argv[call->count++] = call->settings[2 * FILTERS_MAX];
    return true;
}

/* A folder without a .git of its own may lie in somebody else's checkout: that commit is none of it. filters: settings to switch
 * off.
 */
static char *call_git(const char *folder, const char *filters, const char *const *words, size_t count) {
    static const char *const ENVIRONMENT[] = {"env", "GIT_OPTIONAL_LOCKS=0", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1"};
    const char *const program[] = {"git",
                                   "-C",
                                   folder,
                                   "-c",
                                   "safe.directory=*",
                                   "-c",
                                   "core.fsmonitor=false",
                                   "-c",
                                   "core.hooksPath=/dev/null",
                                   "-c",
                                   "log.showSignature=false"};
    Call call = {.count = 0};
    char path[4096], why[256];
    if (snprintf(path, sizeof path, "%s/.git", folder) >= (int)sizeof path || access(path, F_OK) != 0) return NULL;
    ADD(&call, ENVIRONMENT);
    if (!switch_off(&call, filters)) return NULL;
    ADD(&call, program);
    add(&call, words, count);
    return facts_command(call.argv, SECONDS, why, sizeof why);
}

static char *ask(const char *folder, const char *const *words, size_t count) {
    static const char *const FILTERS[] = {"config", "--name-only", "--get-regexp",
                                          "^filter\\..*\\.(clean|smudge|process|required)$"};
    char *filters = call_git(folder, "", FILTERS, sizeof FILTERS / sizeof *FILTERS); /* NULL: there are none */
    char *answer = call_git(folder, filters ? filters : "", words, count);
    free(filters);
    return answer;
}

#define ASK(folder, words) ask(folder, words, sizeof(words) / sizeof *(words))

char *checkout_commit(const char *folder) {
    static const char *const HEAD[] = {"rev-parse", "HEAD"};
    return ASK(folder, HEAD);
}

char *checkout_resolve(const char *folder, const char *ref) {
    char name[512];
    if (snprintf(name, sizeof name, "%s^{commit}", ref) >= (int)sizeof name) return NULL;
    const char *const words[] = {"rev-parse", "--verify", "--quiet", "--end-of-options", name};
    return ASK(folder, words);
}

char *checkout_changes(const char *folder) {
    static const char *const TRACKED[] = {"status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all", "--",
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
