#include "pipeline/code.h"

#include <string.h>

static const CodeHash *find(const char *id) {
    for (const CodeHash *entry = CODE_HASHES; entry->id; entry++)
        if (strcmp(entry->id, id) == 0) return entry;
    return NULL;
}

json_t *code_json(const VariantEntry *variant, bool emulated) {
    const CodeHash *found = emulated ? NULL : find(variant->id);
    const char *reason = emulated ? "emulated" : !found ? "runs no code of this build" : found->reason;
    return json_pack("{s:s?, s:s?, s:s?}", "sass_hash", found ? found->sass : NULL, "host_hash", found ? found->host : NULL,
                     "reason", reason);
}
