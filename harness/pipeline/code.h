/* code.h - hashes of a variant's machine code: where they are equal, two builds differ elsewhere only. */
#ifndef RUNGS_PIPELINE_CODE_H
#define RUNGS_PIPELINE_CODE_H

#include "plan/registry.h"

#include <stdbool.h>

typedef struct CodeHash {
    const char *sass;   /* of the instructions for the device: 16 hexadecimal digits; NULL for a CPU variant */
    const char *host;   /* of the instructions for the CPU */
    const char *reason; /* why there are no hashes; NULL: there are */
} CodeHash;

/* What the row's `code` says: without a hash for the CPU there is a reason. */
CodeHash code_of(const VariantEntry *variant, bool emulated);

#endif
