#include "cli/binding.h"

#include "base/places.h"
#include "base/process.h"
#include "base/text.h"
#include "cli/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_python(const char *word) {
    const size_t length = strlen(word);
    return length > 3 && strcmp(word + length - 3, ".py") == 0;
}

int problem_paths(char *const *words, int count) {
    struct stat facts;
    if (count > 0 && stat(words[0], &facts) == 0 && S_ISDIR(facts.st_mode)) return 1;
    return count > 1 && is_python(words[0]) && is_python(words[1]) ? 2 : 0;
}

/* The op, its library, Model, ModelNew, a word on the bound. */
static Status take(char *text, Problem *out) {
    enum { LINES = 5 };
    char *lines[LINES] = {NULL}, *rest = NULL;
    for (int i = 0; i < LINES; i++) lines[i] = strtok_r(i == 0 ? text : NULL, "\n", &rest);
    if (!lines[LINES - 1]) return status_fail(STATUS_INTERNAL, "cmake/kernelbench.py said nothing");
    TRY(registry_add_op(lines[1], lines[0], &out->op));
    TRY(registry_add((const char *const *)lines + 2, PROBLEM_VARIANTS, out->op, out->variants));
    for (int i = 0; i < PROBLEM_VARIANTS; i++) {
        TRY(modules_need_one(out->variants[i]));
        const char *error = out->variants[i]->variant->error;
        if (error) return status_fail(STATUS_CHECK, "%s", error);
    }
    snprintf(out->bound, sizeof out->bound, "%s: %s", lines[0], lines[LINES - 1]);
    return STATUS_OK;
}

Status problem_add(char *const *paths, int count, Problem *out) {
    char tried[PATH_MAX];
    Text output = {0};
    int code = 0;
    snprintf(tried, sizeof tried, "%s", modules_tried());
    const ModuleSettings *settings = modules_settings();
    const char *const argv[] = {settings->python,
                                places_harness("cmake/kernelbench.py"),
                                settings->folder,
                                tried,
                                places_python(),
                                paths[0],
                                count > 1 ? paths[1] : NULL,
                                NULL};
    Status status = process_capture(argv, &(ProcessLimits){.own_errors = true}, &output, &code);
    if (status == STATUS_OK && code != 0)
        status = status_fail(code == EXIT_MACHINE ? STATUS_UNSUPPORTED : STATUS_CHECK, "%s",
                             output.text ? output.text : "cmake/kernelbench.py failed");
    if (status == STATUS_OK) status = take(output.text, out);
    text_free(&output);
    return status;
}
