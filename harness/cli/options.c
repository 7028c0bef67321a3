#include "cli/options.h"

#include "base/foreign.h"
#include "base/text.h"
#include "cli/commands.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cli_fail(Status status) {
    fprintf(stderr, "rungs: %s\n", status_message());
    switch (status) {
    case STATUS_OK:
        return EXIT_GOOD;
    case STATUS_INVALID:
        return EXIT_USAGE;
    case STATUS_CHECK:
        return EXIT_CHECK;
    default:
        return EXIT_MACHINE;
    }
}

int cli_usage(const char *command, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char message[2000];
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    fprintf(stderr, "rungs %s: %s (see rungs %s --help)\n", command, foreign_shown(message), command);
    return EXIT_USAGE;
}

/* A number, and a unit or none: "10m", "1.5h", "512M". factors: of the letters in `units`. */
static bool parse_scaled(const char *text, const char *units, const double *factors, double *value) {
    char number[32];
    const size_t length = strlen(text);
    double factor = 1;
    if (length == 0 || length >= sizeof number) return false;
    memcpy(number, text, length + 1);
    const char *unit = strchr(units, text[length - 1]);
    if (unit) factor = factors[unit - units], number[length - 1] = '\0';
    if (!text_real(number, value) || !(*value >= 0) || *value > 1e19) return false;
    *value *= factor;
    return true;
}

static bool parse_duration(const char *text, double *seconds) {
    return parse_scaled(text, "smh", (const double[]){1, 60, 3600}, seconds) && *seconds <= 1e9;
}

static bool parse_bytes(const char *text, double *bytes) {
    return parse_scaled(text, "KMGT", (const double[]){0x1p10, 0x1p20, 0x1p30, 0x1p40}, bytes) && *bytes > 0 &&
           *bytes < 0x1p63; /* it becomes a size_t */
}

bool pairs_add(Pairs *self, const char *name, size_t length, const char *value) {
    if (length >= PAIR_NAME_MAX || self->count == PAIRS_MAX) return false;
    snprintf(self->names[self->count], PAIR_NAME_MAX, "%.*s", (int)length, name);
    self->values[self->count++] = value;
    return true;
}

/* "name=value"; false if it is none, or there is no room. */
static bool add_pair(Pairs *pairs, const char *text) {
    const char *equals = strchr(text, '=');
    return equals && equals != text && equals[1] && pairs_add(pairs, text, (size_t)(equals - text), equals + 1);
}

/* Which of the words "a|b|c" the text is; false: none. */
static bool choose(const char *words, const char *text, int *index) {
    for (*index = 0;; (*index)++) {
        const size_t length = strcspn(words, "|");
        if (strlen(text) == length && strncmp(words, text, length) == 0) return true;
        if (words[length] == '\0') return false;
        words += length + 1;
    }
}

static bool set_option(const CliOption *option, const char *text) {
    long long integer;
    switch (option->kind) {
    case CLI_FLAG:
        *(bool *)option->target = true;
        return true;
    case CLI_TEXT:
    case CLI_FILE:
        *(const char **)option->target = text;
        return true;
    case CLI_DURATION:
        return parse_duration(text, option->target);
    case CLI_BYTES:
        return parse_bytes(text, option->target);
    case CLI_COUNT:
        if (!text_integer(text, &integer) || integer < 0 || integer > 1000000) return false;
        *(int *)option->target = (int)integer;
        return true;
    case CLI_CHOICE:
        return choose(option->argument, text, option->target);
    case CLI_PAIRS:
        return add_pair(option->target, text);
    case CLI_LIST:
        words_add(option->target, "%s", text);
        return true;
    }
    return false;
}

/* NULL: as its argument is called. */
static const char *const EXPECTED[] = {[CLI_DURATION] = "a time such as 90s, 10m or 1h",
                                       [CLI_BYTES] = "a size such as 512M or 8G",
                                       [CLI_COUNT] = "a number from 0 to 1000000",
                                       [CLI_LIST] = NULL};

