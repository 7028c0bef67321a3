/* rungs benchmark: each variant on each case in each mode is a Google Benchmark with manual time. Google Benchmark chooses, repeats
 * and reports; the samples are taken and verified as by `rungs run`. */
#include "base/jsontext.h"
#include "base/memory.h"
#include "cli/cases.h"
#include "cli/commands.h"
#include "cli/gbench.h"
#include "cli/options.h"
#include "device/device.h"
#include "pipeline/evaluate.h"
#include "plan/case.h"
#include "plan/registry.h"
#include "record/environment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = CASE_TEXT_MAX + SPEC_TEXT_MAX + 64, REASON_MAX_BYTES = 1200 };
static const char FLAGS[] = "--benchmark_", MIN_TIME[] = "--benchmark_min_time";

typedef struct Benchmarks {
    RunOptions options;
    Series series;
    const char *variants;
    char no_gpu_reason[256];
    struct Benchmark *list;
    size_t count;
    size_t timed, called, failed;
    char broken[REASON_MAX_BYTES]; /* why nothing goes on; "": it does */
    Status broken_by;
    double *seconds; /* of the last call */
    char reason[REASON_MAX_BYTES];
} Benchmarks;

typedef struct Benchmark {
    Benchmarks *all;
    const PlanItem *item;
    const VariantChoice *choice;
    Mode mode;
    size_t calls_per_sample; /* as it came about in the last call */
} Benchmark;

/* ---- One call. */

/* An iteration is a call of the variant, and a sample of `hot` and `graph` several: so many samples make up the iterations, but no
 * fewer than `run` takes at least. */
static size_t samples_for(const Benchmark *benchmark, size_t iterations) {
    const size_t least = benchmark->all->options.min_samples, enough = (iterations - 1) / benchmark->calls_per_sample + 1;
    const size_t wanted = enough > least ? enough : least;
    return wanted < iterations ? wanted : iterations;
}

/* The worst output's; NaN: there is none. A counter of 0 in every repetition would have a coefficient of variation that is no JSON.
 */
static double error_over_bound(const Row *row) {
    double worst = NAN;
    for (int i = 0; i < row->error_count; i++)
        if (!row->errors[i].exact && isfinite(row->errors[i].bounded.max_ratio))
            worst = fmax(worst, row->errors[i].bounded.max_ratio);
    return worst > 0 ? worst : NAN;
}

static const char *because(Benchmarks *all, const char *what, const char *why) {
    snprintf(all->reason, sizeof all->reason, "%s%s", what, why);
    return all->reason;
}

/* NULL: the row has samples of this mode. */
static const char *why_none(const Benchmark *benchmark, const Row *row) {
    const ModeTiming *timed = &row->timing[benchmark->mode];
    if (row->verdict == VERDICT_SKIP) return row->reason;
    if (!row->timed) return row->why_not_timed ? row->why_not_timed : "";
    return timed->count > 0 ? NULL : timed->why_none;
}

static void fill(Benchmark *benchmark, Row *row, GbenchTimes *out) {
    Benchmarks *all = benchmark->all;
    ModeTiming *timed = &row->timing[benchmark->mode];
    if (row->verdict == VERDICT_FAIL)
        out->failed = because(all, "verification failed: ", row->reason);
    else if (row->verdict == VERDICT_ERROR)
        out->failed = because(all, "error: ", row->reason);
    else if (why_none(benchmark, row))
        out->skipped = because(all, "", why_none(benchmark, row));
    if (out->failed || out->skipped) return;
    out->count = timed->count;
    memory_free(all->seconds);
    out->seconds = all->seconds = timed->seconds;
    timed->seconds = NULL;
    out->bytes = row->work.bytes;
    out->limit_share = timed->limit.kernel[0] ? timed->limit.share : NAN;
    out->error_over_bound = error_over_bound(row);
    benchmark->calls_per_sample = timed->calls_per_sample > 0 ? timed->calls_per_sample : 1;
}

