/* counts.h - what one call does, counted by CUPTI: launches, copies, device memory moved. In passes of their own, never timed;
 * CUPTI is opened when first asked for, so that a machine without it only counts nothing.
 *
 * STATUS_UNSUPPORTED with the reason where CUPTI, the permission or the counter is missing. Once a pass has run in a process, that
 * process takes no times any more: what CUPTI leaves behind in the driver costs time. */
#ifndef RUNGS_MEASURE_COUNTS_H
#define RUNGS_MEASURE_COUNTS_H

#include "measure/activity.h"
#include "measure/measure.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Device memory (DRAM) as its controllers saw it. The caches are cold: L2 is flushed before the call. */
typedef struct ByteCounts {
    double read;
    double written;        /* during the call; what Nsight Compute tells */
    double written_behind; /* of the call's data, written back from L2 only by the flush that follows the call */
    size_t calls;          /* that were counted, as few as the counters need: one on all devices so far */
} ByteCounts;

/* One call after a warm-up call, from cold caches. ranges: NVTX ranges too, provided that no NVTX call came before in this process.
 * The list is sorted; activity_free() it. */
Status counts_activity(const MeasuredWork *work, void *stream, bool ranges, ActivityList *out);
/* One call after a warm-up call, from cold caches. */
Status counts_bytes(const MeasuredWork *work, void *stream, ByteCounts *out);
/* Both on a copy of some MiB that is known: STATUS_OK, or why launches or bytes cannot be counted here. library: CUPTI's file. */
Status counts_try_activity(void *stream);
Status counts_try_bytes(void *stream);
Status counts_library(const char **path);

#ifdef __cplusplus
}
#endif
#endif
