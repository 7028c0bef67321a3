#include "cli/quote.h"

#include <string.h>

static bool is_plain(const char *word) {
    return *word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+-@%^") == strlen(word);
}

Status quote_word(Text *self, const char *word) {
    if (is_plain(word)) return text_append(self, "%s", word);
    TRY(text_append(self, "'"));
    for (const char *at = word; *at; at++) TRY(text_append(self, *at == '\'' ? "'\\''" : "%c", *at));
    return text_append(self, "'");
}
