#include "base/mode.h"

#include <stdio.h>
#include <string.h>

static const char *const NAMES[MODE_COUNT] = {"cold", "hot", "graph", "enqueue", "complete", "first"};

const char *mode_name(Mode mode) {
    return mode < MODE_COUNT ? NAMES[mode] : "unknown";
}

bool mode_parse(const char *word, Mode *out) {
    for (int i = 0; i < MODE_COUNT; i++)
        if (strcmp(NAMES[i], word) == 0) {
            *out = (Mode)i;
            return true;
        }
    return false;
}

bool mode_of_stream(Mode mode) {
    return mode == MODE_GRAPH || mode == MODE_ENQUEUE || mode == MODE_COMPLETE;
}

const char *mode_names(void) {
    static char all[80];
    for (int i = 0, used = 0; i < MODE_COUNT; i++)
        used += snprintf(all + used, sizeof all - (size_t)used, "%s%s", i ? ", " : "", NAMES[i]);
    return all;
}
