/* refs.h - commits of this checkout as programs, for `rungs ab --base`. */
#ifndef RUNGS_CLI_REFS_H
#define RUNGS_CLI_REFS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { REFS_TEXT = 48 };

/* The commit that a name means now. STATUS_INVALID if there is none: all names before the first build, which takes minutes. */
Status refs_resolve(const char *ref, char commit[REFS_TEXT]);

/* The program of a commit, built in a worktree of its own below the build folder, where it is kept for the next time. As long as
 * this process lives, no other removes it to make room. STATUS_CHECK if NEW does not compile, STATUS_IO if BASE does not; the
 * message has the compiler's first error. */
Status refs_build(const char *commit, bool is_new, char *program, size_t size);

/* Says on stderr what may not be meant: changes of the checkout that are in neither build, one commit on both sides. */
void refs_tell(const char *new_ref, const char *base_program, const char *new_program);

#endif
