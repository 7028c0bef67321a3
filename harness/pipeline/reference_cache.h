/* reference_cache.h - references that took long, kept on disk by case. Best effort: whatever goes wrong, the reference is computed
 * again. */
#ifndef RUNGS_PIPELINE_REFERENCE_CACHE_H
#define RUNGS_PIPELINE_REFERENCE_CACHE_H

#include "op.h"

#include <stdbool.h>

/* An entry is bound to the case, the op's bound, the outputs' sizes, the inputs' bytes, and the program's build id, so that a
 * changed reference never meets an old one; it has a checksum. One that does not fit is removed. */
bool referencecache_load(const char *case_text, const Op *op, int bound, const Array *in, const Array *out, Reference *reference);
/* Does nothing for references that were quick to compute or when the cache is full ($RUNGS_CACHE, 8 GiB; else <build>/cache, 64
 * MiB), nor for one that would take a quarter of it. */
void referencecache_save(const char *case_text, const Op *op, int bound, const Array *in, const Array *out,
                         const Reference *reference, double seconds);

#endif
