/* text.h - small help with words: numbers people write, suggestions, globs, a growing string. */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* "100000000", "1e8", "2^22", "-3": an integer below 2^53 in magnitude. False if the whole text is not one. */
bool text_integer(const char *text, long long *out);
/* The whole text as a double ("0.99", "inf", "1e-3"); false otherwise. */
bool text_real(const char *text, double *out);
/* Shell-style match of * and ? over the whole text. */
bool text_glob(const char *pattern, const char *text);
/* The candidate nearest to `word` by edit distance, or NULL if none is near enough to be what was meant. */
const char *text_nearest(const char *word, const char *const *candidates, int count);

/* A string that grows; text is NUL-terminated and never NULL after the first append. Zero-initialise. */
typedef struct Text {
    char *text;
    size_t length, room;
} Text;

/* How a word that is none of the known ones is refused: STATUS_INVALID with "<format>; did you mean '<nearest>'? (<label>: a, b)".
 * nearest: as text_nearest gives it, may be NULL. */
Status text_fail_listing(const char *nearest, const char *label, const char *const *names, int count, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

Status text_append(Text *self, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_free(Text *self);
enum {
    TEXT_SOURCE_MAX = 16 << 20, /* bytes of a file that a person writes: a scenario, a function */
    TEXT_PIPE_MAX = 256 << 20   /* bytes read from a pipe; analysis/inputs.py has both */
};
/* A whole file as text; errors name the path. Free *out with free(). STATUS_INVALID: it does not exist, or is a device that gives
 * more than TEXT_SOURCE_MAX, or a pipe that gives more than TEXT_PIPE_MAX. */
Status text_read_file(const char *path, char **out, size_t *length);
/* Also STATUS_INVALID for a file of more than `most` bytes. */
Status text_read_limited(const char *path, size_t most, char **out, size_t *length);
