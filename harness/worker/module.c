#include "worker/module.h"

#include "plan/registry.h"

#include <dlfcn.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static Status check(const char *path, const char *id, const VariantModule *module) {
    const char *slash = strchr(id, '/');
    const int op = slash ? (int)(slash - id) : 0;
    const char *name = slash ? slash + 1 : id;
    if (!module)
        return status_fail(STATUS_INVALID, "no descriptor; end the file with RUNGS_VARIANT(%.*s, %s) = {...};", op, id, name);
    if (strcmp(module->contract, CONTRACT) != 0)
        return status_fail(
            STATUS_INVALID,
            "%s was compiled with other headers of the contract (%s) than this program (%s): build the program again", path,
            module->contract, CONTRACT);
    const bool same_op = (int)strlen(module->op) == op && strncmp(module->op, id, (size_t)op) == 0;
    if (same_op && (strcmp(module->name, name) == 0 || strncmp(name, "try_", 4) == 0)) return STATUS_OK;
    return status_fail(STATUS_INVALID,
                       "the descriptor is RUNGS_VARIANT(%s, %s), the path requires RUNGS_VARIANT(%.*s, %s): change one of them",
                       module->op, module->name, op, id, name);
}

Status module_load(const char *path, const char *id, const VariantModule **out) {
    static char loaded[4096];
    static const VariantModule *module;
    if (!loaded[0]) {
        void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!handle) return status_fail(STATUS_INVALID, "cannot be loaded: %s", dlerror());
        snprintf(loaded, sizeof loaded, "%s", path);
        module = dlsym(handle, RUNGS_MODULE_SYMBOL);
    }
    if (strcmp(loaded, path) != 0) return status_fail(STATUS_INTERNAL, "this worker has loaded %s", loaded);
    TRY(check(path, id, module));
    *out = module;
    return STATUS_OK;
}

static json_t *tunables_json(const ParamSpec *specs) {
    static const char *const KINDS[] = {
        [PARAM_INT] = "int", [PARAM_REAL] = "real", [PARAM_CHOICE] = "choice", [PARAM_TEXT] = "text"};
    json_t *out = json_array();
    for (const ParamSpec *spec = specs; spec && spec->name; spec++) {
        json_t *choices = spec->choices ? json_array() : json_null();
        for (const char *const *choice = spec->choices; choice && *choice; choice++)
            json_array_append_new(choices, json_string(*choice));
        json_array_append_new(out, json_pack("{s:s, s:s?, s:s, s:s?, s:f, s:f, s:o}", "name", spec->name, "summary", spec->summary,
                                             "kind", KINDS[spec->kind], "default", spec->fallback, "min", spec->min, "max",
                                             spec->max, "choices", choices));
    }
    return out;
}

int module_describe(const char *path, const char *id, int replies) {
    const VariantModule *module = NULL;
    const Status status = module_load(path, id, &module);
    const Variant *variant = status == STATUS_OK ? module->variant : NULL;
    json_t *reply =
        variant ? json_pack("{s:s?, s:s?, s:s?, s:s?, s:b, s:b, s:o}", "summary", variant->summary, "origin", variant->origin,
                            "bound", variant->bound, "not_emulated", variant->not_emulated, "supports", variant->supports != NULL,
                            "configuration", variant->configuration != NULL, "tunables", tunables_json(variant->tunables))
                : json_pack("{s:s}", "error", status_message());
    char *text = reply ? json_dumps(reply, JSON_COMPACT) : NULL;
    const bool written = text && dprintf(replies, "%s\n", text) > 0;
    return written ? 0 : 1;
}
