/* foresee.h - which rows of a plan this machine would skip or not time, by the plan, the variants and the device alone. Nothing is
 * built or allocated. */
#ifndef RUNGS_PIPELINE_FORESEE_H
#define RUNGS_PIPELINE_FORESEE_H

#include "pipeline/instance.h"
#include "pipeline/options.h"

/* The GPU that a run would use. no_gpu_reason is "" if there is one. */
bool foresee_gpu(int device, char *no_gpu_reason, size_t size);
/* Would the emulator run this choice? */
bool foresee_emulated(const VariantChoice *choice, EmulatorKind emulator, bool has_gpu);
typedef struct Foresight {
    size_t total, timed; /* rows; those that would be timed, if they pass */
    size_t need_gpu;     /* rows that would be timed if there were a GPU */
    char no_gpu_reason[256];
} Foresight;

Foresight foresee(const Plan *plan, int device);

#endif
