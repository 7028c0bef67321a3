#include "record/environment.h"

#include "base/hash.h"
#include "base/places.h"
#include "record/facts.h"
#include "record/identity.h"
#include "record/program.h"
#include "record/row.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* The commit that RUNGS_COMMIT names, for a program that was built elsewhere; false if it is not set. */
static bool is_set_by_variable(json_t *environment) {
    const char *text = getenv("RUNGS_COMMIT");
    static const char SUFFIX[] = "-dirty";
    if (!text || !*text) return false;
    const size_t length = strlen(text), suffix = sizeof SUFFIX - 1;
    const bool dirty = length > suffix && strcmp(text + length - suffix, SUFFIX) == 0;
    json_object_set_new(environment, "commit", json_stringn(text, dirty ? length - suffix : length));
    json_object_set_new(environment, "dirty", json_boolean(dirty));
    return true;
}

static void add_commit(json_t *environment) {
    if (is_set_by_variable(environment)) return;
    json_object_set_new(environment, "commit", PROGRAM.commit ? json_string(PROGRAM.commit) : json_null());
    json_object_set_new(environment, "dirty", PROGRAM.dirty ? json_boolean(strcmp(PROGRAM.dirty, "yes") == 0) : json_null());
}

static json_t *text_or_unknown(const char *text) {
    return *text ? facts_without_folders(text) : json_null();
}

static json_t *build_json(void) {
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "type", PROGRAM.build_type, "compiler", text_or_unknown(PROGRAM.compiler),
                     "flags", text_or_unknown(PROGRAM.flags), "cuda_compiler", text_or_unknown(PROGRAM.cuda_compiler), "cuda_flags",
                     text_or_unknown(PROGRAM.cuda_flags), "cuda_architectures", text_or_unknown(PROGRAM.cuda_architectures));
}

static void add_program(json_t *environment) {
    add_commit(environment);
    json_object_set_new(environment, "project", json_string(PROGRAM.project));
    json_object_set_new(environment, "rungs", json_string(RUNGS_VERSION));
    json_object_set_new(environment, "build", build_json());
}

json_t *environment_program(void) {
    json_t *environment = json_object();
    if (environment) add_program(environment);
    return environment;
}

enum { DATE_TEXT = 32, ID_TEXT = 64 };

/* The time in UTC, and a unique id such as "20261126T151003Z-1f00ab37". */
static void date_and_id(char date[DATE_TEXT], char id[ID_TEXT]) {
    const time_t now = time(NULL);
    struct tm utc;
    uint32_t noise = (uint32_t)getpid() * UINT32_C(2654435761);
    (void)!getrandom(&noise, sizeof noise, 0);
    gmtime_r(&now, &utc);
    strftime(date, DATE_TEXT, "%Y-%m-%dT%H:%M:%SZ", &utc);
    const size_t used = strftime(id, ID_TEXT, "%Y%m%dT%H%M%SZ", &utc);
    snprintf(id + used, ID_TEXT - used, "-%08" PRIx32, noise);
}

char *environment_session(void) {
    char date[DATE_TEXT], id[ID_TEXT];
    date_and_id(date, id);
    json_t *facts = json_pack("{s:s, s:o, s:o, s:i}", "session", id, "cpus", facts_cpus(), "cpu_quota", facts_cpu_quota(),
                              "threads", facts_threads());
    char *text = json_dumps(facts, JSON_COMPACT);
    json_decref(facts);
    return text;
}

static json_t *arguments_json(int argc, char **argv) {
    json_t *arguments = json_array();
    for (int i = 0; i < argc; i++) json_array_append_new(arguments, facts_without_folders(argv[i]));
    return arguments;
}

static json_t *python_json(void) {
    static const char QUESTION[] =
        "import json, platform\n"
        "from importlib.metadata import version\n"
        "packages = {}\n"
        "for name in ('numpy', 'pandas', 'scipy', 'statsmodels', 'numba', 'numba-cuda', 'cupy-cuda12x', 'cupy-cuda13x', 'torch',\n"
        "             'jax', 'jaxlib', 'polars', 'pyarrow', 'cudf-cu12', 'cudf-cu13', 'fla-core',\n"
        "             'accelerated-scan', 'matplotlib'):\n"
        "    try: packages[name] = version(name)\n"
        "    except Exception: pass\n"
        "print(json.dumps({'version': platform.python_version(), 'packages': packages}))\n";
    const char *const argv[] = {places_python(), "-c", QUESTION, NULL};
    char why[256];
    char *answer = facts_command(argv, 30, why, sizeof why);
    json_t *python = answer ? json_loads(answer, 0, NULL) : NULL;
    free(answer);
    return python ? python : json_null();
}

/* With the zero that ends the text, so that "ab","c" is not "a","bc". */
static void hash(uint64_t *state, const char *text) {
    if (!text) text = "";
    *state = hash_bytes(*state, text, strlen(text) + 1);
}

