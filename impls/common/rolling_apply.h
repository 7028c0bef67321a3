/* rolling_apply.h - what the variants for agg=apply share: which cases they take, and how a tile is described to the user's
 * function. C and CUDA C. */
#ifndef RUNGS_ROLLING_APPLY_H
#define RUNGS_ROLLING_APPLY_H

#include "base/usercode.h"
#include "variant.h"

#include <limits.h>
#include <string.h>

static inline const char *apply_path(const VariantArgs *args) {
    return params_text(&args->problem->params, "function");
}

static inline bool apply_supports(const VariantArgs *args, char reason[REASON_MAX]) {
    const Params *params = &args->problem->params;
    if (strcmp(params_text(params, "agg"), "apply") != 0)
        return variant_refuse(reason, "agg=%s: this variant runs agg=apply, the user's own window functions",
                              params_text(params, "agg"));
    if (strcmp(apply_path(args), "none") == 0)
        return variant_refuse(reason, "agg=apply needs function=PATH of a window function (examples are in examples/apply/)");
    if (params_int(params, "window") > INT_MAX / 2)
        return variant_refuse(reason, "window=%lld: a window function's window_size is an int", params_int(params, "window"));
    return true;
}

#endif
