/* _apply.h - what the variants for agg=apply share: which cases they take, and how the user's function is compiled. C and CUDA C.
 */
#pragma once

#include "base/usercode.h"
#include "variant.h"

#include <limits.h>
#include <stdlib.h>
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

/* prepare() and release() where the function runs on the host: state is a Usercode. Here and not in a .c file, because the function
 * is sanitized as the file that includes this is (USERCODE_BUILD). */
static inline Status apply_prepare_host(const VariantArgs *args, void **state) {
    Usercode *code = (Usercode *)malloc(sizeof *code);
    if (!code) return status_fail(STATUS_MEMORY, "no memory");
    const UsercodeReal real = args->problem->dtype == DTYPE_F64 ? USERCODE_F64 : USERCODE_F32;
    const Status status = usercode_open(apply_path(args), real, &USERCODE_BUILD, code);
    if (status == STATUS_OK)
        *state = code;
    else
        free(code);
    return status;
}

static inline void apply_release_host(void *state) {
    usercode_close((Usercode *)state);
    free(state);
}

__BEGIN_DECLS

/* The kernel's name in what apply_compile() makes; its one argument is an ApplyView<real>, see cuda_apply.cu. */
#define APPLY_ENTRY "rungs_apply"
/* The kernel of cuda_apply.cu around the user's file, as machine code for "sm_90" or the like; free *cubin with free(). As
 * usercode_open() in base/usercode.h, with NVRTC for the compiler. toolkit: the major version of NVRTC that is looked for first. */
Status apply_compile(const char *path, UsercodeReal real, const char *architecture, int toolkit, void **cubin);

__END_DECLS
