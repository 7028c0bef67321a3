/* modules.h - variants as modules: a file of impls/ compiles to a shared object, and what it says of itself is kept beside it. This
 * process never loads one: a worker does. They are made when they are first needed, by cmake/modules.py. */
#ifndef RUNGS_PLAN_MODULES_H
#define RUNGS_PLAN_MODULES_H

#include "plan/registry.h"

#include <limits.h>
#include <stdbool.h>

/* A .cu file has one for each program that runs it. */
typedef enum ModuleKind { MODULE_NATIVE, MODULE_ASAN, MODULE_RACE } ModuleKind;

/* What the build says (settings.json in the folder of the modules). */
typedef struct ModuleSettings {
    char folder[PATH_MAX]; /* of the modules */
    char root[PATH_MAX];   /* the project, which paths of variants are relative to; "": installed, without their sources */
    char impls[256];       /* "impls": below it <op>/<name>.c|.cu|.py */
    char python[PATH_MAX]; /* that runs cmake/modules.py */
    bool found;            /* is there settings.json? */
    bool cuda;             /* are there CUDA variants? */
    bool native, emulated; /* compiled by nvcc? for the emulator? */
} ModuleSettings;

/* The folder of this program's modules below its build folder, "modules" if this is not called; and the question whether CUDA
 * variants can run on a GPU, asked when it is needed. The text is not copied. */
void modules_open(const char *name, bool (*is_there_a_gpu)(void));
/* All "" and false if there is no such file. */
const ModuleSettings *modules_settings(void);

/* Where CUDA variants run from now on; without it on the GPU if there is one, else in the emulator. */
void modules_emulate(ModuleKind kind);
/* Variants that this comma-separated list of patterns does not name are not needed, as plan_filter() takes them away. */
void modules_select(const char *list);
bool modules_selected(const VariantEntry *entry);

/* The kind that entry->variant is of. */
ModuleKind modules_kind(const VariantEntry *entry);

/* Makes the modules that are missing or older than their sources of the variants that are wanted, and fills entry->variant of all
 * that are selected. One that does not compile has variant->error; a Status means that nothing could be made. */
Status modules_need(void);
/* NULL: all variants. */
Status modules_need_one(const VariantEntry *entry);
/* Another kind than entry->variant is of: of a CUDA variant in the emulator, for one. STATUS_INVALID with the compiler's first
 * error, or if the file of entry->variant is not that of the plan any more. STATUS_UNSUPPORTED: this build has no emulator.
 */
Status modules_make(const VariantEntry *entry, ModuleKind kind);
/* The shared object. */
const char *modules_path(const VariantEntry *entry, ModuleKind kind, char path[PATH_MAX]);

#endif