static void help(const char *command, const char *synopsis, const CliOption *options) {
    printf("usage: rungs %s %s\n", command, synopsis);
    for (const CliOption *o = options; o->name; o++) {
        char left[64];
        snprintf(left, sizeof left, "--%s%s%s", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
        printf("  %-26s %s\n", left, o->help);
    }
}

static int unknown(const char *command, const char *name, const CliOption *options) {
    const char *names[40];
    int count = 0;
    for (const CliOption *o = options; o->name && count < 40; o++) names[count++] = o->name;
    const char *nearest = text_nearest(name, names, count);
    return cli_usage(command, "unknown option '--%s'%s%s%s", name, nearest ? "; did you mean '--" : "", nearest ? nearest : "",
                     nearest ? "'?" : "");
}

int cli_parse(const char *command, const char *synopsis, const CliOption *options, int argc, char **argv, char ***words,
              int *word_count) {
    static char **all;
    free(all);
    *words = all = calloc((size_t)argc + 1, sizeof *all);
    *word_count = 0;
    if (!all) return cli_fail(status_fail(STATUS_MEMORY, "no memory for the words of the command line"));
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            help(command, synopsis, options);
            return CLI_HELPED;
        }
        if (strncmp(argv[i], "--", 2) != 0) {
            all[(*word_count)++] = argv[i];
            continue;
        }
        char *name = argv[i] + 2, *value = strchr(name, '=');
        char bare[64];
        snprintf(bare, sizeof bare, "%.*s", (int)(value ? value - name : (ptrdiff_t)strlen(name)), name);
        const CliOption *option = options;
        while (option->name && strcmp(option->name, bare) != 0) option++;
        if (!option->name) return unknown(command, bare, options);
        if (option->kind == CLI_FLAG && value) return cli_usage(command, "--%s takes no value", bare);
        if (option->kind != CLI_FLAG) {
            const bool next = i + 1 < argc && strncmp(argv[i + 1], "--", 2) != 0; /* --out=--help names such a file */
            value = value ? value + 1 : next ? argv[++i] : NULL;
            if (!value) return cli_usage(command, "--%s needs a value: %s", bare, option->argument);
        }
        if (!set_option(option, value))
            return cli_usage(command, "--%s '%s': %s is expected", bare, value,
                             EXPECTED[option->kind] ? EXPECTED[option->kind] : option->argument);
    }
    return EXIT_GOOD;
}

/* ---- Words. */

void words_add(Words *self, const char *format, ...) {
    char *word = NULL;
    va_list arguments;
    if (self->status != STATUS_OK) return;
    va_start(arguments, format);
    bool good = vasprintf(&word, format, arguments) >= 0;
    va_end(arguments);
    if (good && self->count + 1 >= self->room) { /* one more for the NULL */
        const int room = 2 * self->room + 16;
        char **grown = realloc(self->words, (size_t)room * sizeof *grown);
        good = grown != NULL;
        if (good) self->words = grown, self->room = room;
        if (!good) free(word);
    }
    if (!good) self->status = status_fail(STATUS_MEMORY, "no memory for a command line of %d words", self->count + 1);
    if (!good) return;
    self->words[self->count++] = word;
    self->words[self->count] = NULL;
}

void words_options(Words *self, const CliOption *options) {
    for (const CliOption *o = options; o->name; o++) {
        if ((o->kind == CLI_TEXT || o->kind == CLI_FILE) && *(const char **)o->target)
            words_add(self, "--%s=%s", o->name, *(const char **)o->target);
        if (o->kind == CLI_FLAG && *(bool *)o->target) words_add(self, "--%s", o->name);
        if (o->kind == CLI_COUNT) words_add(self, "--%s=%d", o->name, *(int *)o->target);
        if (o->kind == CLI_DURATION) words_add(self, "--%s=%.17g", o->name, *(double *)o->target);
    }
}

void words_free(Words *self) {
    while (self->count > 0) free(self->words[--self->count]);
    free(self->words);
    *self = (Words){0};
}

static bool is_plain(const char *word) {
    return *word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+-@%^") == strlen(word);
}

Status quote_word(Text *self, const char *word) {
    if (is_plain(word)) return text_append(self, "%s", word);
    TRY(text_append(self, "'"));
    for (const char *at = word; *at; at++) TRY(text_append(self, *at == '\'' ? "'\\''" : "%c", *at));
    return text_append(self, "'");
}
