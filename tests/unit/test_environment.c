#include "record/environment.h"

#include "base/places.h"
#include "record/facts.h"
#include "record/identity.h"
#include "record/program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/rungs_test_environment_XXXXXX";
static char *real_path;

static json_t *member(const json_t *object, const char *key) {
    json_t *value = json_object_get(object, key);
    if (!value) fail_msg("no key '%s'", key);
    return value;
}

static json_t *environment_of(const char *argument, int device, const json_t *gpu_facts) {
    char program[] = "rungs", word[256];
    snprintf(word, sizeof word, "%s", argument);
    char *argv[] = {program, word, NULL};
    json_t *environment = environment_json(2, argv, device, gpu_facts);
    assert_non_null(environment);
    return environment;
}

/* An nvidia-smi that answers as the real one does; ${3} is the query. */
static void install_nvidia_smi(const char *script) {
    char path[128];
    snprintf(path, sizeof path, "%s/nvidia-smi", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", script);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0755), 0);
}

static const char *const H100 = "case \"$3\" in --query-gpu=name,uuid,*) ;; *) echo 'unexpected query'; exit 2;; esac\n"
                                "case \"$2\" in 1) uuid=GPU-one;; GPU-*) uuid=$2;; *) uuid=GPU-zero;; esac\n"
                                "echo \"NVIDIA H100 80GB HBM3, $uuid, 9.0, 81559, 580.95.05, 1980, 2619, 699.50, Enabled, [N/A]\"";

/* The number that nvidia-smi or the runtime gave, as rows hold it. */
static void assert_hidden(const json_t *gpu, const char *uuid) {
    json_t *hidden = identity_hidden(uuid);
    assert_int_equal(strncmp(json_string_value(hidden), "salted-", 7), 0);
    assert_string_equal(json_string_value(member(gpu, "uuid")), json_string_value(hidden));
    json_decref(hidden);
}

static int setup(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return -1;
    const char *path = getenv("PATH");
    real_path = strdup(path ? path : "/usr/bin:/bin");
    char *longer = malloc(strlen(real_path) + sizeof folder + 2);
    if (!real_path || !longer) return -1;
    sprintf(longer, "%s:%s", folder, real_path);
    setenv("PATH", longer, 1);
    free(longer);
    unsetenv("CUDA_VISIBLE_DEVICES");
    return setenv("XDG_STATE_HOME", folder, 1);
}

static int teardown(void **state) {
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/nvidia-smi", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/rungs/salt", folder);
    unlink(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
    setenv("PATH", real_path, 1);
    free(real_path);
    return rmdir(folder);
}

static void every_key_is_there(void **state) {
    (void)state;
    static const char *const KEYS[] = {"kind",  "schema", "run", "id",         "date", "commit",    "dirty",     "argv",
                                       "build", "cpu",    "gpu", "gpu_reason", "os",   "container", "variables", "python"};
    json_t *e = environment_of("list", -1, NULL);
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) member(e, KEYS[i]);
    assert_string_equal(json_string_value(member(e, "kind")), "environment");
    assert_int_equal(json_integer_value(member(e, "schema")), 1);
    assert_int_equal(strlen(json_string_value(member(e, "id"))), 16);
    assert_true(json_integer_value(member(member(e, "cpu"), "threads")) >= 1);
    assert_true(json_integer_value(member(member(e, "cpu"), "memory_bytes")) > 1 << 20);
    assert_string_equal(json_string_value(member(member(e, "build"), "type")), PROGRAM.build_type);
    int year, month, day;
    assert_int_equal(sscanf(json_string_value(member(e, "date")), "%4d-%2d-%2dT", &year, &month, &day), 3);
    assert_true(json_is_null(member(e, "gpu")));
    assert_non_null(strstr(json_string_value(member(e, "gpu_reason")), "no GPU"));
    json_decref(e);
}

static void runs_are_told_apart_but_comparable(void **state) {
    (void)state;
    json_t *a = environment_of("run", -1, NULL), *b = environment_of("list", -1, NULL);
    assert_string_not_equal(json_string_value(member(a, "run")), json_string_value(member(b, "run")));
    assert_string_equal(json_string_value(member(a, "id")), json_string_value(member(b, "id")));
    json_decref(a);
    json_decref(b);
}

