/* rungs doctor: what this machine and this build support, and what to do about the rest. */
#include "base/places.h"
#include "base/process.h"
#include "base/ranges.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "device/child.h"
#include "device/confine.h"
#include "device/device.h"
#include "device/sandbox.h"
#include "plan/registry.h"
#include "protocol.h"
#include "record/environment.h"
#include "record/program.h"
#include "record/row.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((format(printf, 3, 4))) static void line(const char *name, bool good, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    printf("%-3s %-12s ", good ? "ok" : "no", name);
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
}

static const char *text_at(const json_t *object, const char *section, const char *key) {
    const char *text = json_string_value(json_object_get(json_object_get(object, section), key));
    return text ? text : "unknown";
}

static void doctor_build(const json_t *environment) {
    const bool release = strcmp(PROGRAM.build_type, "Release") == 0;
    line("build", release, "%s, %s%s", PROGRAM.build_type, text_at(environment, "build", "compiler"),
         release ? "" : " (only a Release build is timed)");
    int variants, ops;
    (void)registry_variants(&variants);
    (void)registry_ops(&ops);
    line("variants", variants > 0, "%d variants of %d ops; each is compiled when a command first needs it", variants, ops);
}

static bool doctor_gpu(void) {
    char why[256] = "";
    json_t *facts = NULL;
    const int count = device_cuda_count(why, sizeof why);
    if (count == 0) {
        line("gpu", false, "%s: CUDA variants are verified in the emulator and not timed", why);
        return false;
    }
    for (int i = 0; i < count; i++) {
        if (device_cuda_facts(i, &facts) != STATUS_OK) {
            line("gpu", false, "device %d: %s", i, status_message());
            continue;
        }
        line("gpu", true, "device %d: %s, compute capability %s, %lld SMs, %.1f GiB, L2 %.0f MiB", i,
             json_string_value(json_object_get(facts, "name")), json_string_value(json_object_get(facts, "compute_capability")),
             (long long)json_integer_value(json_object_get(facts, "sm_count")),
             json_number_value(json_object_get(facts, "memory_bytes")) / 0x1p30,
             json_number_value(json_object_get(facts, "l2_bytes")) / 0x1p20);
        json_decref(facts);
    }
    return true;
}

static void report_counting(const char *what, const char *why, const char *good) {
    line("counts", !why, "%s: %s", what, why ? why : good);
}

/* In a worker: it starts the GPU, and CUPTI leaves its traces in the process. */
static void doctor_counts(bool has_gpu) {
    if (!has_gpu) {
        line("counts", false, "launches and bytes: no GPU");
        return;
    }
    Child *child = NULL;
    json_t *reply = NULL;
    Status status = child_start(&(ChildOptions){0}, &child);
    if (status == STATUS_OK)
        status = child_ask(child, json_pack("{s:s, s:s, s:i}", KEY_DO, DO_COUNTING, KEY_KIND, "cuda", KEY_DEVICE, 0), 120, &reply);
    const char *library, *no_launches, *no_bytes;
    reply_counting(reply, &library, &no_launches, &no_bytes);
    if (status != STATUS_OK) {
        line("counts", false, "launches and bytes: %s", status_message());
    } else {
        report_counting("launches", no_launches, library ? library : "CUPTI");
        report_counting("device memory", no_bytes, "hardware counters are readable");
    }
    json_decref(reply);
    child_stop(child);
}

static void doctor_ranges(void) {
    line("nvtx", ranges_built(),
         ranges_built()
             ? "a timeline of Nsight Systems names cases, samples and calls"
             : "built without nvtx3/nvToolsExt.h: a timeline has no ranges; install the CUDA toolkit's NVTX and build again");
}

/* In a build folder the emulators are built when a command first needs them. */
static bool emulator_comes(void) {
    return modules_settings()->emulated && modules_settings()->root[0];
}

static void doctor_emulator(void) {
    static const char *const PROGRAMS[] = {
        "rungs-emulator",
        "rungs-emulator-race",
#ifdef __x86_64__ /* clang has no kernel-memory elsewhere */
        "rungs-emulator-memory",
#endif
    };
    for (size_t i = 0; i < sizeof PROGRAMS / sizeof *PROGRAMS; i++) {
        const bool there = access(places_beside(PROGRAMS[i]), X_OK) == 0;
        line("emulator", there || emulator_comes(), "%s%s", PROGRAMS[i],
             there              ? ""
             : emulator_comes() ? " is built when a command first needs it"
                                : " was not built; see docs/EMULATOR.md");
    }
}

