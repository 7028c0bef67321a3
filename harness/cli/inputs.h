/* inputs.h - refuses outputs that would replace an input. */
#ifndef RUNGS_CLI_INPUTS_H
#define RUNGS_CLI_INPUTS_H

#include "base/status.h"

/* STATUS_INVALID if `out`, given with `option`, is one of the files that are read (NULL-terminated), also by another name. */
Status inputs_spare(const char *option, const char *out, const char *const *inputs);
/* The same for one input that may end in ":COLUMN" (people.csv:name). */
Status inputs_spare_column(const char *option, const char *out, const char *input);

#endif
