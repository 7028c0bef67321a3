/* ab_subset.h - two builds and one list of scenarios: what one build does not know (an op, a parameter or a variant that only
 * the other has) is left out of its list, with a message. The other build runs it, so its rows are `new` or `missing` and the gate
 * sees them. */
#ifndef RUNGS_CLI_AB_SUBSET_H
#define RUNGS_CLI_AB_SUBSET_H

#include "cli/ab_process.h"

/* Words that `self` refuses leave its list: whole cases, of a scenario the suites that it does not know (the others go on as files
 * of `folder`). STATUS_INVALID if `other` refuses one of them too, or nothing is left. self->words is then a list of its own: free
 * the old one or the new one with ab_process_words_free, whichever is no longer used. */
Status ab_subset_words(AbProcess *self, const AbProcess *other, const char *folder);

#endif
