/* machine.c - facts of the computer and its system: processor, memory, kernel, container, variables, the CPUs that this process may
 * use, what a program prints, the GPU. */
#include "base/process.h"
#include "base/text.h"
#include "record/facts.h"
#include "record/identity.h"

#include <math.h>
#include <sched.h>
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
        char path[96], text[64], unit = ' ';
        long long size;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
        if (!first_line(path, text, sizeof text)) break;
        const int level = atoi(text);
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        if (level < highest || !first_line(path, text, sizeof text) || sscanf(text, "%lld%c", &size, &unit) < 1) continue;
        highest = level;
        bytes = size * (unit == 'K' ? 1024 : unit == 'M' ? 1024 * 1024 : 1);
    }
    if (bytes == 0) bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return bytes > 0 ? json_integer(bytes) : json_null();
}

json_t *facts_cpu(void) {
    char model[256];
    const bool named = line_value("/proc/cpuinfo", "model name", ':', model, sizeof model);
    const long long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return json_pack("{s:o, s:o, s:I, s:o, s:o, s:o, s:o}", "model", named ? json_string(model) : json_null(), "cores",
                     core_count(), "threads", (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "llc_bytes", last_level_cache(),
                     "memory_bytes", pages > 0 ? json_integer(pages * page) : json_null(), "cpus", facts_cpus(), "cpu_quota",
                     facts_cpu_quota());
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

/* ---- The CPUs that this process may use: its affinity, and the quota of its control groups. */

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
    const bool read = snprintf(path, sizeof path, "%s/%s", folder, name) < PATH_TEXT && first_line(path, text, sizeof text);
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

char *facts_command(const char *const argv[], double seconds, char *why, size_t why_size) {
    enum { ANSWER_MAX = 1 << 20 };
    const ProcessLimits limits = {.seconds = seconds, .bytes = ANSWER_MAX, .quiet_errors = true};
    Text answer = {0};
    int exit_code = 0;
    Status status = process_capture(argv, &limits, &answer, &exit_code);
    while (answer.length > 0 && answer.text[answer.length - 1] == '\n') answer.text[--answer.length] = '\0';
    if (status == STATUS_OK && exit_code != 0)
        status = status_fail(STATUS_IO, "%s failed: %.160s", argv[0], answer.length ? answer.text : "no output");
    if (status == STATUS_OK && answer.length == 0) status = text_append(&answer, "%s", "");
    if (status == STATUS_OK) return answer.text;
    snprintf(why, why_size, "%s", status_message());
    text_free(&answer);
    return NULL;
}

/* ---- The GPU, from nvidia-smi, so that record/ needs no CUDA; what only the runtime knows is merged in. */

typedef enum Form { FORM_TEXT, FORM_NUMBER, FORM_MEBIBYTES, FORM_SWITCH } Form;

typedef struct Field {
    const char *query; /* nvidia-smi's name */
    const char *key;   /* ours */
    Form form;
} Field;

static const Field FIELDS[] = {
    {"name", "name", FORM_TEXT},
    {"uuid", "uuid", FORM_TEXT},
    {"compute_cap", "compute_capability", FORM_TEXT},
    {NULL, "sm_count", FORM_NUMBER},
    {NULL, "l2_bytes", FORM_NUMBER},
    {"memory.total", "memory_bytes", FORM_MEBIBYTES},
    {NULL, "shared_bytes_per_block", FORM_NUMBER},
    {"driver_version", "driver", FORM_TEXT},
    {NULL, "runtime", FORM_TEXT},
    {"clocks.max.sm", "clocks_sm_max", FORM_NUMBER},
    {"clocks.max.mem", "clocks_memory_max", FORM_NUMBER},
    {"power.limit", "power_cap_watts", FORM_NUMBER},
    {"ecc.mode.current", "ecc", FORM_SWITCH},
    {"mig.mode.current", "mig", FORM_SWITCH},
};
enum { FIELD_COUNT = sizeof FIELDS / sizeof *FIELDS };

/* "[N/A]", "[Not Supported]", "[Insufficient Permissions]" and the like are what is not known. */
static json_t *value_of(Form form, const char *text) {
    if (*text == '\0' || *text == '[' || strcmp(text, "N/A") == 0) return json_null();
    if (form == FORM_TEXT) return json_string(text);
    if (form == FORM_SWITCH)
        return strcmp(text, "Enabled") == 0 ? json_true() : strcmp(text, "Disabled") == 0 ? json_false() : json_null();
    char *end;
    const double number = strtod(text, &end);
    if (end == text || *end != '\0') return json_null();
    if (form == FORM_MEBIBYTES) return json_integer((json_int_t)(number * 1048576.0));
    return number == (double)(json_int_t)number ? json_integer((json_int_t)number) : json_real(number);
}

/* Which GPU: by UUID if the runtime has it; else the device-th of those that CUDA_VISIBLE_DEVICES shows. */
static void which_gpu(int device, const json_t *gpu_facts, char *which, size_t size) {
    const char *uuid = json_string_value(json_object_get(gpu_facts, "uuid"));
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (uuid) {
        snprintf(which, size, "%s", uuid);
        return;
    }
    for (int i = 0; visible && i < device; i++) {
        visible = strchr(visible, ',');
        if (visible) visible++;
    }
    if (visible && *visible)
        snprintf(which, size, "%.*s", (int)strcspn(visible, ","), visible);
    else
        snprintf(which, size, "%d", device);
}

static char *ask(const char *which, char *why, size_t why_size) {
    char query[512] = "--query-gpu=";
    bool first = true;
    for (int i = 0; i < FIELD_COUNT; i++) {
        if (!FIELDS[i].query) continue;
        if (!first) strcat(query, ",");
        strcat(query, FIELDS[i].query);
        first = false;
    }
    const char *const argv[] = {"nvidia-smi", "-i", which, query, "--format=csv,noheader,nounits", NULL};
    char *answer = facts_command(argv, 20, why, why_size);
    if (answer && strncmp(answer, "No devices", 10) == 0) {
        snprintf(why, why_size, "nvidia-smi: %.160s", answer);
        free(answer);
        answer = NULL;
    }
    return answer;
}

/* One line, values separated by ", " in the order asked for; a name may hold no comma. */
static void fill(json_t *gpu, char *answer) {
    answer[strcspn(answer, "\n")] = '\0';
    char *cursor = answer;
    for (int i = 0; i < FIELD_COUNT; i++) {
        if (!FIELDS[i].query) continue;
        char *end = cursor + strcspn(cursor, ",");
        const bool last = *end == '\0';
        *end = '\0';
        json_object_set_new(gpu, FIELDS[i].key, value_of(FIELDS[i].form, cursor + strspn(cursor, " ")));
        cursor = last ? end : end + 1;
    }
}

json_t *facts_gpu(int device, const json_t *gpu_facts, char *why, size_t why_size) {
    if (device < 0) {
        snprintf(why, why_size, "no GPU was used");
        return json_null();
    }
    char which[96];
    which_gpu(device, gpu_facts, which, sizeof which);
    char *answer = ask(which, why, why_size);
    if (!answer && !gpu_facts) return json_null();
    json_t *gpu = json_object();
    for (int i = 0; i < FIELD_COUNT; i++) json_object_set_new(gpu, FIELDS[i].key, json_null());
    if (answer) fill(gpu, answer);
    free(answer);
    for (int i = 0; i < FIELD_COUNT; i++) {
        json_t *known = json_object_get(gpu_facts, FIELDS[i].key);
        if (known && !json_is_null(known)) json_object_set(gpu, FIELDS[i].key, known);
    }
    const char *uuid = json_string_value(json_object_get(gpu, "uuid"));
    if (uuid) json_object_set_new(gpu, "uuid", identity_hidden(uuid));
    return gpu;
}
