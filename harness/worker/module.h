/* module.h - the one variant of this worker: a shared object, loaded once. Nothing that it defines is seen by the worker's own
 * code; of the worker it sees the functions of base/. */
#ifndef RUNGS_WORKER_MODULE_H
#define RUNGS_WORKER_MODULE_H

#include "variant.h"

/* STATUS_INVALID: it cannot be loaded, has no descriptor or that of another variant, or was compiled with other contract headers. A
 * worker loads one: another path is STATUS_INTERNAL. id: "rolling/cuda_shared"; try_ names go with every descriptor of the op. */
Status module_load(const char *path, const char *id, const VariantModule **out);
/* `worker --describe PATH ID --replies FD`: writes what the module says of itself, as JSON. Returns the exit code. */
int module_describe(const char *path, const char *id, int replies);

#endif
