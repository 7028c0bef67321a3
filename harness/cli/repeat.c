#include "cli/repeat.h"

#include "base/process.h"
#include "cli/commands.h"
#include "cli/words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_TEXT = 1024 };

static char *resolve(const char *word) {
    char path[PATH_TEXT];
    const int length = snprintf(path, sizeof path, "%s/scenarios/%s.yaml", RUNGS_SOURCE_DIR, word);
    const bool named = !strpbrk(word, " =") && length < PATH_TEXT && access(path, R_OK) == 0;
    return strdup(named ? path : word);
}

Status repeat_words(char *const *words, int count, char ***out) {
    char **copy = calloc((size_t)count + 1, sizeof *copy);
    bool good = copy != NULL;
    for (int i = 0; i < count && good; i++) good = (copy[i] = resolve(words[i])) != NULL;
    if (!good) {
        repeat_words_free(copy);
        return status_fail(STATUS_MEMORY, "no memory for the names of %d scenarios", count);
    }
    *out = copy;
    return STATUS_OK;
}

void repeat_words_free(char **words) {
    for (int i = 0; words && words[i]; i++) free(words[i]);
    free(words);
}

Status repeat_prepare(Repeat *self) {
    const char *const argv[] = {self->binary, "run", "--help", NULL};
    Text output = {0};
    int code = 0;
    Status status = process_capture(argv, NULL, &output, &code);
    if (status == STATUS_OK && code != 0)
        status =
            status_fail(STATUS_INVALID, "%s: '%s run --help' ends with exit code %d: not a rungs?", self->what, self->binary, code);
    self->knows_no_ceilings = output.text && strstr(output.text, "--no-ceilings"); /* a build of an older commit may not */
    text_free(&output);
    return status;
}

static Status add_words(const Repeat *self, Words *argv) {
    const RepeatOptions *o = self->options;
    TRY(words_add(argv, self->binary));
    TRY(words_add(argv, "run"));
    for (int i = 0; self->words[i]; i++) TRY(words_add(argv, self->words[i]));
    TRY(words_option(argv, "--out", self->out));
    TRY(words_option(argv, "--variants", o->variants));
    TRY(words_option(argv, "--device", o->device));
    TRY(words_option(argv, "--timeout", o->timeout));
    TRY(words_option(argv, "--memory-limit", o->memory_limit));
    if (o->quick) TRY(words_add(argv, "--quick"));
    if (o->full) TRY(words_add(argv, "--full"));
    return self->knows_no_ceilings ? words_add(argv, "--no-ceilings") : STATUS_OK;
}

Status repeat_once(const Repeat *self, const char *note) {
    Words argv = {0};
    Text output = {0};
    int code = 0;
    setenv("RUNGS_AB", note, 1);
    Status status = add_words(self, &argv);
    if (status == STATUS_OK) status = process_capture(argv.words, NULL, &output, &code);
    words_free(&argv);
    if (status == STATUS_OK && code != EXIT_GOOD && code != EXIT_CHECK && code != EXIT_NOTHING)
        status = status_fail(code == EXIT_USAGE ? STATUS_INVALID : STATUS_IO, "%s: %s ends with exit code %d: %.1000s", self->what,
                             self->binary, code, output.text ? output.text : "");
    text_free(&output);
    return status;
}

Status repeat_folder(const char *path) {
    char part[PATH_TEXT];
    if (snprintf(part, sizeof part, "%s", path) >= PATH_TEXT) return status_fail(STATUS_INVALID, "%s: too long a path", path);
    for (char *end = part + 1;; end++) {
        if (*end != '/' && *end != '\0') continue;
        const char kept = *end;
        *end = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return status_fail(STATUS_IO, "%s cannot be made: %s", part, strerror(errno));
        if (kept == '\0') return STATUS_OK;
        *end = kept;
    }
}
