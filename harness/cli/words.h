/* words.h - words of command lines: one that is built, quoted for a shell, given as "name=value". */
#ifndef RUNGS_CLI_WORDS_H
#define RUNGS_CLI_WORDS_H

#include "base/status.h"
#include "base/text.h"

#include <stdbool.h>

/* NULL-terminated after the first word; zero-initialise. The words are borrowed. status: of the first word that could not be added,
 * for those who run the command. */
typedef struct Words {
    const char **words;
    int count, room;
    Status status;
} Words;

void words_add(Words *self, const char *word);
/* "--name" and value, or nothing where value is NULL. */
void words_option(Words *self, const char *name, const char *value);
void words_free(Words *self);

enum { PAIRS_MAX = 24, PAIR_NAME_MAX = 64 };

/* Options "name=value" that may come several times, in the order given. Zero-initialise. Values are borrowed. */
typedef struct Pairs {
    int count;
    char names[PAIRS_MAX][PAIR_NAME_MAX];
    const char *values[PAIRS_MAX];
} Pairs;

/* Takes "name=value"; as a CliOption's callback, target: the Pairs. False if it is none, or there is no room. */
bool pairs_add(void *target, const char *text);

/* Appends a word, in single quotes where the shell would take it apart or expand it. */
Status quote_word(Text *self, const char *word);

#endif
