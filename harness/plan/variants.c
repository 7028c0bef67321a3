#include "base/text.h"
#include "plan/registry.h"

#include <stdlib.h>
#include <string.h>

const char *backend_name(Backend backend) {
    static const char *const NAMES[] = {[BACKEND_CPU] = "cpu", [BACKEND_CUDA] = "cuda", [BACKEND_PEER] = "peer"};
    return NAMES[backend];
}

bool registry_gives(const VariantEntry *entry, const char *output) {
    if (!entry->outputs) return true;
    for (int i = 0; entry->outputs[i]; i++)
        if (strcmp(entry->outputs[i], output) == 0) return true;
    return false;
}

bool registry_has_backend(Backend backend) {
    int count;
    const VariantEntry *all = registry_variants(&count);
    for (int i = 0; i < count; i++)
        if (all[i].backend == backend) return true;
    return false;
}

/* Where the op was forgotten: the first name that is op/word. */
static const char *named_without_op(const char *word, const char *const *names, int count) {
    for (int i = 0; i < count; i++) {
        const char *slash = strchr(names[i], '/');
        if (slash && strcmp(slash + 1, word) == 0) return names[i];
    }
    return NULL;
}

Status registry_require_variant(const char *id, const VariantEntry **out) {
    int known_count;
    const VariantEntry *all = registry_variants(&known_count);
    for (*out = all; *out < all + known_count; ++*out)
        if (strcmp((*out)->id, id) == 0) return STATUS_OK;
    *out = NULL;
    const char **names = calloc((size_t)known_count + 1, sizeof *names);
    if (!names) return status_fail(STATUS_MEMORY, "no memory for the names of %d variants", known_count);
    /* Where the op is right, its variants are what the user needs to see; else all of them. */
    const char *slash = strchr(id, '/');
    int count = 0;
    for (int pass = 0; pass < 2 && count == 0; pass++)
        for (int i = 0; i < known_count; i++) {
            const char *known = all[i].id;
            if (pass == 1 || (slash && strncmp(known, id, (size_t)(slash - id) + 1) == 0)) names[count++] = known;
        }
    const char *nearest = named_without_op(id, names, count);
    if (!nearest) nearest = text_nearest(id, names, count);
    const Status status = text_fail_listing(nearest, "known", names, count, "unknown variant '%.200s'", id);
    free(names);
    return status;
}
