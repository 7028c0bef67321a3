#include "base/joined.h"

#include <stdio.h>
#include <string.h>

static const JoinedVariant JOINED[] = {
#include "base/joined_variants.inc"
};
enum { JOINED_COUNT = sizeof JOINED / sizeof *JOINED };

const JoinedVariant *joined_form(const char *today, int k) {
    for (int i = 0; i < JOINED_COUNT; i++)
        if (strcmp(JOINED[i].today, today) == 0 && k-- == 0) return &JOINED[i];
    return NULL;
}

const JoinedVariant *joined_find(const char *name) {
    for (int i = 0; i < JOINED_COUNT; i++) {
        const char *id = JOINED[i].before;
        if (strcmp(id, JOINED[i].today) == 0) continue;
        if (strcmp(id, name) == 0 || strcmp(strchr(id, '/') + 1, name) == 0) return &JOINED[i];
    }
    return NULL;
}

const char *joined_spec(const char *spec, char *text, size_t size) {
    const size_t length = strcspn(spec, " ");
    snprintf(text, size, "%s", spec);
    for (int i = 0; i < JOINED_COUNT; i++) {
        const JoinedVariant *joined = &JOINED[i];
        char tunable[64];
        if (strlen(joined->before) != length || strncmp(joined->before, spec, length) != 0) continue;
        snprintf(tunable, sizeof tunable, " %s=", joined->tunable);
        if (!strstr(spec, tunable)) snprintf(text, size, "%s%s%s%s", joined->today, spec + length, tunable, joined->value);
        break;
    }
    return text;
}
