/* _nvrtc.h - compiles CUDA C at run time. The library is loaded when it is first needed, so that nothing links against it. */
#pragma once

#include "base/status.h"

#include <stddef.h>

/* Machine code of `source` for an architecture such as "sm_90"; free *cubin with free(). name: what messages call the source where
 * no #line does. STATUS_INVALID with the compiler's message if it refuses the source; STATUS_UNSUPPORTED if there is no NVRTC,
 * saying where it was looked for. toolkit: the major version that is looked for first. */
Status nvrtc_compile(const char *source, const char *name, const char *architecture, int toolkit, void **cubin, size_t *bytes);
