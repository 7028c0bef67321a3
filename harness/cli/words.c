#include "cli/words.h"

#include <stdlib.h>

Status words_add(Words *self, const char *word) {
    if (self->count + 1 >= self->room) { /* one more for the NULL */
        const int room = 2 * self->room + 16;
        const char **grown = realloc(self->words, (size_t)room * sizeof *grown);
        if (!grown) return status_fail(STATUS_MEMORY, "no memory for a command line of %d words", room);
        self->words = grown, self->room = room;
    }
    self->words[self->count++] = word;
    self->words[self->count] = NULL;
    return STATUS_OK;
}

Status words_option(Words *self, const char *name, const char *value) {
    if (!value) return STATUS_OK;
    TRY(words_add(self, name));
    return words_add(self, value);
}

void words_free(Words *self) {
    free(self->words);
    *self = (Words){0};
}
