/* ab_removed.h - rows that scenarios of BASE have and those of this checkout have no longer: measured by neither build, they would
 * leave `rungs ab` without a word. */
#ifndef RUNGS_CLI_AB_REMOVED_H
#define RUNGS_CLI_AB_REMOVED_H

#include "cli/ab_process.h"

/* Verifies such rows once with BASE, in the file of its rows, so that `compare` finds them missing in NEW. Rows that this checkout
 * times in fewer modes are timed once in the others, for the same reason. base: prepared; tree:
 * the checkout that it was built from; words: as given on the command line; folder: for a file that is removed again. A build that
 * cannot list its rows is told of and no error. */
Status ab_removed_verify(const AbProcess *base, const char *tree, char *const *words, int count, const char *folder);

#endif
