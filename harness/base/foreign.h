/* foreign.h - escapes text that others wrote (rows, scenarios, headers of files, output of variants) for the terminal and the log
 * of a workflow. tests/golden/foreign.json has the cases; analysis/foreign.py does the same in Python, and for other kinds of
 * output.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Writes the text with escapes (\x1b, \u202e) for control characters, for characters that turn the direction of text, and for the
 * first letter of a workflow's command: `::error::` at the beginning of a line, `##[` anywhere. lines: line breaks and tabs stay;
 * else they become blanks. The result is cut to `size` bytes, its final zero included. `out` must not be `text`. */
void foreign_text(const char *text, bool lines, char *out, size_t size);
/* The same on one line of less than 2000 bytes, in one of 16 buffers in turn: enough for the arguments of one printf. */
const char *foreign_shown(const char *text);
/* Replaces each byte that is not part of UTF-8 by '?': JSON is UTF-8. */
void foreign_make_utf8(char *text);
