#include "cli/words.h"

#include <stdlib.h>

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
