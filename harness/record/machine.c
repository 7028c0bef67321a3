/* machine.c - facts of the computer and its system: processor, memory, kernel, container, variables. */
#include "base/text.h"
#include "record/facts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* The first line of a file that begins with `key`, what follows the separator; false if there is none. */
static bool line_value(const char *path, const char *key, char separator, char *value, size_t size) {
    FILE *file = fopen(path, "r");
    if (!file) return false;
    char line[1024];
    bool found = false;
    while (!found && fgets(line, sizeof line, file)) {
        char *after = strchr(line, separator);
        if (strncmp(line, key, strlen(key)) != 0 || !after) continue;
        after += 1 + strspn(after + 1, " \t\"");
        after[strcspn(after, "\"\n")] = '\0';
        snprintf(value, size, "%s", after);
        found = true;
    }
    fclose(file);
    return found;
}

static bool first_line(const char *path, char *value, size_t size) {
    FILE *file = fopen(path, "r");
    if (!file) return false;
    const bool found = fgets(value, (int)size, file) != NULL;
    fclose(file);
    if (found) value[strcspn(value, "\n")] = '\0';
    return found;
}

/* Distinct (socket, core) pairs; hyper-threads of one core share theirs. */
static json_t *core_count(void) {
    enum { PAIRS_MAX = 4096 };
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file) return json_null();
    static int pairs[PAIRS_MAX][2];
    int count = 0, socket = 0, core;
    char line[1024];
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "physical id : %d", &socket) == 1 || sscanf(line, "core id : %d", &core) != 1) continue;
        int known = 0;
        while (known < count && (pairs[known][0] != socket || pairs[known][1] != core)) known++;
        if (known < count || count == PAIRS_MAX) continue;
        pairs[count][0] = socket;
        pairs[count++][1] = core;
    }
    fclose(file);
    return count ? json_integer(count) : json_null();
}

/* Bytes of the cache of the highest level that the first processor sees. */
static json_t *last_level_cache(void) {
    long long bytes = 0;
    int highest = 0;
    for (int i = 0; i < 10; i++) {
        char path[96], text[64];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
        if (!first_line(path, text, sizeof text)) break;
        const int level = atoi(text);
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        if (level < highest || !first_line(path, text, sizeof text)) continue;
        char *unit;
        const long long size = strtoll(text, &unit, 10);
        highest = level;
        bytes = size * (*unit == 'K' ? 1024 : *unit == 'M' ? 1024 * 1024 : 1);
    }
    if (bytes == 0) bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return bytes > 0 ? json_integer(bytes) : json_null();
}

