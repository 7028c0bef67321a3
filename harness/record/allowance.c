/* allowance.c - the CPUs that this process may use: its affinity, and the quota of its control groups. */
#include "base/text.h"
#include "record/facts.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_TEXT = 1200 };

json_t *facts_cpus(void) {
    cpu_set_t set;
    Text list = {0};
    if (sched_getaffinity(0, sizeof set, &set) != 0) return json_null();
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        size_t last = cpu;
        if (!CPU_ISSET(cpu, &set)) continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set)) last++;
        if (text_append(&list, last > cpu ? "%s%zu-%zu" : "%s%zu", list.length ? "," : "", cpu, last) != STATUS_OK) break;
        cpu = last;
    }
    json_t *cpus = list.text ? json_string(list.text) : json_null();
    text_free(&list);
    return cpus;
}

int facts_threads(void) {
    cpu_set_t set;
    const char *wanted = getenv("OMP_NUM_THREADS");
    const int threads = wanted ? atoi(wanted) : 0;
    return threads > 0 ? threads : sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

static double number_in(const char *folder, const char *name, int which) {
    char path[PATH_TEXT], text[64];
    double numbers[2];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= PATH_TEXT) return NAN;
    FILE *file = fopen(path, "r");
    const bool read = file && fgets(text, sizeof text, file) != NULL;
    if (file) fclose(file);
    return read && sscanf(text, "%lf %lf", &numbers[0], &numbers[1]) > which ? numbers[which] : NAN;
}

/* CPUs, of one group; inf: no limit, or no such group. */
static double quota_of_group(const char *folder) {
    double share = number_in(folder, "cpu.max", 0) / number_in(folder, "cpu.max", 1); /* "max 100000": NaN */
    if (isnan(share)) share = number_in(folder, "cpu.cfs_quota_us", 0) / number_in(folder, "cpu.cfs_period_us", 0);
    return share > 0 ? share : INFINITY; /* -1: none */
}

/* The least quota of the group and of the groups above it. In a container the path may be the host's, and only the root is visible.
 */
static double quota_along(const char *root, const char *group) {
    char path[PATH_TEXT];
    double least = INFINITY;
    if (snprintf(path, sizeof path, "%s%s", root, strcmp(group, "/") == 0 ? "" : group) >= PATH_TEXT) return least;
    for (;; *strrchr(path, '/') = '\0') {
        least = fmin(least, quota_of_group(path));
        if (strlen(path) <= strlen(root)) return least;
    }
}

static bool has_cpu(const char *controllers) {
    for (const char *at = controllers; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == 3 && strncmp(at, "cpu", 3) == 0) return true;
    return false;
}

json_t *facts_quota_of(const char *root, const char *memberships) {
    char line[1024], first[PATH_TEXT];
    double least = INFINITY;
    FILE *file = fopen(memberships, "r");
    while (file && fgets(line, sizeof line, file)) { /* "0::/group" or "4:cpu,cpuacct:/group" */
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        controllers++;
        if (*controllers && !has_cpu(controllers)) continue;
        snprintf(first, sizeof first, "%s%s%s", root, *controllers ? "/" : "", controllers);
        least = fmin(least, quota_along(first, group));
        if (*controllers) snprintf(first, sizeof first, "%s/cpu", root);
        if (*controllers) least = fmin(least, quota_along(first, group));
    }
    if (file) fclose(file);
    return json_number_or_null(least);
}

json_t *facts_cpu_quota(void) {
    return facts_quota_of("/sys/fs/cgroup", "/proc/self/cgroup");
}
