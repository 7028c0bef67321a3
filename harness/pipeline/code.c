#include "pipeline/code.h"

#include <string.h>

static const CodeHash *find(const char *id) {
    for (const CodeHash *entry = CODE_HASHES; entry->id; entry++)
        if (strcmp(entry->id, id) == 0) return entry;
    return NULL;
}

CodeHash code_of(const VariantEntry *variant, bool emulated) {
    const CodeHash *found = emulated ? NULL : find(variant->id);
    return found ? *found : (CodeHash){.reason = emulated ? "emulated" : "runs no code of this build"};
}
