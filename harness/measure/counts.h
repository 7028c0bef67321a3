/* counts.h - what one call does, counted by CUPTI: launches, copies, device memory moved. In passes of their own, never timed;
 * CUPTI is opened when first asked for, so that a machine without it only counts nothing.
 *
 * STATUS_UNSUPPORTED with the reason where CUPTI, the permission or the counter is missing. Once a pass has run in a process, that
 * process takes no times any more: what CUPTI leaves behind in the driver costs time. */
#pragma once

#include "measure/measure.h"

#include <stdint.h>

__BEGIN_DECLS

/* activity.c: what ran on the device during a call. */
typedef enum ActivityKind { ACTIVITY_KERNEL, ACTIVITY_COPY, ACTIVITY_FILL } ActivityKind;

enum { ACTIVITY_NAME_MAX = 160 };

typedef struct Activity {
    ActivityKind kind;
    uint64_t begin, end; /* nanoseconds on one clock */
    uint32_t stream;
    /* kernels */
    char name[ACTIVITY_NAME_MAX]; /* as activity_short_name() has it */
    int registers;                /* of a thread */
    size_t shared_bytes;          /* of a block, static and dynamic */
    int grid[3], block[3];        /* x, y, z */
    double occupancy;             /* warps that fit on a multiprocessor at once, of those that it has room for; NaN if unknown */
} Activity;

typedef struct ActivityList {
    Activity *items;
    size_t count, room;
    size_t dropped; /* records that were lost: then the list tells nothing for sure */
    bool no_memory;
    uint32_t stream; /* that the call was given; 0: not known */
} ActivityList;

/* The new item, all zero; NULL without memory, which the list remembers. */
Activity *activity_add(ActivityList *list);
/* By begin; of those that begin together the longer first. */
void activity_sort(ActivityList *list);
void activity_free(ActivityList *list);
/* Of a sorted list: removes the first kernel of this name and takes its stream for the call's. */
void activity_take_stream(ActivityList *list, const char *kernel);
/* Kernels on other streams than the call's; 0 if that is not known. */
size_t activity_elsewhere(const ActivityList *list);

/* A kernel's demangled name without its return type and parameters; long template arguments are cut: "scan_kernel<256, double>". */
void activity_short_name(const char *demangled, char out[ACTIVITY_NAME_MAX]);

/* Launches of one kernel with one configuration, together. */
typedef struct KernelGroup {
    const Activity *kernel; /* the first of them */
    size_t launches;
    double seconds; /* all of them */
} KernelGroup;

/* At most `room` groups in the order of their first launches; returns how many there are in all. */
size_t activity_groups(const ActivityList *list, KernelGroup *groups, size_t room);
size_t activity_count(const ActivityList *list, ActivityKind kind);
/* Sum of the durations of one kind: what overlaps counts twice. */
double activity_seconds(const ActivityList *list, ActivityKind kind);
/* The kernel that took longest in one launch; NULL if there is none. */
const Activity *activity_longest_kernel(const ActivityList *list);

/* How the kernels of a call used the multiprocessors. NaN: not counted. */
typedef struct Profile {
    double load_sectors, load_requests, store_sectors, store_requests, local_sectors; /* global and local memory, by warps */
    double bank_conflicts;                                                            /* cycles of shared memory */
    double sm_cycles, sm_cycles_mean, sm_cycles_most; /* active: all multiprocessors, their mean, the busiest */
    double warps_active, issue_active;                /* shares of the most possible in active cycles */
    double lanes;                                     /* of a warp's instruction */
    double stalled_barrier, stalled_memory;           /* shares of the time of warps */
} Profile;

/* Device memory (DRAM) as its controllers saw it. The caches are cold: L2 is flushed before the call. */
typedef struct ByteCounts {
    double read;
    double written;        /* during the call; what Nsight Compute tells */
    double written_behind; /* of the call's data, written back from L2 only by the flush that follows the call */
    Profile profile;
    size_t calls; /* that were counted, as few as the counters need */
} ByteCounts;

/* One call after a warm-up call, from cold caches. The list is sorted; activity_free() it. */
Status counts_activity(const MeasuredWork *work, void *stream, ActivityList *out);
/* One call after a warm-up call, from cold caches. */
Status counts_bytes(const MeasuredWork *work, void *stream, ByteCounts *out);
/* Both on a copy of some MiB that is known: STATUS_OK, or why launches or bytes cannot be counted here. library: CUPTI's file. */
Status counts_try_activity(void *stream);
Status counts_try_bytes(void *stream);
Status counts_library(const char **path);

__END_DECLS