static void take(void *context, size_t iterations, GbenchTimes *out) {
    Benchmark *benchmark = context;
    Benchmarks *all = benchmark->all;
    Row row = {0};
    all->called++;
    if (all->broken_by == STATUS_OK)
        all->broken_by = series_take(&all->series, benchmark->item, benchmark->choice, benchmark->mode,
                                     samples_for(benchmark, iterations), &row);
    if (all->broken_by == STATUS_OK)
        fill(benchmark, &row, out);
    else if (!all->broken[0])
        snprintf(all->broken, sizeof all->broken, "error: %s", status_message());
    if (all->broken_by != STATUS_OK) out->failed = all->broken;
    all->failed += out->failed != NULL;
    all->timed += !out->failed && !out->skipped;
    row_free(&row);
}

/* ---- All of them. */

static bool runs_on_gpu(const VariantEntry *entry) {
    return entry->backend == BACKEND_CUDA || (entry->backend == BACKEND_PEER && entry->needs_gpu);
}

/* "rolling/cuda_shared threads=128/rolling agg=mean n=1000 .../cold": safe in a regular expression, unlike the names of exports. */
static void name_of(const Benchmark *benchmark, char name[NAME_MAX_BYTES]) {
    char spec[SPEC_TEXT_MAX], problem[CASE_TEXT_MAX];
    const char *bound = benchmark->item->declared_bounds ? benchmark->choice->entry->variant->bound : NULL;
    snprintf(name, NAME_MAX_BYTES, "%s/%s/%s%s%s", variant_choice_format(benchmark->choice, spec, sizeof spec),
             case_format(&benchmark->item->problem, problem, sizeof problem), bound ? bound : "", bound ? " bound/" : "",
             mode_name(benchmark->mode));
}

static size_t count_modes(const Plan *plan) {
    size_t count = 0;
    for (int i = 0; i < plan->item_count; i++) count += (size_t)plan->items[i].variant_count * MODE_COUNT;
    return count;
}

/* A first call happens once in a worker; other samples as many as `run` takes at least, unless a minimum time is given. */
static Status add_all(Benchmarks *all, const Plan *plan, bool by_min_time) {
    all->list = calloc(count_modes(plan) + 1, sizeof *all->list);
    if (!all->list) return status_fail(STATUS_MEMORY, "no memory for the benchmarks");
    for (int i = 0; i < plan->item_count; i++)
        for (int v = 0; v < plan->items[i].variant_count; v++)
            for (int m = 0; m < MODE_COUNT; m++) {
                const PlanItem *item = &plan->items[i];
                char name[NAME_MAX_BYTES];
                if (!(item->modes & 1u << m) || (mode_of_stream((Mode)m) && !runs_on_gpu(item->variants[v].entry))) continue;
                Benchmark *benchmark = &all->list[all->count++];
                *benchmark =
                    (Benchmark){.all = all, .item = item, .choice = &item->variants[v], .mode = (Mode)m, .calls_per_sample = 1};
                name_of(benchmark, name);
                gbench_add(name, m == MODE_FIRST ? 1 : by_min_time ? 0 : all->options.min_samples, take, benchmark);
            }
    return STATUS_OK;
}

static void report_context(const Benchmarks *all) {
    json_t *program = environment_program(), *gpu = NULL;
    if (*text_of(program, "commit")) gbench_report("commit", text_of(program, "commit"));
    if (json_is_true(json_object_get(program, "dirty"))) gbench_report("uncommitted_changes", "true");
    if (!all->no_gpu_reason[0] && device_cuda_facts(all->options.device, &gpu) == STATUS_OK)
        gbench_report("gpu", text_of(gpu, "name"));
    json_decref(program);
    json_decref(gpu);
}

static int exit_code(const Benchmarks *all, size_t matched) {
    if (all->broken_by != STATUS_OK) {
        fprintf(stderr, "rungs benchmark: %s\n", all->broken);
        return EXIT_MACHINE;
    }
    if (matched > 0 && all->called == 0) return EXIT_GOOD; /* listed */
    if (all->failed > 0) return EXIT_CHECK;
    return all->timed > 0 ? EXIT_GOOD : EXIT_NOTHING;
}