/* The CPUs and threads that variants can use. */
static void hash_cpus(uint64_t *state, const json_t *environment) {
    const json_t *cpu = json_object_get(environment, "cpu"), *value;
    const char *name;
    char quota[32];
    hash(state, json_string_value(json_object_get(cpu, "cpus")));
    snprintf(quota, sizeof quota, "%g", json_number_value(json_object_get(cpu, "cpu_quota")));
    hash(state, quota);
    uint64_t variables = 0; /* a sum, which does not depend on their order */
    json_object_foreach((json_t *)json_object_get(environment, "variables"), name, value) {
        uint64_t one = HASH_START;
        if (!strstr(name, "OMP_") && !strstr(name, "KMP_") && !strstr(name, "_THREADS")) continue;
        hash(&one, name);
        hash(&one, json_string_value(value));
        variables += one;
    }
    *state = hash_bytes(*state, &variables, sizeof variables);
}

/* Rows with the same id may be compared directly: GPU, driver branch, power cap, processor, CPUs and threads, kind of build,
 * commit. */
static json_t *comparability_id(const json_t *environment) {
    const json_t *gpu = json_object_get(environment, "gpu"), *build = json_object_get(environment, "build");
    const json_t *cap = json_object_get(gpu, "power_cap_watts");
    const char *driver = json_string_value(json_object_get(gpu, "driver"));
    char major[32] = "", watts[32] = "";
    if (driver) snprintf(major, sizeof major, "%.*s", (int)strcspn(driver, "."), driver);
    if (json_is_number(cap)) snprintf(watts, sizeof watts, "%.0f", json_number_value(cap));
    uint64_t state = HASH_START;
    hash(&state, json_string_value(json_object_get(gpu, "name")));
    hash(&state, major);
    hash(&state, watts);
    hash(&state, json_string_value(json_object_get(json_object_get(environment, "cpu"), "model")));
    hash_cpus(&state, environment);
    hash(&state, json_string_value(json_object_get(build, "type")));
    hash(&state, json_string_value(json_object_get(environment, "commit")));
    return json_sprintf("%016" PRIx64, state);
}

json_t *environment_json(int argc, char **argv, int device, const json_t *gpu_facts) {
    char why[256] = "", date[DATE_TEXT], run[ID_TEXT];
    date_and_id(date, run);
    json_t *environment =
        json_pack("{s:s, s:i, s:s, s:s}", "kind", "environment", "schema", ROW_SCHEMA_VERSION, "run", run, "date", date);
    if (!environment) return NULL;
    add_program(environment);
    json_t *others = facts_others_running(), *gpu = facts_gpu(device, gpu_facts, why, sizeof why);
    json_object_update_new(environment,
                           json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "argv", arguments_json(argc, argv), "cpu",
                                     facts_cpu(), "others_running", others, "gpu", gpu, "gpu_reason",
                                     json_is_null(gpu) ? facts_without_folders(why) : json_null(), "os", facts_os(), "container",
                                     facts_container(), "variables", facts_variables(), "python", python_json()));
    json_object_set_new(environment, "id", comparability_id(environment));
    return environment;
}

static const double BUSY_SHARE = 0.5; /* of the hardware threads */
static const double FACTOR = 1.25;    /* repetitions on an idle machine agree within a few percent */

bool steadiness_load(const json_t *environment, char *text, size_t size) {
    const json_t *others = json_object_get(environment, "others_running");
    const double threads = (double)json_integer_value(json_object_get(json_object_get(environment, "cpu"), "threads"));
    if (!json_is_number(others) || !(threads > 0) || !(json_number_value(others) >= BUSY_SHARE * threads)) return false;
    snprintf(text, size,
             "warning: other programs keep %.0f of %.0f hardware threads busy: times and measured peaks may be worse than this "
             "machine's",
             json_number_value(others), threads);
    return true;
}

bool steadiness_ceilings(const char *device, const json_t *ceilings, char *text, size_t size) {
    size_t i;
    json_t *ceiling;
    json_array_foreach(ceilings, i, ceiling) {
        const json_t *value = json_object_get(ceiling, "value"), *again = json_object_get(ceiling, "again");
        const char *name = json_string_value(json_object_get(ceiling, "name")),
                   *unit = json_string_value(json_object_get(ceiling, "unit"));
        if (!name || !unit || !json_is_number(value) || !json_is_number(again)) continue;
        const double a = json_number_value(value), b = json_number_value(again);
        if (a < FACTOR * b && b < FACTOR * a) continue;
        snprintf(
            text, size,
            "warning: two measurements of the peak %s of the %s disagree: %.3g and %.3g %s; the machine is busy, and shares of "
            "measured peaks are unreliable",
            name, device, a, b, unit);
        return true;
    }
    return false;
}