static void expect_argument(const char *given, const char *kept) {
    json_t *e = environment_of(given, -1, NULL);
    assert_string_equal(json_string_value(json_array_get(member(e, "argv"), 1)), kept);
    json_decref(e);
}

static void arguments_lose_their_folders(void **state) {
    (void)state;
    expect_argument("--out=/home/somebody/results/a.jsonl", "--out=a.jsonl");
    expect_argument("/home/somebody/x.npy", "x.npy");
    expect_argument("../../somebody/x.npy", "x.npy");
    expect_argument("~/x.npy", "x.npy");
    expect_argument("/home/a/x:/home/b/y", "x:y");
    expect_argument("--in=/home/somebody", "--in=~");
    expect_argument("/home/somebody/", "~");
    expect_argument("/data/runs/", "runs/");
    expect_argument("a / b", "a / b");
    expect_argument("refused:\n/home/somebody/f.cu:3:1: error", "refused:\nf.cu:3:1: error");
    expect_argument("in `/home/somebody/f.cu`", "in `f.cu`");
    expect_argument("-I/home/somebody/include -O2", "-Iinclude -O2");
    expect_argument("read/write and/or", "read/write and/or");
    expect_argument(places_project("scenarios/smoke/double.yaml"), "scenarios/smoke/double.yaml");
    expect_argument("scenarios/published/rolling.yaml", "scenarios/published/rolling.yaml");
    expect_argument("rolling n=1000 agg=mean", "rolling n=1000 agg=mean");
}

static void neither_host_nor_user_nor_home_is_named(void **state) {
    (void)state;
    char host[256] = "";
    assert_int_equal(gethostname(host, sizeof host - 1), 0);
    setenv("OMP_TEST_FOLDER", "/home/carol/omp", 1);
    json_t *e = environment_of("/home/carol/rows.jsonl", -1, NULL);
    char *text = json_dumps(e, 0);
    assert_null(strstr(text, "carol"));
    if (strlen(host) > 3) assert_null(strstr(text, host));
    const struct passwd *user = getpwuid(getuid());
    if (user && strlen(user->pw_name) > 4) assert_null(strstr(text, user->pw_name));
    if (user && strlen(user->pw_dir) > 1) assert_null(strstr(text, user->pw_dir));
    assert_non_null(strstr(text, "\"OMP_TEST_FOLDER\": \"omp\""));
    free(text);
    json_decref(e);
    unsetenv("OMP_TEST_FOLDER");
}

/* Only what changes results; what a variable is called may be private, too. */
static void other_variables_are_not_kept(void **state) {
    (void)state;
    static const char *const OPENMP[] = {"OMP_SCHEDULE", "OMP_PLACES", "OMP_DYNAMIC", "GOMP_CPU_AFFINITY"};
    static const char *const SECRETS[] = {"CUDA_SECRET_TOKEN", "JAX_COORDINATOR_ADDRESS", "TORCH_HUB_TOKEN", "RUNGS_PASSWORD"};
    for (size_t i = 0; i < sizeof SECRETS / sizeof *SECRETS; i++) setenv(SECRETS[i], "hunter2", 1);
    char long_value[402];
    memset(long_value, '4', 401);
    long_value[401] = '\0';
    setenv("OMP_SCHEDULE", long_value, 1);
    setenv("OMP_PLACES", long_value + 1, 1); /* as long as a value may be */
    setenv("OMP_DYNAMIC", "\x1b[31mtrue", 1);
    setenv("GOMP_CPU_AFFINITY", "0\n::1", 1);
    setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
    setenv("CUDA_VISIBLE_DEVICES", "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", 1);
    json_t *e = environment_of("run", -1, NULL);
    char *text = json_dumps(e, 0);
    assert_null(strstr(text, "hunter2"));
    for (size_t i = 0; i < sizeof SECRETS / sizeof *SECRETS; i++) assert_null(strstr(text, SECRETS[i]));
    assert_null(strstr(text, "8932f937"));
    assert_null(strstr(text, "\\u001b"));
    assert_string_equal(json_string_value(member(member(e, "variables"), "OMP_PLACES")), long_value + 1);
    assert_string_equal(json_string_value(member(member(e, "variables"), "OMP_SCHEDULE")), "not kept: 401 bytes");
    assert_string_equal(json_string_value(member(member(e, "variables"), "OMP_DYNAMIC")), "not kept: 9 bytes");
    assert_string_equal(json_string_value(member(member(e, "variables"), "GOMP_CPU_AFFINITY")), "not kept: 5 bytes");
    assert_string_equal(json_string_value(member(member(e, "variables"), "CUDA_LAUNCH_BLOCKING")), "1");
    assert_int_equal(strncmp(json_string_value(member(member(e, "variables"), "CUDA_VISIBLE_DEVICES")), "salted-", 7), 0);
    free(text);
    json_decref(e);
    for (size_t i = 0; i < sizeof SECRETS / sizeof *SECRETS; i++) unsetenv(SECRETS[i]);
    for (size_t i = 0; i < sizeof OPENMP / sizeof *OPENMP; i++) unsetenv(OPENMP[i]);
    unsetenv("CUDA_LAUNCH_BLOCKING");
    unsetenv("CUDA_VISIBLE_DEVICES");
}

