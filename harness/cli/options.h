/* options.h - options as a table. argp was tried: subcommands with options of their own and suggestions took more code around it
 * than this. */
#ifndef RUNGS_CLI_OPTIONS_H
#define RUNGS_CLI_OPTIONS_H

#include <stdbool.h>

typedef enum CliKind { CLI_FLAG, CLI_TEXT, CLI_DURATION, CLI_BYTES, CLI_COUNT, CLI_CALLBACK } CliKind;

typedef struct CliOption {
    const char *name;     /* without dashes; NULL ends the table */
    const char *argument; /* what its value is called in the help; NULL for flags */
    CliKind kind;
    void *target; /* bool, const char *, double (seconds), double (bytes), int */
    const char *help;
    bool (*callback)(void *target, const char *text); /* CLI_CALLBACK; may come several times */
} CliOption;

enum { CLI_HELPED = -1 };

/* Sorts argv into options and words. words: NULL-terminated, with room for one more, valid until the next call. Returns 0, an exit
 * code after printing why, or CLI_HELPED, which the caller of a verb takes for 0. */
int cli_parse(const char *command, const char *synopsis, const CliOption *options, int argc, char **argv, char ***words,
              int *word_count);

#endif
