/* claimfiles.h - the claims of a plan over files of rows, of any number of runs and machines. */
#ifndef RUNGS_PIPELINE_CLAIMFILES_H
#define RUNGS_PIPELINE_CLAIMFILES_H

#include "plan/scenario.h"

#include <jansson.h>

/* Claim lines as docs/RESULTS.md has them: one for each machine that can tell, else one that says why none can, if the claim's
 * scenario was run at all. Runs count in the order of their dates. New reference. */
Status claims_of_files(const Plan *plan, const char *const *paths, json_t **out);

#endif
