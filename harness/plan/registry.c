#include "plan/registry.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPS_MAX = 256 };

static const PythonOp *added; /* by registry_add_op() */

extern const OpSource *const __start_rungs_ops[], *const __stop_rungs_ops[]; /* made by the linker */
/* In a program without such ops there is no section. */
extern const PythonOp *const __start_rungs_python_ops[] __attribute__((weak)), *const __stop_rungs_python_ops[]
    __attribute__((weak));

const char *const PARAM_KINDS[] = {
    [PARAM_INT] = "int", [PARAM_REAL] = "real", [PARAM_CHOICE] = "choice", [PARAM_TEXT] = "text", [PARAM_OPTION] = "choice"};

static int by_name(const void *a, const void *b) {
    return strcmp((*(const Op *const *)a)->name, (*(const Op *const *)b)->name);
}

const Op *const *registry_ops(int *count) {
    static const Op *ops[OPS_MAX];
    static const PythonOp *with;
    static int found;
    if (found == 0 || with != added) {
        found = 0, with = added;
        for (const OpSource *const *at = __start_rungs_ops; at < __stop_rungs_ops && found < OPS_MAX - 1; at++)
            ops[found++] = (*at)->op;
        if (added) ops[found++] = added->op;
        qsort(ops, (size_t)found, sizeof *ops, by_name);
    }
    *count = found;
    return ops;
}

/* reference/<op>.c, or reference/<op>/op.c where it has more than one file. */
static bool is_file_of(const char *file, const char *op) {
    char wanted[512];
    static const char *const FORMS[] = {"reference/%s.c", "reference/%s/op.c"};
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++) {
        snprintf(wanted, sizeof wanted, FORMS[i], op);
        const size_t length = strlen(file), tail = strlen(wanted);
        if (length >= tail && strcmp(file + length - tail, wanted) == 0) return true;
    }
    return false;
}

Status registry_op_problems(Text *out) {
    for (const OpSource *const *at = __start_rungs_ops; at < __stop_rungs_ops; at++)
        if (!is_file_of((*at)->file, (*at)->op->name))
            TRY(text_append(
                out,
                "%s: the descriptor is RUNGS_OP(%s), so the file must be reference/%s.c or reference/%s/op.c: change one of them\n",
                (*at)->file, (*at)->op->name, (*at)->op->name, (*at)->op->name));
    return STATUS_OK;
}

const Op *registry_op(const char *name) {
    int count;
    const Op *const *ops = registry_ops(&count);
    for (int i = 0; i < count; i++)
        if (strcmp(ops[i]->name, name) == 0) return ops[i];
    return NULL;
}

const PythonOp *registry_python(const Op *op) {
    for (const PythonOp *const *at = __start_rungs_python_ops; at < __stop_rungs_python_ops; at++)
        if ((*at)->op == op) return *at;
    return added && added->op == op ? added : NULL;
}

Status registry_add_op(const char *library, const char *name, const Op **out) {
    char symbol[128];
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    snprintf(symbol, sizeof symbol, "rungs_python_op_%s", name);
    added = handle ? dlsym(handle, symbol) : NULL;
    if (!added) return status_fail(STATUS_INTERNAL, "%s: %s", library, dlerror());
    *out = added->op;
    return STATUS_OK;
}

Status registry_require_op(const char *name, const Op **out) {
    const char *names[OPS_MAX];
    int count;
    const Op *const *ops = registry_ops(&count);
    *out = registry_op(name);
    if (*out) return STATUS_OK;
    for (int i = 0; i < count; i++) names[i] = ops[i]->name;
    return text_fail_listing(text_nearest(name, names, count), "known", names, count, "unknown op '%.200s'", name);
}
