/* claims.h - the claims of all scenarios, judged from files of rows. */
#ifndef RUNGS_CLI_CLAIMS_H
#define RUNGS_CLI_CLAIMS_H

#include "base/status.h"

#include <jansson.h>
#include <stdbool.h>

/* A build without CUDA does not know the tunables of the variants that most claims are about. */
bool claims_can_be_judged(void);
/* Files end with NULL. New reference; see claims_of_files. */
Status claims_judge(const char *const *files, json_t **out);

#endif
