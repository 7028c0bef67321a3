/* environment.h - the circumstances of a run: one {"kind":"environment"} line per run. Nothing in it names a host or a user. */
#ifndef RUNGS_RECORD_ENVIRONMENT_H
#define RUNGS_RECORD_ENVIRONMENT_H

#include <jansson.h>

/* commit, dirty, argv, compilers and flags, build type, CPU model, cores, caches, memory, kernel, GPU name and UUID, SM count, L2, memory,
 * driver, runtime, clocks, power cap, ECC, MIG (via nvidia-smi where there is one; null with "why" otherwise), container, relevant
 * variables (OMP_*, CUDA_*), Python and its libraries' versions, date (UTC), "id": a hash of what decides comparability. New reference. */
json_t *environment_json(int argc, char **argv, int device);

#endif
