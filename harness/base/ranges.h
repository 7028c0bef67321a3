/* ranges.h - NVTX ranges in the domain "rungs": Nsight Systems names cases, calls and samples by them. They nest, in one thread.
 *
 * A tool makes itself known by NVTX_INJECTION64_PATH. Without it NVTX is never called, so a range costs a comparison, and CUPTI may
 * still become the tool of a worker that counts (measure/counts_activity.cu). Without NVTX's header in the build there are none. */
#pragma once

#include <stdbool.h>
#include <sys/cdefs.h>

__BEGIN_DECLS

typedef enum RangesTool { RANGES_NOT_ASKED, RANGES_NO_TOOL, RANGES_TOOL } RangesTool;

extern RangesTool ranges_tool;

/* Was NVTX's header there when this was built? */
bool ranges_built(void);
/* The domain, an nvtxDomainHandle_t, one in a process; NULL without a tool. For steps within a call (impls/common/steps.cuh), to
 * which CUPTI listens as well. */
void *ranges_domain(void);
/* Opens a range called "kind name", or "name" where kind is "". Nothing without a tool. */
void ranges_push(const char *kind, const char *name);
/* Closes the range that was opened last. */
void ranges_pop(void);

/* The same, for what is timed. */
static inline void ranges_begin(const char *kind, const char *name) {
    if (ranges_tool != RANGES_NO_TOOL) ranges_push(kind, name);
}

static inline void ranges_end(void) {
    if (ranges_tool == RANGES_TOOL) ranges_pop();
}

__END_DECLS