static int run_benchmarks(Benchmarks *all, char *const *words, int count, bool by_min_time) {
    Plan plan = {0};
    size_t matched = 0;
    if (all->variants) modules_select(all->variants);
    Status status = cases_plan(&plan, "rungs benchmark", words, count);
    if (status == STATUS_OK && all->variants) status = status_prefix(plan_filter(&plan, all->variants), "--variants: ");
    if (status == STATUS_OK) status = threads_check();
    if (status == STATUS_OK && !gpu_there(all->options.device, all->no_gpu_reason, sizeof all->no_gpu_reason))
        all->series.no_gpu_reason = all->no_gpu_reason;
    if (status == STATUS_OK && !all->options.no_ceilings) status = limits_open(all->options.device, &all->series.limits);
    if (status == STATUS_OK) status = add_all(all, &plan, by_min_time);
    if (status == STATUS_OK) {
        report_context(all);
        all->series.options = &all->options;
        matched = gbench_run();
    }
    series_close(&all->series);
    limits_close(all->series.limits);
    supports_close();
    plan_free(&plan);
    free(all->list);
    memory_free(all->seconds);
    return status == STATUS_OK ? exit_code(all, matched) : cli_fail(status);
}

/* Google Benchmark's flags to the front, behind argv[0]. How many words they are, argv[0] among them. */
static int part_flags(int argc, char **argv, bool *by_min_time) {
    int flags = 1;
    *by_min_time = getenv("BENCHMARK_MIN_TIME") != NULL;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], FLAGS, sizeof FLAGS - 1) != 0 && strncmp(argv[i], "--v=", 4) != 0) continue;
        char *flag = argv[i];
        *by_min_time = *by_min_time || strncmp(flag, MIN_TIME, sizeof MIN_TIME - 1) == 0;
        memmove(argv + flags + 1, argv + flags, (size_t)(i - flags) * sizeof *argv);
        argv[flags++] = flag;
    }
    return flags;
}

/* The flag, if its value is no time. Google Benchmark 1.8 aborts on such a value, once the benchmarks run. */
static const char *bad_min_time(int flags, char *const *argv) {
    for (int i = 1; i < flags; i++) {
        const char *value = argv[i] + sizeof MIN_TIME - 1;
        if (strncmp(argv[i], MIN_TIME, sizeof MIN_TIME - 1) != 0 || *value != '=') continue;
        char *end;
        const double time = strtod(++value, &end);
        const bool unit = strcmp(end, "s") == 0 || strcmp(end, "x") == 0; /* seconds, iterations */
        if (end == value || !(time >= 0) || (*end && !unit)) return argv[i];
    }
    return NULL;
}

int command_benchmark(int argc, char **argv) {
    static char called[] = "rungs benchmark"; /* as Google Benchmark's messages and report name the program */
    Benchmarks all = {.options = run_options_default()};
    const CliOption OPTIONS[] = {
        {"variants", "GLOBS", CLI_TEXT, &all.variants, "variants to run, such as 'cuda_*,-cuda_apply,cpu_best threads=4'"},
        {"timeout", "TIME", CLI_DURATION, &all.options.timeout_seconds, "time limit for one call of a variant (default 120s)"},
        {"device", "N", CLI_COUNT, &all.options.device, "CUDA device"},
        {"no-ceilings", NULL, CLI_FLAG, &all.options.no_ceilings, "do not measure the limits of rows: no counter limit_share"},
        {0},
    };
    bool by_min_time = false;
    int count = 0;
    char **words;
    const int flags = part_flags(argc, argv, &by_min_time);
    int code = cli_parse("benchmark", "SCENARIO|CASE... [options] [--benchmark_...]", OPTIONS, argc - flags + 1, argv + flags - 1,
                         &words, &count);
    if (code == CLI_HELPED) printf("\nGoogle Benchmark's options:\n"), fflush(stdout), gbench_help();
    if (code == EXIT_GOOD && count == 0) code = cli_usage("benchmark", "a scenario or a case is expected");
    const char *bad = bad_min_time(flags, argv);
    if (code == EXIT_GOOD && bad) code = cli_usage("benchmark", "%s: expected seconds, such as 0.5", bad);
    argv[0] = called, argv[flags] = NULL;
    if (code == EXIT_GOOD && !gbench_begin(flags, argv, EXIT_USAGE)) code = EXIT_USAGE;
    return code == EXIT_GOOD ? run_benchmarks(&all, words, count, by_min_time) : code;
}
