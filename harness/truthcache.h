/* truthcache.h - truths that took long, kept on disk by case. Best effort: whatever goes wrong, the truth is computed again. */
#ifndef RUNGS_TRUTHCACHE_H
#define RUNGS_TRUTHCACHE_H

#include "op.h"

#include <stdbool.h>

/* Entries are bound to this very build of the program (size and time of the executable), so that a changed reference never meets
 * an old truth; to the case, the op's bound and the outputs' sizes. */
bool truthcache_load(const char *case_text, const Op *op, int bound, const Array *out, Truth *truth);
/* Does nothing for truths that were quick to compute or when the cache ($RUNGS_CACHE, else <build>/cache; 8 GiB) is full. */
void truthcache_save(const char *case_text, const Op *op, int bound, const Array *out, const Truth *truth, double seconds);

#endif