/* Can the project's Python import what a peer needs? */
static void doctor_peers(bool has_gpu) {
    const char *names[64];
    int count = 0, variants;
    const VariantEntry *all = registry_variants(&variants);
    for (int v = 0; v < variants; v++) {
        const VariantEntry *entry = &all[v];
        bool known = entry->backend != BACKEND_PEER || !entry->framework;
        for (int i = 0; i < count && !known; i++) known = strcmp(names[i], entry->framework) == 0;
        if (known || count == 64) continue;
        names[count++] = entry->framework;
        char code_text[300];
        /* The distribution's name can differ from the module's: cupy comes as cupy-cuda13x. cuDF lies in a folder of its own. */
        snprintf(code_text, sizeof code_text,
                 "import sys, importlib.metadata as m; sys.path.append(sys.argv[1] + '/build/cudf');"
                 "print(m.version(m.packages_distributions()['%s'][0]))",
                 entry->framework);
        const char *const argv[] = {places_python(), "-c", code_text, places_harness("."), NULL};
        const ProcessLimits limits = {.seconds = 60};
        Text output = {0};
        int code = 1;
        const Status status = process_capture(argv, &limits, &output, &code);
        const bool there = status == STATUS_OK && code == 0 && output.length > 0;
        if (there) output.text[strcspn(output.text, "\n")] = '\0';
        line("peer", there, "%s %s", entry->framework,
             there                          ? output.text
             : entry->needs_gpu && !has_gpu ? "is not installed (and needs a GPU)"
                                            : "is not installed");
        text_free(&output);
    }
}

/* What a person can do next on this machine. */
static void report_what_is_possible(bool has_gpu, bool sandbox) {
    const bool emulator = emulator_comes() || access(places_beside("rungs-emulator"), X_OK) == 0;
    printf("\nhere you can\n");
    printf("  verify and time CPU variants:     rungs run 'rolling n=1e6 window=300' --variants 'cpu_*'\n");
    if (has_gpu) printf("  verify and time CUDA variants:    rungs run 'rolling n=1e8 window=300 dtype=f32'\n");
    if (emulator) printf("  verify CUDA variants without GPU: rungs run 'double n=1e4' --variants 'cuda_*' --emulate\n");
    if (emulator && sandbox) printf("  search a CUDA program for faults: rungs try FILE.cu\n");
    printf("  test the published claims:        rungs reproduce --quick%s\n",
           has_gpu ? "" : "   (without a GPU: no times of CUDA)");
}

int command_doctor(int argc, char **argv) {
    const CliOption OPTIONS[] = {{0}};
    char **words;
    int count = 0;
    int code = cli_parse("doctor", "", OPTIONS, argc, argv, &words, &count);
    if (code == 0 && count > 0) code = cli_usage("doctor", "no arguments are expected");
    if (code != 0) return code;
    json_t *environment = environment_json(argc, argv, -1, NULL);
    const char *commit = json_string_value(json_object_get(environment, "commit"));
    line("rungs", true, "commit %s%s", commit ? commit : "unknown: not a git checkout",
         json_is_true(json_object_get(environment, "dirty")) ? ", with uncommitted changes" : "");
    doctor_build(environment);
    line("cpu", true, "%s", text_at(environment, "cpu", "model"));
    const bool has_gpu = doctor_gpu();
    doctor_counts(has_gpu);
    doctor_ranges();
    line("workers", confine_available(), "%s",
         confine_available() ? "confined (Landlock): they write to a folder of their own and to devices alone"
                             : "not confined: this kernel has no Landlock (Linux 5.13). References are not kept on disk");
    const bool sandbox = sandbox_check() == STATUS_OK;
    line("sandbox", sandbox, "%s", sandbox ? "bubblewrap: --sandbox, and `try`" : status_message());
    doctor_emulator();
    doctor_peers(has_gpu);
    json_decref(environment);
    report_what_is_possible(has_gpu, sandbox);
    return EXIT_GOOD;
}
