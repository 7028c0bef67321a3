/* environment.h - the machine and the settings of a run: one {"kind":"environment"} line per run. Nothing in it names a host or a
 * user. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* commit, dirty, argv, compilers and flags, build type, CPU model, cores, caches, memory, load average, kernel, GPU name and hidden
 * UUID, SM count, L2, memory, driver, runtime, clocks, power cap, ECC, MIG (via nvidia-smi where there is one; null with "why"
 * otherwise), container, the variables that change results, Python and its libraries' versions, date (UTC), "run": a unique id,
 * "id": a hash of what decides comparability. device: the CUDA device that is used, below 0: none. gpu_facts: what only the CUDA
 * runtime knows of it, or NULL; its keys are those of "gpu" ("sm_count", "l2_bytes", "shared_bytes_per_block", "runtime", ...) and
 * fill or replace what nvidia-smi says; its "uuid" also tells nvidia-smi which GPU is meant. RUNGS_COMMIT names the commit of a
 * program built elsewhere
 * ("-dirty" at its end is understood). New reference; NULL if there is no memory. */
json_t *environment_json(int argc, char **argv, int device, const json_t *gpu_facts);
/* Of the program alone: commit, dirty, build. New reference; NULL if there is no memory. */
json_t *environment_program(void);
/* Of a session of `ab`, as JSON: its id; and the CPUs, their quota and the threads of its processes, which an older program does
 * not record. memory_free() it; NULL if there is no memory. */
char *environment_session(void);

/* Warnings that other programs used the machine. Of an environment line: do they keep half the hardware threads or more busy? */
bool steadiness_load(const json_t *environment, char *text, size_t size);
/* Of the ceilings of a device: do two measurements of one of them differ by a quarter or more? The first such one is named. */
bool steadiness_ceilings(const char *device, const json_t *ceilings, char *text, size_t size);
