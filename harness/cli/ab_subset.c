#include "cli/ab_subset.h"

#include "base/text.h"
#include "cli/words.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_TEXT = 1200 };
static const char ENDING[] = ".yaml", SUITES[] = "suites:";

typedef struct AbSubset {
    AbProcess *self;
    const AbProcess *other;
    const char *folder;
    char **words; /* what is left, NULL-terminated */
    int count, parts;
} AbSubset;

static Status probe(const AbProcess *side, char *word, const char *folder) {
    char out[PATH_TEXT];
    snprintf(out, sizeof out, "%s/probe-%d.jsonl", folder, (int)getpid());
    const Status status = ab_process_probe(side, word, out);
    unlink(out);
    return status;
}

static Status keep(AbSubset *n, const char *word) {
    char **grown = realloc(n->words, ((size_t)n->count + 2) * sizeof *grown);
    if (!grown) return status_fail(STATUS_MEMORY, "no memory for a list of scenarios");
    n->words = grown;
    grown[n->count] = strdup(word);
    if (!grown[n->count]) return status_fail(STATUS_MEMORY, "no memory for a list of scenarios");
    grown[++n->count] = NULL;
    return STATUS_OK;
}

/* The word has been refused: it goes, unless nobody knows it. */
static Status drop(const AbSubset *n, char *word) {
    char why[600];
    snprintf(why, sizeof why, "%s", status_message());
    const Status status = probe(n->other, word, n->folder);
    if (status == STATUS_INVALID) return status_prefix(status, "neither build runs %s: ", word);
    if (status != STATUS_OK) return status;
    fprintf(stderr, "rungs ab: %s does not support this and skips it; only %s runs it: %s\n    %s\n", n->self->what, n->other->what,
            word, why);
    return STATUS_OK;
}

/* Beginning of the next line, or the end. */
static const char *line_after(const char *text) {
    const char *end = strchr(text, '\n');
    return end ? end + 1 : text + strlen(text);
}

/* Columns before the dash of an item; -1 for any other line. */
static int dash_column(const char *line) {
    const int blanks = (int)strspn(line, " ");
    return line[blanks] == '-' && line[blanks + 1] == ' ' ? blanks : -1;
}

/* The lines of suite number `wanted`, [*begin, *end), of those below `list`. False if there are fewer. */
static bool find_suite(const char *list, int wanted, const char **begin, const char **end) {
    const int column = dash_column(list);
    int number = -1;
    *begin = NULL;
    for (const char *line = list; *line; line = line_after(line)) {
        const bool over = isalpha((unsigned char)*line) != 0; /* the scenario's next key */
        if (over || (column >= 0 && dash_column(line) == column)) {
            if (*begin) return *end = line, true;
            if (over) return false;
            if (++number == wanted) *begin = line;
        }
    }
    return *end = list + strlen(list), *begin != NULL;
}

/* One suite alone, on the lines where it was, so that messages name them. */
static Status write_part(const char *path, const char *text, const char *list, const char *begin, const char *end) {
    FILE *file = fopen(path, "w");
    if (!file) return status_fail(STATUS_IO, "%s cannot be written", path);
    fwrite(text, 1, (size_t)(list - text), file);
    for (const char *at = list; at < begin; at = line_after(at)) fputc('\n', file);
    fwrite(begin, 1, (size_t)(end - begin), file);
    const bool good = !ferror(file);
    return fclose(file) == 0 && good ? STATUS_OK : status_fail(STATUS_IO, "%s cannot be written", path);
}

static Status ab_subset_suites(AbSubset *n, const char *word, const char *text, const char *list) {
    const char *begin, *end, *slash = strrchr(word, '/');
    const char *name = slash ? slash + 1 : word;
    for (int i = 0; find_suite(list, i, &begin, &end); i++) {
        char path[PATH_TEXT];
        if (snprintf(path, sizeof path, "%s/%s-%d-%.*s-suite%d%s", n->folder, n->self->what, n->parts,
                     (int)(strlen(name) - strlen(ENDING)), name, i + 1, ENDING) >= (int)sizeof path)
            return status_fail(STATUS_INVALID, "%s: too long a path", n->folder);
        TRY(write_part(path, text, list, begin, end));
        const Status status = probe(n->self, path, n->folder);
        if (status == STATUS_OK)
            TRY(keep(n, path));
        else
            TRY(status == STATUS_INVALID ? drop(n, path) : status);
    }
    n->parts++;
    return STATUS_OK;
}

static Status ab_subset_word(AbSubset *n, char *word) {
    const Status status = probe(n->self, word, n->folder);
    if (status == STATUS_OK) return keep(n, word);
    if (status != STATUS_INVALID) return status;
    const size_t length = strlen(word);
    const bool file = length > strlen(ENDING) && strcmp(word + length - strlen(ENDING), ENDING) == 0;
    char *text = NULL;
    size_t bytes = 0;
    if (!file || text_read_file(word, &text, &bytes) != STATUS_OK) return drop(n, word);
    const char *list = text;
    while (*list && strncmp(list, SUITES, strlen(SUITES)) != 0) list = line_after(list);
    list = line_after(list);
    const char *begin, *end;
    const Status done = find_suite(list, 1, &begin, &end) ? ab_subset_suites(n, word, text, list) : drop(n, word);
    free(text);
    return done;
}

Status ab_subset_words(AbProcess *self, const AbProcess *other, const char *folder) {
    AbSubset n = {.self = self, .other = other, .folder = folder};
    Status status = STATUS_OK;
    for (int i = 0; self->words[i] && status == STATUS_OK; i++) status = ab_subset_word(&n, self->words[i]);
    if (status == STATUS_OK && n.count == 0)
        status = status_fail(STATUS_INVALID, "%s: %s supports none of the requested cases", self->what, self->binary);
    if (status == STATUS_OK)
        self->words = n.words;
    else
        ab_process_words_free(n.words);
    return status;
}