static void the_gpu_is_read_from_nvidia_smi(void **state) {
    (void)state;
    install_nvidia_smi(H100);
    json_t *e = environment_of("run", 0, NULL), *gpu = member(e, "gpu");
    assert_string_equal(json_string_value(member(gpu, "name")), "NVIDIA H100 80GB HBM3");
    assert_hidden(gpu, "GPU-zero");
    assert_string_equal(json_string_value(member(gpu, "compute_capability")), "9.0");
    assert_true(json_integer_value(member(gpu, "memory_bytes")) == INT64_C(81559) * 1048576);
    assert_string_equal(json_string_value(member(gpu, "driver")), "580.95.05");
    assert_int_equal(json_integer_value(member(gpu, "clocks_sm_max")), 1980);
    assert_int_equal(json_integer_value(member(gpu, "clocks_memory_max")), 2619);
    assert_true(json_real_value(member(gpu, "power_cap_watts")) == 699.5);
    assert_true(json_is_true(member(gpu, "ecc")));
    assert_true(json_is_null(member(gpu, "mig")));
    assert_true(json_is_null(member(gpu, "sm_count")));
    assert_true(json_is_null(member(e, "gpu_reason")));
    json_decref(e);
}

static void what_the_runtime_knows_is_merged(void **state) {
    (void)state;
    install_nvidia_smi(H100);
    json_t *facts =
        json_pack("{s:i, s:s, s:s, s:n, s:i}", "sm_count", 132, "runtime", "13.0", "uuid", "GPU-abc", "name", "unknown_key", 1);
    json_t *e = environment_of("run", 0, facts), *gpu = member(e, "gpu");
    assert_int_equal(json_integer_value(member(gpu, "sm_count")), 132);
    assert_string_equal(json_string_value(member(gpu, "runtime")), "13.0");
    assert_hidden(gpu, "GPU-abc");
    assert_string_equal(json_string_value(member(gpu, "name")), "NVIDIA H100 80GB HBM3"); /* a null tells nothing */
    assert_null(json_object_get(gpu, "unknown_key"));
    json_decref(e);
    json_decref(facts);
}

static void visible_devices_are_followed(void **state) {
    (void)state;
    install_nvidia_smi(H100);
    setenv("CUDA_VISIBLE_DEVICES", "3,1", 1);
    json_t *e = environment_of("run", 1, NULL);
    assert_hidden(member(e, "gpu"), "GPU-one");
    json_decref(e);
    unsetenv("CUDA_VISIBLE_DEVICES");
}

static void a_failing_nvidia_smi_is_a_reason(void **state) {
    (void)state;
    install_nvidia_smi("echo 'NVIDIA-SMI has failed'; exit 9");
    json_t *e = environment_of("run", 0, NULL);
    assert_true(json_is_null(member(e, "gpu")));
    assert_non_null(strstr(json_string_value(member(e, "gpu_reason")), "has failed"));
    json_decref(e);
}

static void another_gpu_is_not_comparable(void **state) {
    (void)state;
    install_nvidia_smi(H100);
    json_t *a = environment_of("run", 0, NULL);
    json_t *facts = json_pack("{s:s}", "name", "NVIDIA H200");
    json_t *b = environment_of("run", 0, facts);
    assert_string_not_equal(json_string_value(member(a, "id")), json_string_value(member(b, "id")));
    json_decref(a);
    json_decref(b);
    json_decref(facts);
}

