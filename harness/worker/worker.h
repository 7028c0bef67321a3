/* worker.h - the child half of the pipeline: obeys docs/PROTOCOL.md. Linked into rungs and into the emulator's programs. */
#ifndef RUNGS_WORKER_WORKER_H
#define RUNGS_WORKER_WORKER_H

#include "base/status.h"
#include "device/device.h"
#include "measure/measure.h"
#include "variant.h"

#include <jansson.h>

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

void worker_can_measure(const WorkerMeasure *measure);

/* Arguments: --commands FD --replies FD. Returns the exit code. */
int worker_main(int argc, char **argv);

#endif
