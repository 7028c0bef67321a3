#include "pipeline/code.h"

#include <string.h>

static const CodeHash *find(const char *id) {
    for (const CodeHash *entry = CODE_HASHES; entry->id; entry++)
        if (strcmp(entry->id, id) == 0) return entry;
    return NULL;
}

json_t *code_json(const VariantEntry *variant, bool emulated) {
    const bool device = variant->backend == BACKEND_CUDA && !emulated;
    const CodeHash *found = device ? find(variant->id) : NULL;
    const char *reason = emulated  ? "emulated"
                         : !device ? "runs no kernel of this build"
                         : !found  ? "its object file holds no complete, readable machine code"
                                   : NULL;
    return json_pack("{s:s?, s:s?, s:s?}", "sass_hash", found ? found->sass : NULL, "host_hash", found ? found->host : NULL,
                     "reason", reason);
}