static void a_commit_can_be_told(void **state) {
    (void)state;
    unsetenv("RUNGS_COMMIT");
    json_t *e = environment_of("run", -1, NULL);
    const json_t *commit = member(e, "commit");
    if (access(places_project(".git"), F_OK) == 0 && json_is_string(commit))
        assert_int_equal(strlen(json_string_value(commit)), 40);
    json_decref(e);
    setenv("RUNGS_COMMIT", "0123abc-dirty", 1); /* also beside git: the program may have been built elsewhere */
    e = environment_of("run", -1, NULL);
    assert_string_equal(json_string_value(member(e, "commit")), "0123abc");
    assert_true(json_is_true(member(e, "dirty")));
    json_decref(e);
    unsetenv("RUNGS_COMMIT");
}

static void write_text(const char *name, const char *text) {
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static double quota(const char *memberships) {
    char path[200];
    write_text("memberships", memberships);
    snprintf(path, sizeof path, "%s/memberships", folder);
    json_t *told = facts_quota_of(folder, path);
    const double value = json_is_null(told) ? 0 : json_number_value(told);
    json_decref(told);
    return value;
}

/* The least along the way to the root counts, in both versions of control groups; a path of the host that is not seen here leads
 * to the root. */
static void the_quota_of_a_group_and_of_those_above_it(void **state) {
    (void)state;
    const char *const FOLDERS[] = {"outer", "outer/inner", "cpu,cpuacct", "cpu,cpuacct/job"};
    for (size_t i = 0; i < sizeof FOLDERS / sizeof *FOLDERS; i++) {
        char path[200];
        snprintf(path, sizeof path, "%s/%s", folder, FOLDERS[i]);
        assert_int_equal(mkdir(path, 0755), 0);
    }
    write_text("outer/cpu.max", "150000 100000\n");
    write_text("outer/inner/cpu.max", "max 100000\n");
    assert_true(quota("0::/outer/inner\n") == 1.5);
    write_text("outer/inner/cpu.max", "50000 100000\n");
    assert_true(quota("0::/outer/inner\n") == 0.5);
    assert_true(quota("0::/\n") == 0);
    assert_true(quota("0::/not/here\n") == 0);
    write_text("cpu.max", "300000 100000\n");
    assert_true(quota("0::/not/here\n") == 3);
    write_text("cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
    write_text("cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    assert_true(quota("7:memory:/job\n4:cpu,cpuacct:/job\n") == 0);
    write_text("cpu,cpuacct/job/cpu.cfs_quota_us", "200000\n");
    assert_true(quota("7:memory:/job\n4:cpu,cpuacct:/job\n") == 2);
    static const char *const MADE[] = {"outer/inner/cpu.max",
                                       "outer/inner",
                                       "outer/cpu.max",
                                       "outer",
                                       "cpu.max",
                                       "cpu,cpuacct/job/cpu.cfs_quota_us",
                                       "cpu,cpuacct/job/cpu.cfs_period_us",
                                       "cpu,cpuacct/job",
                                       "cpu,cpuacct",
                                       "memberships"};
    for (size_t i = 0; i < sizeof MADE / sizeof *MADE; i++) {
        char path[200];
        snprintf(path, sizeof path, "%s/%s", folder, MADE[i]);
        assert_int_equal(remove(path), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_is_there),
        cmocka_unit_test(runs_are_told_apart_but_comparable),
        cmocka_unit_test(arguments_lose_their_folders),
        cmocka_unit_test(neither_host_nor_user_nor_home_is_named),
        cmocka_unit_test(other_variables_are_not_kept),
        cmocka_unit_test(the_gpu_is_read_from_nvidia_smi),
        cmocka_unit_test(what_the_runtime_knows_is_merged),
        cmocka_unit_test(visible_devices_are_followed),
        cmocka_unit_test(a_failing_nvidia_smi_is_a_reason),
        cmocka_unit_test(another_gpu_is_not_comparable),
        cmocka_unit_test(a_commit_can_be_told),
        cmocka_unit_test(the_quota_of_a_group_and_of_those_above_it),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
