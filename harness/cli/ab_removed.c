#include "cli/ab_removed.h"

#include "base/jsontext.h"
#include "base/process.h"
#include "cli/commands.h"
#include "cli/words.h"
#include "record/rowfile.h"

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

static bool is_same(const json_t *row, const json_t *other) {
    return strcmp(text_of(other, "case"), text_of(row, "case")) == 0 && strcmp(text_of(other, "spec"), text_of(row, "spec")) == 0;
}

/* NULL: there is none. */
static json_t *find(const json_t *rows, const json_t *row) {
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (is_same(json_array_get(rows, i), row)) return json_array_get(rows, i);
    return NULL;
}

/* Is this mode timed in any row of this case and variant? A case may stand in several scenarios. */
static bool times(const json_t *rows, const json_t *row, const char *mode) {
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *other = json_array_get(rows, i);
        for (size_t m = 0; is_same(other, row) && m < json_array_size(json_object_get(other, "modes")); m++)
            if (strcmp(json_string_value(json_array_get(json_object_get(other, "modes"), m)), mode) == 0) return true;
    }
    return false;
}

/* Rows that `before` has, that this machine can run, and that `now` lacks or does not time in each of their modes. `lost`: of each,
 * the modes; none where the row is gone. */
static json_t *removed(const json_t *before, const json_t *now) {
    json_t *rows = json_array(), *row, *mode;
    size_t i, m;
    json_array_foreach((json_t *)(uintptr_t)before, i, row) {
        const bool runs = !*text_of(row, "skip") && strcmp(text_of(row, "backend"), "emulator") != 0, gone = !find(now, row);
        json_t *lost = json_array(), *known = find(rows, row);
        json_array_foreach(json_object_get(row, "modes"), m, mode) {
            if (!gone && !times(now, row, json_string_value(mode))) json_array_append(lost, mode);
        }
        if (runs && known && !gone)
            json_array_extend(json_object_get(known, "lost"), lost);
        else if (runs && !known && (gone || json_array_size(lost) > 0)) {
            json_object_set(row, "lost", lost);
            json_array_append(rows, row);
        }
        json_decref(lost);
    }
    return rows;
}

/* Keeps a row's times in the modes that are lost: those in other modes were not measured in turn with NEW's. */
static void keep_lost(json_t *row, const json_t *lost) {
    if (!json_is_object(json_object_get(row, "timing"))) return;
    json_t *timing = json_object(), *mode, *times_of;
    size_t m;
    json_array_foreach((json_t *)(uintptr_t)lost, m, mode) {
        times_of = json_object_get(json_object_get(row, "timing"), json_string_value(mode));
        if (times_of) json_object_set(timing, json_string_value(mode), times_of);
    }
    json_object_set_new(row, "timing", timing);
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
        const json_t *row = find(wanted, line), *lost = json_object_get(row, "lost");
        if (json_array_size(lost) > 0) keep_lost(line, lost);
        if (status == STATUS_OK && (row || strcmp(text_of(line, "kind"), "environment") == 0)) status = rowfile_append(file, line);
    }
    rowfile_close(file);
    json_decref(lines);
    return status;
}

/* One process of BASE: its rows verified, and timed where a mode is lost. */
static Status run(const AbProcess *base, char *const *words, const char *path, const json_t *wanted, bool timed) {
    Words argv = {0};
    Text output = {0};
    int code = 0;
    add_words(&argv, base, words);
    words_option(&argv, "--timeout", base->options->timeout);
    words_option(&argv, "--memory-limit", base->options->memory_limit);
    words_option(&argv, "--out", path);
    words_add(&argv, timed ? "--quick" : "--verify-only");
    if (timed && base->knows_no_ceilings) words_add(&argv, "--no-ceilings");
    Status status = argv.status == STATUS_OK ? process_capture(argv.words, NULL, &output, &code) : argv.status;
    if (status == STATUS_OK && code != EXIT_GOOD && code != EXIT_CHECK)
        status = status_fail(STATUS_IO, "%s: rows that are no longer in the scenarios cannot be run: exit code %d: %.1000s",
                             base->what, code, output.text ? output.text : "");
    if (status == STATUS_OK) status = append_wanted(path, base->out, wanted);
    words_free(&argv);
    text_free(&output);
    return status;
}

/* Says which, the first of each kind by name. -> does one lack a mode? */
static bool report(const json_t *rows) {
    int counts[2] = {0};
    const json_t *first[2] = {NULL};
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const bool untimed = json_array_size(json_object_get(row, "lost")) > 0;
        if (counts[untimed]++ == 0) first[untimed] = row;
    }
    if (counts[0] > 0)
        fprintf(stderr,
                "rungs ab: %d rows of base are no longer in the scenarios (%s | %s%s); base verifies them, new lacks them\n",
                counts[0], text_of(first[0], "spec"), text_of(first[0], "case"), counts[0] > 1 ? ", ..." : "");
    if (counts[1] > 0)
        fprintf(stderr,
                "rungs ab: %d rows of base are no longer timed in all of their modes (%s | %s: %s%s); base times them once\n",
                counts[1], text_of(first[1], "spec"), text_of(first[1], "case"),
                json_string_value(json_array_get(json_object_get(first[1], "lost"), 0)), counts[1] > 1 ? ", ..." : "");
    return counts[1] > 0;
}

static Status verify_removed(const AbProcess *base, char *const *words, const char *folder) {
    char path[PATH_TEXT];
    json_t *before = planned(base, words), *now = planned(base, base->words);
    json_t *rows = removed(before, now);
    Status status = STATUS_OK;
    if (!before || !now)
        fprintf(stderr, "rungs ab: warning: base does not list its rows; one that is taken out of a scenario is not noticed\n");
    else if (json_array_size(rows) > 0 && snprintf(path, sizeof path, "%s/removed-%d.jsonl", folder, (int)getpid()) < PATH_TEXT) {
        status = run(base, words, path, rows, report(rows));
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
