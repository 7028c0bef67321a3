/* variant_support.h - the functions of a variant, from its module, in this process. */
#pragma once

#include "plan/registry.h"
#include "variant.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define VARIANT_ID(OP, NAME) #OP "/" #NAME /* CMakeLists.txt looks for these */

static inline const Variant *variant_of(const char *id) {
    const VariantEntry *entry;
    char path[PATH_MAX];
    if (registry_require_variant(id, &entry) != STATUS_OK || modules_make(entry, MODULE_NATIVE) != STATUS_OK) {
        fprintf(stderr, "%s: %s\n", id, status_message());
        abort();
    }
    void *handle = dlopen(modules_path(entry, MODULE_NATIVE, path), RTLD_NOW | RTLD_LOCAL);
    const VariantModule *module = handle ? dlsym(handle, RUNGS_MODULE_SYMBOL) : NULL;
    if (!module) {
        fprintf(stderr, "%s: %s\n", path, dlerror());
        abort();
    }
    return module->variant;
}
