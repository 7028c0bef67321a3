/* facts.h - the parts of an environment line (machine.c); private to record/. New references; NULL: no memory. */
#pragma once

#include "record/identity.h"
#include "record/row.h"

#include <jansson.h>

/* Runs a program found on PATH and returns what it wrote on stdout (free it), without the newline at its end; NULL if it does not
 * exist, fails or takes longer than `seconds`, with the reason in why[why_size]. */
char *facts_command(const char *const argv[], double seconds, char *why, size_t why_size);

json_t *facts_cpu(void);                                                            /* model, cores, threads, caches, memory */
json_t *facts_cpus(void);                                                           /* "0-3,6": the affinity; null: unknown */
json_t *facts_cpu_quota(void);                                                      /* CPUs; null: no limit */
json_t *facts_others_running(void);                                                 /* average over a minute, or null */
json_t *facts_os(void);                                                             /* distribution and kernel, or null */
json_t *facts_container(void);                                                      /* "docker", ..., or null */
json_t *facts_variables(void);                                                      /* {"OMP_NUM_THREADS": "8", ...} */
json_t *facts_gpu(int device, const json_t *gpu_facts, char *why, size_t why_size); /* null leaves the reason in why */

/* The least CPU quota, in CPUs, of the control groups in `memberships` (as /proc/self/cgroup) and of the groups above them; root:
 * as /sys/fs/cgroup. null: no limit. */
json_t *facts_quota_of(const char *root, const char *memberships);
/* The size of OpenMP's teams: OMP_NUM_THREADS, else the number of CPUs of the affinity. */
int facts_threads(void);
