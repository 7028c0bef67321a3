#include "cli/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void words_add(Words *self, const char *word) {
    if (self->status != STATUS_OK) return;
    if (self->count + 1 >= self->room) { /* one more for the NULL */
        const int room = 2 * self->room + 16;
        const char **grown = realloc(self->words, (size_t)room * sizeof *grown);
        if (!grown) {
            self->status = status_fail(STATUS_MEMORY, "no memory for a command line of %d words", room);
            return;
        }
        self->words = grown, self->room = room;
    }
    self->words[self->count++] = word;
    self->words[self->count] = NULL;
}

void words_option(Words *self, const char *name, const char *value) {
    if (!value) return;
    words_add(self, name);
    words_add(self, value);
}

void words_free(Words *self) {
    free(self->words);
    *self = (Words){0};
}

bool pairs_add(void *target, const char *text) {
    Pairs *pairs = target;
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || equals[1] == '\0' || equals - text >= PAIR_NAME_MAX || pairs->count == PAIRS_MAX) return false;
    snprintf(pairs->names[pairs->count], sizeof pairs->names[0], "%.*s", (int)(equals - text), text);
    pairs->values[pairs->count++] = equals + 1;
    return true;
}

static bool is_plain(const char *word) {
    return *word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+-@%^") == strlen(word);
}

Status quote_word(Text *self, const char *word) {
    if (is_plain(word)) return text_append(self, "%s", word);
    TRY(text_append(self, "'"));
    for (const char *at = word; *at; at++) TRY(text_append(self, *at == '\'' ? "'\\''" : "%c", *at));
    return text_append(self, "'");
}
