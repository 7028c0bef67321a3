/* pairs.h - "name=value" options that may come several times, in the order given. */
#ifndef RUNGS_CLI_PAIRS_H
#define RUNGS_CLI_PAIRS_H

#include <stdbool.h>

enum { PAIRS_MAX = 24, PAIR_NAME_MAX = 64 };

/* Zero-initialise. Values are borrowed. */
typedef struct Pairs {
    int count;
    char names[PAIRS_MAX][PAIR_NAME_MAX];
    const char *values[PAIRS_MAX];
} Pairs;

/* Takes "name=value"; as a CliOption's callback, target: the Pairs. False if it is none, or there is no room. */
bool pairs_add(void *target, const char *text);

#endif
