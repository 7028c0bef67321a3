#include "cli/ab_removed.h"

#include "base/jsontext.h"
#include "base/process.h"
#include "cli/commands.h"
#include "cli/words.h"
#include "record/row.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_TEXT = 1024 };

static void add_words(Words *argv, const AbProcess *base, char *const *words) {
    words_add(argv, base->binary);
    words_add(argv, "run");
    for (int i = 0; words && words[i]; i++) words_add(argv, words[i]);
    words_option(argv, "--variants", base->options->variants);
    words_option(argv, "--device", base->options->device);
    if (base->skip_unknown) words_add(argv, "--skip-unknown");
}

/* What it would run of these scenarios: an array of objects with `case` and `spec`. NULL: it does not say. */
static json_t *planned(const AbProcess *base, char *const *words) {
    static const ProcessLimits LIMITS = {.quiet_errors = true};
    Words argv = {0};
    Text output = {0};
    int code = EXIT_MACHINE;
    add_words(&argv, base, words);
    words_add(&argv, "--dry-run");
    words_add(&argv, "--json");
    const Status status = argv.status == STATUS_OK ? process_capture(argv.words, &LIMITS, &output, &code) : argv.status;
    json_t *rows = status == STATUS_OK && (code == EXIT_GOOD || code == EXIT_NOTHING)
                       ? json_loads(output.text ? output.text : "[]", 0, NULL)
                       : NULL;
    words_free(&argv);
    text_free(&output);
    return json_is_array(rows) ? rows : (json_decref(rows), NULL);
}

static bool holds(const json_t *rows, const json_t *row) {
    size_t i;
    json_t *other;
    json_array_foreach((json_t *)(uintptr_t)rows, i, other) {
        if (strcmp(text_of(other, "case"), text_of(row, "case")) == 0 && strcmp(text_of(other, "spec"), text_of(row, "spec")) == 0)
            return true;
    }
    return false;
}

/* Rows that only `before` has and that this machine can run. */
static json_t *removed(const json_t *before, const json_t *now) {
    json_t *rows = json_array(), *row;
    size_t i;
    json_array_foreach((json_t *)(uintptr_t)before, i, row) {
        const bool runs = !*text_of(row, "skip") && strcmp(text_of(row, "backend"), "emulator") != 0;
        if (runs && !holds(now, row) && !holds(rows, row)) json_array_append(rows, row);
    }
    return rows;
}

/* Of the lines in `path`, the environment and the rows that are among `wanted`. */
static Status append_wanted(const char *path, const char *out, const json_t *wanted) {
    json_t *lines = NULL, *line;
    RowFile *file = NULL;
    size_t i;
    bool cut = false;
    TRY(rowfile_read(path, &lines));
    Status status = rowfile_open(out, &file, &cut);
    json_array_foreach(lines, i, line) {
        const bool environment = strcmp(text_of(line, "kind"), "environment") == 0;
        if (status == STATUS_OK && (environment || holds(wanted, line))) status = rowfile_append(file, line);
    }
    rowfile_close(file);
    json_decref(lines);
    return status;
}

static Status verify(const AbProcess *base, char *const *words, const char *path, const json_t *wanted) {
    Words argv = {0};
    Text output = {0};
    int code = 0;
    add_words(&argv, base, words);
    words_option(&argv, "--timeout", base->options->timeout);
    words_option(&argv, "--memory-limit", base->options->memory_limit);
    words_option(&argv, "--out", path);
    words_add(&argv, "--verify-only");
    Status status = argv.status == STATUS_OK ? process_capture(argv.words, NULL, &output, &code) : argv.status;
    if (status == STATUS_OK && code != EXIT_GOOD && code != EXIT_CHECK)
        status = status_fail(STATUS_IO, "%s: rows that are no longer in the scenarios cannot be verified: exit code %d: %.1000s",
                             base->what, code, output.text ? output.text : "");
    if (status == STATUS_OK) status = append_wanted(path, base->out, wanted);
    words_free(&argv);
    text_free(&output);
    return status;
}

static Status verify_removed(const AbProcess *base, char *const *words, const char *folder) {
    char path[PATH_TEXT];
    json_t *before = planned(base, words), *now = planned(base, base->words);
    json_t *rows = removed(before, now);
    Status status = STATUS_OK;
    if (!before || !now)
        fprintf(stderr, "rungs ab: warning: base does not list its rows; one that is taken out of a scenario is not noticed\n");
    else if (json_array_size(rows) > 0 && snprintf(path, sizeof path, "%s/removed-%d.jsonl", folder, (int)getpid()) < PATH_TEXT) {
        const json_t *first = json_array_get(rows, 0);
        fprintf(stderr,
                "rungs ab: %zu rows of base are no longer in the scenarios (%s | %s%s); base verifies them, new lacks them\n",
                json_array_size(rows), text_of(first, "spec"), text_of(first, "case"), json_array_size(rows) > 1 ? ", ..." : "");
        status = verify(base, words, path, rows);
        unlink(path);
    }
    json_decref(before);
    json_decref(now);
    json_decref(rows);
    return status;
}

Status ab_removed_verify(const AbProcess *base, const char *tree, char *const *words, int count, const char *folder) {
    char **there = NULL;
    TRY(ab_process_words_of(tree, words, count, &there));
    const Status status = there ? verify_removed(base, there, folder) : STATUS_OK;
    ab_process_words_free(there);
    return status;
}
