/* state.h - what a worker knows between two commands. */
#ifndef RUNGS_WORKER_STATE_H
#define RUNGS_WORKER_STATE_H

#include "base/launches.h"
#include "device/memory.h"
#include "device/resource.h"
#include "device/shared.h"
#include "op.h"
#include "plan/registry.h"

typedef struct Worker {
    const Device *device;
    const VariantEntry *entry;
    const Op *op;
    Case problem;
    Params tunables;
    Array in[OP_MAX_ARRAYS], out[OP_MAX_ARRAYS]; /* descriptions; data on the device */
    Array room[OP_MAX_ARRAYS];                   /* outputs as the command has them: at their largest, without data */
    Shared host_in[OP_MAX_ARRAYS], host_out[OP_MAX_ARRAYS];
    Buffer buffers_in[OP_MAX_ARRAYS], buffers_out[OP_MAX_ARRAYS], scratch; /* buffers_out: not for an op with sized_by_data */
    int in_count, out_count;
    size_t counts[OP_MAX_ARRAYS]; /* elements of the outputs that the last run gave */
    Resource *resource;           /* behind args.memory */
    ResourceCounts taken;         /* by the last run */
    Launches launched;            /* by the last run */
    VariantArgs args;
    bool prepared;
    bool uploaded; /* for counting: the inputs are on the device and stay the same */
    int runs;
} Worker;

#endif
