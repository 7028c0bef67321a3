/* mode.h - the modes in which a call is timed, by the names that scenarios and rows have. docs/METHOD.md says how each is taken. */
#pragma once

#include <stdbool.h>

typedef enum Mode { MODE_COLD, MODE_HOT, MODE_GRAPH, MODE_ENQUEUE, MODE_COMPLETE, MODE_FIRST, MODE_COUNT } Mode;

const char *mode_name(Mode mode);
bool mode_parse(const char *word, Mode *out);
/* Only work that a stream holds has this mode; a CPU variant is done when its call returns. */
bool mode_of_stream(Mode mode);
/* "cold, hot, ...": all of them, for messages. */
const char *mode_names(void);
