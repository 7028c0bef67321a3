/* quote.h - command lines that a person can copy into a shell. */
#ifndef RUNGS_CLI_QUOTE_H
#define RUNGS_CLI_QUOTE_H

#include "base/text.h"

/* Appends a word, in single quotes where the shell would take it apart or expand it. */
Status quote_word(Text *self, const char *word);

#endif
