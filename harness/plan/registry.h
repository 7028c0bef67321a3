/* registry.h - all ops and variants. Ops are linked into the program. Variants are files, found by their paths when the program
 * starts: what is known of one without its code is its path, and what its module says of itself (modules.c). */
#pragma once

#include "base/text.h"
#include "op.h"
#include "python_op.h"
#include "variant.h"

#include <limits.h>

/* What the module of a variant, or the dictionary of a peer, says of it. */
typedef struct VariantFacts {
    const char *summary, *origin, *library;
    const ParamSpec *tunables;
    const char *const *dtypes; /* that it says it takes, by name; NULL: it says nothing */
    const char *bound, *not_emulated;
    bool supports, configuration; /* has it these functions? */
    const char *sass_hash, *host_hash, *no_hash_reason;
    const char *module; /* a hash of its file */
    const char
        *error; /* why there is no module: the compiler's first error; NULL: there is one. The rest may be of an earlier one */
} VariantFacts;

typedef struct VariantEntry {
    const char *id;   /* "rolling/cuda_shared" */
    const char *op;   /* "rolling" */
    const char *path; /* "impls/rolling/cuda_shared.cu" */
    Backend backend;
    const VariantFacts *variant; /* empty until modules_need() was asked for it */
    bool wanted;                 /* by the next modules_need() */
    const char *framework;       /* peers: "pandas", "torch", ...: what must be importable; NULL otherwise */
    bool needs_gpu;              /* peers that do nothing without one */
    const char *const *outputs;  /* peers that give some of the op's outputs only: their names, NULL-terminated; NULL: all */
} VariantEntry;

/* "int", "real", "choice", "text", by ParamKind. */
extern const char *const PARAM_KINDS[];
/* Of the build: the hash of the contract's headers that this program was compiled with. */
extern const char CONTRACT[];

/* Sorted by name. */
const Op *const *registry_ops(int *count);
/* Sorted by id. */
VariantEntry *registry_variants(int *count);
/* Adds variants whose files lie elsewhere, as <op>/try_<stem of the file>; entries that were found before have moved. out: one for
 * each. STATUS_INVALID: a file is neither .c nor .cu nor .py. */
Status registry_add(const char *const *paths, int count, const Op *op, const VariantEntry **out);
/* Append a line for each op whose file is not called as it is, and for each file among the variants whose name does not fit, which
 * is left out. */
Status registry_op_problems(Text *out);
Status registry_variant_problems(Text *out);

/* "cpu", "cuda", "peer": as rows and lists say it. */
const char *backend_name(Backend backend);
/* NULL if unknown. */
const Op *registry_op(const char *name);
/* Adds the op of a descriptor that cmake/python_op.py wrote, from a shared library; one, before all else that is asked here. */
Status registry_add_op(const char *library, const char *name, const Op **out);
/* NULL: its reference is in C. */
const PythonOp *registry_python(const Op *op);
/* Does it give the op's output of this name? Others are neither judged nor written. */
bool registry_gives(const VariantEntry *entry, const char *output);
/* Is there any variant of this backend? False for BACKEND_CUDA in a build without CUDA. */
bool registry_has_backend(Backend backend);
/* As above, but an unknown name is STATUS_INVALID with a suggestion and the known names. */
Status registry_require_op(const char *name, const Op **out);
Status registry_require_variant(const char *id, const VariantEntry **out);

/* ---- modules.c: variants as modules: a file of impls/ compiles to a shared object, and what it says of itself is kept beside it.
 * This process never loads one: a worker does. They are made when they are first needed, by cmake/modules.py. */

/* A .cu file has one for each program that runs it. */
typedef enum ModuleKind { MODULE_NATIVE, MODULE_ASAN, MODULE_RACE, MODULE_MEMORY } ModuleKind;

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
const char *modules_tried(void); /* the folder for what `rungs try` compiles; `score` names one of its own in RUNGS_TRIED */
const char *modules_path(const VariantEntry *entry, ModuleKind kind, char path[PATH_MAX]);