json_t *facts_cpu(void) {
    char model[256];
    const bool named = line_value("/proc/cpuinfo", "model name", ':', model, sizeof model);
    const long long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return json_pack("{s:o, s:o, s:I, s:o, s:o}", "model", named ? json_string(model) : json_null(), "cores", core_count(),
                     "threads", (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "llc_bytes", last_level_cache(), "memory_bytes",
                     pages > 0 ? json_integer(pages * page) : json_null());
}

json_t *facts_others_running(void) {
    enum { LOOKS = 3 };
    int least = -1; /* of a few looks, so that what runs for a moment does not count */
    for (int i = 0; i < LOOKS; i++) {
        int running = 0;
        FILE *file = fopen("/proc/loadavg", "r");
        const bool read = file && fscanf(file, "%*f %*f %*f %d/", &running) == 1;
        if (file) fclose(file);
        if (!read) return json_null();
        if (least < 0 || running - 1 < least) least = running - 1; /* without ourselves */
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return json_integer(least);
}

json_t *facts_os(void) {
    struct utsname kernel;
    char name[256];
    if (uname(&kernel) != 0) return json_null();
    if (!line_value("/etc/os-release", "PRETTY_NAME", '=', name, sizeof name)) snprintf(name, sizeof name, "unknown distribution");
    kernel.release[strspn(kernel.release, "0123456789.")] = '\0'; /* what follows is local and may name a machine */
    return json_sprintf("%s, %s %s %s", name, kernel.sysname, kernel.release, kernel.machine);
}

json_t *facts_container(void) {
    static const char *const WORDS[] = {"kubepods", "docker", "podman", "lxc", "containerd"};
    const char *named = getenv("container");
    if (named && *named) return json_string(named);
    if (access("/.dockerenv", F_OK) == 0) return json_string("docker");
    if (access("/run/.containerenv", F_OK) == 0) return json_string("podman");
    char groups[1024];
    if (!first_line("/proc/1/cgroup", groups, sizeof groups)) return json_null();
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (strstr(groups, WORDS[i])) return json_string(WORDS[i]);
    return json_null();
}

/* What changes times or results, by the documentation of CUDA, OpenMP, glibc and the libraries; of others not even the name is
 * kept. */
static const char VARIABLES[] =
    "CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER CUDA_LAUNCH_BLOCKING CUDA_MODULE_LOADING CUDA_MODULE_DATA_LOADING CUDA_CACHE_* "
    "CUDA_FORCE_PTX_JIT CUDA_DISABLE_PTX_JIT CUDA_FORCE_JIT CUDA_DISABLE_JIT CUDA_DEVICE_MAX_CONNECTIONS "
    "CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT CUDA_SCALE_LAUNCH_QUEUES CUDA_AUTO_BOOST "
    "CUDA_MANAGED_FORCE_DEVICE_ALLOC CUDA_MPS_ACTIVE_THREAD_PERCENTAGE CUDA_MPS_PINNED_DEVICE_MEM_LIMIT "
    "NVIDIA_TF32_OVERRIDE OMP_* GOMP_* KMP_* MKL_NUM_THREADS MKL_DYNAMIC OPENBLAS_NUM_THREADS OPENBLAS_CORETYPE MALLOC_* "
    "GLIBC_TUNABLES LD_PRELOAD LD_BIND_NOW NUMBA_NUM_THREADS NUMBA_THREADING_LAYER NUMBA_OPT NUMBA_DISABLE_JIT "
    "NUMBA_ENABLE_CUDASIM NUMBA_CPU_NAME NUMBA_CPU_FEATURES NUMBA_CUDA_* CUPY_ACCELERATORS CUPY_TF32 CUPY_GPU_MEMORY_LIMIT "
    "XLA_FLAGS XLA_PYTHON_CLIENT_* JAX_ENABLE_X64 JAX_PLATFORMS JAX_DEFAULT_MATMUL_PRECISION JAX_DISABLE_JIT "
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE TORCH_CUDA_ARCH_LIST TORCHDYNAMO_DISABLE PYTORCH_ALLOC_CONF PYTORCH_CUDA_ALLOC_CONF "
    "PYTORCH_NO_CUDA_MEMORY_CACHING POLARS_MAX_THREADS ARROW_DEFAULT_MEMORY_POOL ARROW_USER_SIMD_LEVEL RUNGS_HOST_CC "
    "RUNGS_NVRTC RUNGS_CUPTI RUNGS_EMULATOR_*";

static bool is_listed(const char *name) {
    char pattern[80];
    for (const char *at = VARIABLES; *at; at += strcspn(at, " "), at += *at == ' ') {
        snprintf(pattern, sizeof pattern, "%.*s", (int)strcspn(at, " "), at);
        if (text_glob(pattern, name)) return true;
    }
    return false;
}

/* Of a value that is long or not plain text of one line, only the length is kept. */
static json_t *kept_value(const char *value) {
    enum { VALUE_MAX = 400 };
    const size_t length = strlen(value);
    bool plain = length <= VALUE_MAX;
    for (const char *at = value; *at && plain; at++) plain = *at >= ' ' && *at <= '~';
    return plain ? facts_without_folders(value) : json_sprintf("not kept: %zu bytes", length);
}

static bool is_plain_name(const char *name) {
    return strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == strlen(name);
}

json_t *facts_variables(void) {
    json_t *variables = json_object();
    for (char **entry = environ; *entry; entry++) {
        char name[128];
        const char *equals = strchr(*entry, '=');
        if (!equals || equals - *entry >= (ptrdiff_t)sizeof name) continue;
        snprintf(name, sizeof name, "%.*s", (int)(equals - *entry), *entry);
        if (is_plain_name(name) && is_listed(name)) json_object_set_new(variables, name, kept_value(equals + 1));
    }
    return variables;
}
