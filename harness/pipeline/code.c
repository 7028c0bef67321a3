#include "pipeline/code.h"

json_t *code_json(const VariantEntry *variant, bool emulated) {
    const VariantFacts *facts = variant->variant;
    const char *reason = emulated                           ? "emulated"
                         : variant->backend == BACKEND_PEER ? "runs no code of this build"
                         : facts->error                     ? "there is no module"
                                                            : facts->no_hash_reason;
    return json_pack("{s:s?, s:s?, s:s?}", "sass_hash", emulated ? NULL : facts->sass_hash, "host_hash",
                     emulated ? NULL : facts->host_hash, "reason", reason);
}
