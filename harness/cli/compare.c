#include "cli/compare.h"

#include "base/mode.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/python.h"
#include "cli/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void compare_words(Words *words, const char *base, const char *new, const CompareOptions *o) {
    const char *const options[][2] = {{"--min-effect", o->min_effect}, {"--must-detect", o->must_detect},
                                      {"--noise", o->noise},           {"--allow-missing", o->allow_missing},
                                      {"--modes", o->modes},           {"--json", o->json},
                                      {"--markdown", o->markdown},     {"--junit", o->junit}};
    words_add(words, base);
    words_add(words, new);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) words_option(words, options[i][0], options[i][1]);
    if (o->strict) words_add(words, "--strict");
    if (terminal_colour(STDOUT_FILENO)) words_add(words, "--colour");
}

/* "cold,hot": each is a mode. */
static bool are_modes(const char *list) {
    char word[16];
    Mode mode;
    for (;; list++) {
        const size_t length = strcspn(list, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, list);
        if (!mode_parse(word, &mode)) return false;
        list += length;
        if (!*list) return true;
    }
}

Status compare_check(const char *const *inputs, const CompareOptions *o) {
    return handed_check((const OutputName[]){{"--json", o->json}, {"--markdown", o->markdown}, {"--junit", o->junit}, {0}}, inputs,
                        false);
}

int compare_modes(const char *verb, const CompareOptions *o) {
    if (!o->modes || are_modes(o->modes)) return EXIT_GOOD;
    return cli_usage(verb, "--modes '%s': modes are %s", o->modes, mode_names());
}

static int compare_files(const char *base, const char *new, const CompareOptions *o) {
    Words words = {0};
    const char *const inputs[] = {base, new, o->noise, NULL};
    const Status status = compare_check(inputs, o);
    if (status != STATUS_OK) return cli_fail(status);
    compare_words(&words, base, new, o);
    return python_judge("rungs compare: ", "analysis.compare", &words, inputs);
}

int command_compare(int argc, char **argv) {
    CompareOptions o = {0};
    const CliOption OPTIONS[] = {COMPARE_OPTIONS(o), {0}};
    char **words;
    int count = 0;
    int code = cli_parse("compare", "BASE.jsonl NEW.jsonl [options]", OPTIONS, argc, argv, &words, &count);
    if (code == 0 && count != 2) code = cli_usage("compare", "two files of rows are expected: BASE and NEW");
    if (code == 0) code = compare_modes("compare", &o);
    if (code == 0) code = compare_files(words[0], words[1], &o);
    return code;
}
