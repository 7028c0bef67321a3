#include "_apply.h"
#include "_nvrtc.h"
#include "base/places.h"

#include <stdlib.h>

/* What the host's <math.h> defines and NVRTC, which has no headers, does not. */
static const char PRELUDE[] = "#ifndef NAN\n#define NAN __int_as_float(0x7fffffff)\n#endif\n"
                              "#ifndef INFINITY\n#define INFINITY __int_as_float(0x7f800000)\n#endif\n";

/* NVRTC gets the user's file between the prelude and cuda_apply.cu, of which it sees the kernel's body (__CUDACC_RTC__), and an
 * entry. */
static const char KERNEL_FILE[] = "impls/rolling/cuda_apply.cu";

static const char ENTRY[] =
    "\nextern \"C\" __global__ void " APPLY_ENTRY "(ApplyView<real> view) {\n"
    "    extern __shared__ __align__(16) unsigned char rungs_shared[];\n"
    "    void (*const function)(const real *, int, real *, int, int, int) = window_function; // of all overloads this one\n"
    "    apply_block(view, reinterpret_cast<real *>(rungs_shared), function);\n"
    "}\n";

static Status assemble(const char *path, UsercodeReal real, Text *out) {
    char *kernel = NULL;
    TRY(text_read_file(places_project(KERNEL_FILE), &kernel, NULL));
    Text tail = {0};
    Status status = text_append(&tail, "#line 1 \"rolling/cuda_apply.cu\"\n%s%s", kernel, ENTRY);
    if (status == STATUS_OK) status = usercode_source(path, PRELUDE, real, tail.text, out);
    free(kernel);
    text_free(&tail);
    return status;
}

Status apply_compile(const char *path, UsercodeReal real, const char *architecture, int toolkit, void **cubin) {
    Text source = {0};
    size_t bytes;
    Status status = assemble(path, real, &source);
    if (status == STATUS_OK) status = nvrtc_compile(source.text, path, architecture, toolkit, cubin, &bytes);
    text_free(&source);
    if (status != STATUS_INVALID) return status;
    const char *unresolved = strstr(status_message(), "Unresolved extern function 'window_function'");
    return unresolved ? usercode_missing(path) : status_prefix(status, "function=");
}
