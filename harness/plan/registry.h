/* registry.h - all ops and variants. Ops are linked into the program. Variants are files, found by their paths when the program
 * starts: what is known of one without its code is its path, and what its module says of itself (plan/modules.h). */
#ifndef RUNGS_PLAN_REGISTRY_H
#define RUNGS_PLAN_REGISTRY_H

#include "base/text.h"
#include "op.h"
#include "variant.h"

/* What the module of a variant, or the dictionary of a peer, says of it. */
typedef struct VariantFacts {
    const char *summary, *origin;
    const ParamSpec *tunables;
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
/* Adds a variant whose file lies elsewhere, as <op>/try_<stem of the file>. STATUS_INVALID: it is neither .c nor .cu. */
Status registry_add(const char *path, const Op *op, const VariantEntry **out);
/* Append a line for each op whose file is not called as it is, and for each file among the variants whose name does not fit, which
 * is left out. */
Status registry_op_problems(Text *out);
Status registry_variant_problems(Text *out);

/* "cpu", "cuda", "peer": as rows and lists say it. */
const char *backend_name(Backend backend);
/* NULL if unknown. */
const Op *registry_op(const char *name);
const VariantEntry *registry_variant(const char *id);
/* Does it give the op's output of this name? Others are neither judged nor written. */
bool registry_gives(const VariantEntry *entry, const char *output);
/* Is there any variant of this backend? False for BACKEND_CUDA in a build without CUDA. */
bool registry_has_backend(Backend backend);
/* As above, but an unknown name is STATUS_INVALID with a suggestion and the known names. */
Status registry_require_op(const char *name, const Op **out);
Status registry_require_variant(const char *id, const VariantEntry **out);

#endif
