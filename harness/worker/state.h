/* state.h - a worker's state between two commands. */
#ifndef RUNGS_WORKER_STATE_H
#define RUNGS_WORKER_STATE_H

#include "base/launches.h"
#include "device/memory.h"
#include "device/resource.h"
#include "device/shared.h"
#include "measure/measure.h"
#include "op.h"
#include "plan/registry.h"
#include "worker/commands.h"

#include <jansson.h>
#include <stdio.h>

enum { WORKER_MAX_SETS = 4, WORKER_MAX_SLOTS = 2 };

/* The inputs of timed calls: which set is where, and which samples the parent compares (rotation.h). */
typedef struct Rotation {
    const json_t *checks;         /* of the command `time`, by mode; NULL: no timed call is under way */
    Buffer second[OP_MAX_ARRAYS]; /* inputs of the slot 1; slot 0 is Worker.buffers_in */
    int slots, slot;              /* how many there are, which one is in use */
    int from;                     /* the first set of timed calls: they alternate between it and the next */
    int shown;                    /* the set that was compared last in this mode; -1: none */
    int held[WORKER_MAX_SLOTS];   /* the set in each */
    bool touched;                 /* one element of the slot in use differs from its set */
    int touched_input;
    size_t touched_at; /* the element */
    bool patient;      /* the next check waits for work that goes on */
    bool slow;         /* a call takes so long that warm modes get other inputs at checked samples only */
    uint64_t random;
} Rotation;

typedef struct Worker {
    FILE *commands, *replies;
    int arrays; /* the socket over which the files of a case come */
    const Device *device;
    bool opened;                          /* the device is, for all cases */
    int cases;                            /* that have ended */
    size_t in_use_first, in_use_prepared; /* of the device: after the first case; before prepare() */
    Files files;                          /* of the command `open`, while it is obeyed */
    const char *id;                       /* of the variant; NULL: no case is open */
    const Variant *variant;
    const VariantModule *module; /* it lies in this one */
    const Op *op;
    Case problem;
    Params tunables;
    Array in[OP_MAX_ARRAYS], out[OP_MAX_ARRAYS]; /* descriptions; data on the device */
    Array room[OP_MAX_ARRAYS];                   /* outputs as the command has them: at their largest, without data */
    Shared host_in[WORKER_MAX_SETS][OP_MAX_ARRAYS], host_out[OP_MAX_ARRAYS];
    int sets;                                                              /* of inputs, of the same shapes */
    Buffer buffers_in[OP_MAX_ARRAYS], buffers_out[OP_MAX_ARRAYS], scratch; /* buffers_out: not for an op with sized_by_data */
    Buffer device_counts;                                                  /* behind args.counts, for an op with sized_by_data */
    int in_count, out_count;
    size_t counts[OP_MAX_ARRAYS]; /* elements of the outputs that the last run gave */
    Resource *resource;           /* behind args.memory */
    ResourceCounts taken;         /* by the last run */
    Launches launched;            /* by the last run */
    int threads;                  /* that the last run used; 0: not known */
    VariantArgs args;
    bool prepared;
    bool uploaded;       /* for counting: the inputs are on the device and stay the same */
    bool ended;          /* outputs_end() was called for the last call */
    double call_seconds; /* of the last verified run */
    int runs;
    bool stream_checked; /* that the variant keeps to its stream */
    Rotation rotation;
} Worker;

/* How samples are taken; a worker without it (the emulator's) verifies only. */
typedef struct WorkerMeasure {
    /* The reply's "timing" object for the modes of the command. */
    Status (*time)(const json_t *command, const Device *device, const MeasuredWork *work, json_t **timing);
    /* The reply's "ceilings" array. */
    Status (*ceilings)(const json_t *command, const Device *device, json_t **ceilings);
    /* The reply's "limit" object. */
    Status (*limit)(const json_t *command, const Device *device, json_t **limit);
    /* What only the CUDA runtime knows of a GPU: the keys of "gpu" in docs/RESULTS.md. */
    Status (*facts)(int device, json_t **gpu);
    /* Runs `run` with the device's stream blocked and tells whether any of the poisoned `outputs` changed all the same: work that
     * went to another stream. NULL: cannot be told on this device. */
    Status (*wrong_stream)(const Device *device, Status (*run)(void *), void *context, const Array *outputs, int count,
                           unsigned char poison, bool *stray);
    /* The reply's "counts" object for what a `count` asks (docs/PROTOCOL.md). */
    Status (*count)(const char *what, const Device *device, Status (*run)(void *), Status (*after)(void *), void *context,
                    json_t **counts);
    /* What can be counted on a device: the reply's "counting" object. */
    Status (*can_count)(const Device *device, json_t **answer);
} WorkerMeasure;

#endif
