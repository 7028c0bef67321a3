/* words.h - the command line of another program, word by word. */
#ifndef RUNGS_CLI_WORDS_H
#define RUNGS_CLI_WORDS_H

#include "base/status.h"

/* NULL-terminated after the first word; zero-initialise. The words are borrowed. */
typedef struct Words {
    const char **words;
    int count, room;
} Words;

Status words_add(Words *self, const char *word);
/* "--name" and value, or nothing where value is NULL. */
Status words_option(Words *self, const char *name, const char *value);
void words_free(Words *self);

#endif
