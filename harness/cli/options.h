/* options.h - options as a table, and words of command lines. argp was tried: subcommands with options of their own and suggestions
 * took more code around it than this. */
#pragma once

#include "base/status.h"
#include "base/text.h"

#include <stdbool.h>

typedef enum CliKind {
    CLI_FLAG,     /* bool */
    CLI_TEXT,     /* const char * */
    CLI_FILE,     /* the same: an output file (cli/files.h) */
    CLI_DURATION, /* double: seconds */
    CLI_BYTES,    /* double */
    CLI_COUNT,    /* int */
    CLI_CHOICE,   /* int: which of the words of `argument` ("strict|declared") */
    CLI_PAIRS,    /* Pairs; repeatable */
    CLI_LIST      /* Words; repeatable */
} CliKind;

typedef struct CliOption {
    const char *name;     /* without dashes; NULL ends the table */
    const char *argument; /* what its value is called in the help; NULL for flags */
    CliKind kind;
    void *target;
    const char *help;
} CliOption;

enum { CLI_HELPED = -1 };

/* Sorts argv into options and words. words: NULL-terminated, with room for one more, valid until the next call. Returns 0, an exit
 * code after printing why, or CLI_HELPED, which the caller of a verb takes for 0. */
int cli_parse(const char *command, const char *synopsis, const CliOption *options, int argc, char **argv, char ***words,
              int *word_count);

/* NULL-terminated after the first word; zero-initialise. Owns its words. status: of the first word that could not be added, for
 * those who run the command. */
typedef struct Words {
    char **words;
    int count, room;
    Status status;
} Words;

void words_add(Words *self, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Of the table: "--name=value" for each value that is not NULL, "--name" for each flag that is set. Not for pairs, lists and
 * choices. */
void words_options(Words *self, const CliOption *options);
void words_free(Words *self);

enum { PAIRS_MAX = 24, PAIR_NAME_MAX = 64 };

/* Options "name=value" in the order given. Zero-initialise. Values are borrowed. */
typedef struct Pairs {
    int count;
    char names[PAIRS_MAX][PAIR_NAME_MAX];
    const char *values[PAIRS_MAX];
} Pairs;

/* name: of `length` characters. False: too long, or there is no room. */
bool pairs_add(Pairs *self, const char *name, size_t length, const char *value);

/* Appends a word, in single quotes where the shell would take it apart or expand it. */
Status quote_word(Text *self, const char *word);
