/* steps.cuh - names for the steps of a call, which profilers show. A range lasts from its declaration to
 * the end of the block, also where TRY returns out of it:
 *
 *     StepRange step("sizes");
 *
 * Ranges are NVTX's, in the domain "rungs" of the worker (base/ranges.h), opened and closed when the host enqueues. Without a
 * profiler in the process the two calls cost nanoseconds. They compile to nothing where NVTX's header is missing, and under the
 * emulator's race detector, which does not know how NVTX's own code synchronises host threads. */
#pragma once

#ifdef __has_feature /* Clang */
#define STEPS_IN_RACE_DETECTOR __has_feature(thread_sanitizer)
#else
#define STEPS_IN_RACE_DETECTOR 0
#endif

#if __has_include(<nvtx3/nvToolsExt.h>) && !STEPS_IN_RACE_DETECTOR
#include "base/ranges.h"

#include <nvtx3/nvToolsExt.h>

static inline nvtxDomainHandle_t step_domain() {
    static const nvtxDomainHandle_t domain = static_cast<nvtxDomainHandle_t>(ranges_domain());
    return domain;
}

struct StepRange {
    explicit StepRange(const char *name) {
        nvtxEventAttributes_t event = {};
        event.version = NVTX_VERSION;
        event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
        event.messageType = NVTX_MESSAGE_TYPE_ASCII;
        event.message.ascii = name;
        (void)nvtxDomainRangePushEx(step_domain(), &event);
    }
    ~StepRange() { (void)nvtxDomainRangePop(step_domain()); }
    StepRange(const StepRange &) = delete;
    StepRange &operator=(const StepRange &) = delete;
};
#else
struct StepRange {
    explicit StepRange(const char *) {}
    ~StepRange() {} /* not trivial, or the compiler would warn of unused variables of this type */
    StepRange(const StepRange &) = delete;
    StepRange &operator=(const StepRange &) = delete;
};
#endif
