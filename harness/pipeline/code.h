/* code.h - hashes of a variant's machine code: where they are equal, two builds differ elsewhere only. */
#ifndef RUNGS_PIPELINE_CODE_H
#define RUNGS_PIPELINE_CODE_H

#include "plan/registry.h"

#include <jansson.h>
#include <stdbool.h>

/* The row's `code`: {sass_hash, host_hash, reason}; host_hash is null if it is unknown, with the reason; sass_hash is also
 * null on the CPU. New reference. */
json_t *code_json(const VariantEntry *variant, bool emulated);

#endif
