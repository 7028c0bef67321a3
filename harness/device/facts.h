/* facts.h - facts of a GPU from the CUDA runtime, for the environment line. */
#ifndef RUNGS_DEVICE_FACTS_H
#define RUNGS_DEVICE_FACTS_H

#include "base/status.h"

#include <jansson.h>

/* name, uuid, compute_capability, sm_count, l2_bytes, memory_bytes, shared_bytes_per_block, runtime. New reference. */
Status device_cuda_facts(int index, json_t **out);

/* The UUID of the device in use, "GPU-..."; "" if there is none. */
void device_cuda_uuid(char uuid[48]);

#endif
