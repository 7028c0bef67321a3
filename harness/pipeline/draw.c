#include "pipeline/draw.h"

#include "record/identity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

uint64_t draw_anew(void) {
    uint64_t key = 0;
    while (getrandom(&key, sizeof key, 0) != sizeof key || key >> 1 == 0) continue;
    return key >> 1;
}

static uint64_t number(uint64_t shared, uint64_t own, const uint64_t words[3]) {
    unsigned char key[IDENTITY_KEY_BYTES];
    memcpy(key, &shared, sizeof shared);
    memcpy(key + sizeof shared, &own, sizeof own);
    return identity_hash(key, words, 3 * sizeof *words) >> 1 | 1;
}

uint64_t draw_set(uint64_t shared, int set) {
    return number(shared, 0, (uint64_t[]){(uint64_t)set, 0, 0});
}

uint64_t draw_of(const Draw *self, Mode mode, DrawWhat what, size_t index) {
    return number(self->shared, self->own, (uint64_t[]){(uint64_t)mode, (uint64_t)what, index});
}

char *draw_format(const Draw *self, char text[DRAW_TEXT_MAX]) {
    const size_t numbers[] = {self->rounds[0], self->rounds[1], self->samples};
    int used = snprintf(text, DRAW_TEXT_MAX, "%016" PRIx64 "%016" PRIx64, self->shared, self->own);
    for (size_t i = 0; i <= DRAW_ROUNDS_MAX; i++)
        if (numbers[i] > 0) used += snprintf(text + used, DRAW_TEXT_MAX - (size_t)used, "-%zu", numbers[i]);
    if (self->in_rounds) snprintf(text + used, DRAW_TEXT_MAX - (size_t)used, "r");
    return text;
}

bool draw_parse(const char *text, Draw *out) {
    enum { DIGITS = 32, SAMPLES_MAX = 100000 };
    int used = 0;
    *out = (Draw){0};
    if (strspn(text, "0123456789abcdef") != DIGITS ||
        sscanf(text, "%16" SCNx64 "%16" SCNx64 "%n", &out->shared, &out->own, &used) != 2)
        return false;
    const char *rest = text + used;
    for (int i = 0; i <= DRAW_ROUNDS_MAX && *rest == '-'; i++, rest += used) {
        const size_t before = out->samples;
        if (sscanf(rest, "-%zu%n", &out->samples, &used) != 1 || out->samples <= before) return false;
        if (i > 0) out->rounds[i - 1] = before;
    }
    if (*rest == 'r' && out->samples > 0) out->in_rounds = *rest++ == 'r';
    return out->shared > 0 && out->samples <= SAMPLES_MAX && *rest == '\0';
}
