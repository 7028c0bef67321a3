#include "cli/pairs.h"

#include <stdio.h>
#include <string.h>

bool pairs_add(void *target, const char *text) {
    Pairs *pairs = target;
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || equals[1] == '\0' || equals - text >= PAIR_NAME_MAX || pairs->count == PAIRS_MAX) return false;
    snprintf(pairs->names[pairs->count], sizeof pairs->names[0], "%.*s", (int)(equals - text), text);
    pairs->values[pairs->count++] = equals + 1;
    return true;
}
