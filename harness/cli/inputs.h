/* inputs.h - what commands read: the campaign's rows, and inputs that no output may replace. */
#ifndef RUNGS_CLI_INPUTS_H
#define RUNGS_CLI_INPUTS_H

#include "base/status.h"

#include <glob.h>

/* STATUS_INVALID if `out`, given with `option`, is one of the files that are read (NULL-terminated), also by another name. */
Status inputs_spare(const char *option, const char *out, const char *const *inputs);
/* The same for one input that may end in ":COLUMN" (people.csv:name). */
Status inputs_spare_column(const char *option, const char *out, const char *input);
/* The rows of the checkout's campaign, results/[0-9]*.jsonl: claims.jsonl beside them holds no rows. EXIT_GOOD, or EXIT_USAGE after
 * printing that there are none. Free with globfree(). */
int inputs_campaign(const char *verb, glob_t *files);

#endif
