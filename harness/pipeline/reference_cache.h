/* referencecache.h - references that took long, kept on disk by case. Best effort: whatever goes wrong, the reference is computed
 * again. */
#ifndef RUNGS_PIPELINE_REFERENCE_CACHE_H
#define RUNGS_PIPELINE_REFERENCE_CACHE_H

#include "op.h"

#include <stdbool.h>

/* Entries are bound to this very build of the program (size and time of the executable), so that a changed reference never meets
 * an old reference; to the case, the op's bound and the outputs' sizes. */
bool referencecache_load(const char *case_text, const Op *op, int bound, const Array *out, Reference *reference);
/* Does nothing for references that were quick to compute or when the cache ($RUNGS_CACHE, else <build>/cache; 8 GiB) is full. */
void referencecache_save(const char *case_text, const Op *op, int bound, const Array *out, const Reference *reference,
                         double seconds);

#endif
