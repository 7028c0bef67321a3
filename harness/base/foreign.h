/* foreign.h - text that others wrote (rows, scenarios, headers of files, what a variant printed), for the terminal and the log of a
 * workflow. tests/golden/foreign.json has the cases; analysis/foreign.py does the same for Python, and for other kinds of output.
 */
#ifndef RUNGS_BASE_FOREIGN_H
#define RUNGS_BASE_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

/* Writes what cannot steer a terminal or a workflow: control characters and those that turn the direction of text as \x1b and
 * \u202e, a workflow's command (`::error::` where a line begins, `##[` anywhere) with its first letter so. lines: line breaks and
 * tabs stay; else they become blanks. What does not fit into `size` bytes is cut off. `out` may not be `text`. */
void foreign_text(const char *text, bool lines, char *out, size_t size);
/* The same on one line, of at most 2000 bytes, in one of sixteen buffers that take turns: for the arguments of one printf. */
const char *foreign_shown(const char *text);

#endif
