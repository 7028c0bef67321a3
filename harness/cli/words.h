/* words.h - the command line of another program, word by word. */
#ifndef RUNGS_CLI_WORDS_H
#define RUNGS_CLI_WORDS_H

#include "base/status.h"

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

#endif
