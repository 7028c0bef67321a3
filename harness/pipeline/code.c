#include "pipeline/code.h"

CodeHash code_of(const VariantEntry *variant, bool emulated) {
    const VariantFacts *facts = variant->variant;
    if (emulated) return (CodeHash){.reason = "emulated"};
    if (variant->backend == BACKEND_PEER) return (CodeHash){.reason = "runs no code of this build"};
    if (facts->error) return (CodeHash){.reason = "there is no module"};
    return (CodeHash){facts->sass_hash, facts->host_hash, facts->no_hash_reason};
}
