/* rungs run, and rungs try: a variant from anywhere beside the op's own. */
#include "pipeline/run.h"
#include "base/output.h"
#include "base/places.h"
#include "base/process.h"
#include "base/text.h"
#include "cli/binding.h"
#include "cli/cases.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "device/sandbox.h"
#include "pipeline/session.h"
#include "plan/case.h"
#include "plan/registry.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct RunArguments {
    RunOptions options;
    const char *variants, *shard, *draw, *precision;
    int shard_index, shard_count, emulator; /* emulator: 0 address, 1 race; -1: not given */
    bool quick, full, emulate, fresh, skip_unknown, dry, as_json, sandbox;
} RunArguments;

static void default_out(char *path, size_t size, const char *stem) {
    mkdir(places_build("results"), 0777);
    char date[32];
    const time_t wall = time(NULL);
    struct tm utc;
    gmtime_r(&wall, &utc);
    strftime(date, sizeof date, "%Y%m%d-%H%M%S", &utc);
    snprintf(path, size, "%s/%s-%s-%d.jsonl", places_build("results"), stem, date, (int)getpid()); /* two may start in one second */
}

static void apply_pace(RunArguments *a) {
    if (a->quick) a->options.min_samples = 3, a->options.max_samples = 15, a->options.seconds_per_mode = 0.2;
    if (a->full) a->options.min_samples = 21, a->options.max_samples = 301, a->options.seconds_per_mode = 3;
    a->options.shared_workers = !a->fresh;
    static const ModuleKind EMULATORS[] = {MODULE_ASAN, MODULE_RACE, MODULE_MEMORY}; /* as --emulator lists them */
    if (a->emulate || a->emulator >= 0) a->options.emulator = EMULATORS[a->emulator < 0 ? 0 : a->emulator];
    if (a->options.emulator != MODULE_NATIVE) modules_emulate(a->options.emulator);
    if (a->variants) modules_select(a->variants);
}

static Status report_left_out(const Plan *plan) {
    if (!plan->left_out || !plan->left_out->text) return STATUS_OK;
    fputs(plan->left_out->text, stderr);
    return plan->item_count > 0
               ? STATUS_OK
               : status_fail(STATUS_INVALID, "this build supports none of the requested cases; the lines above say why");
}

static Status make_plan(const RunArguments *a, char **words, int count, Plan *plan) {
    TRY(cases_plan(plan, "rungs run", words, count));
    if (a->variants) TRY(status_prefix(plan_filter(plan, a->variants), "--variants: "));
    TRY(report_left_out(plan));
    return a->shard ? status_prefix(plan_shard(plan, a->shard_index, a->shard_count), "--shard %s: ", a->shard) : STATUS_OK;
}

static int run_dry(const RunArguments *a, char **words, int count) {
    Text left_out = {0};
    Plan plan = {.left_out = a->skip_unknown ? &left_out : NULL};
    const Status status = make_plan(a, words, count, &plan);
    const int code = status == STATUS_OK ? dry_run(&plan, &a->options, a->as_json) : cli_fail(status);
    plan_free(&plan);
    text_free(&left_out);
    return code;
}

/* Options that have a meaning with others only. */
static int check_together(RunArguments *a) {
    int used = 0;
    if (a->shard && (sscanf(a->shard, "%d/%d%n", &a->shard_index, &a->shard_count, &used) != 2 || a->shard[used] != '\0'))
        return cli_usage("run", "--shard '%s': I/N is expected", a->shard);
    if (a->draw && !draw_parse(a->draw, &a->options.draw))
        return cli_usage("run", "--draw '%s': the `draw` of a row that failed is expected", a->draw);
    used = 0;
    if (a->precision && (sscanf(a->precision, "%lf%%%n", &a->options.precision, &used) != 1 || a->precision[used] != '\0' ||
                         !(a->options.precision > 0 && a->options.precision < 100)))
        return cli_usage("run", "--precision '%s': more than 0%% and less than 100%% are expected, such as 0.5%%", a->precision);
    a->options.precision /= 100;
    if (!cases_devices_fit("run", &a->options)) return EXIT_USAGE;
    if (a->options.resume && a->dry) return cli_usage("run", "--dry-run lists the whole plan: leave out --resume");
    if (a->options.resume && !a->options.out) return cli_usage("run", "--resume needs the --out FILE that the earlier run wrote");
    return EXIT_GOOD;
}

/* Do all rows have one case? A CUDA variant without a GPU may have a smaller one. */
static bool one_case(const Plan *plan) {
    char first[CASE_TEXT_MAX], text[CASE_TEXT_MAX];
    for (int i = 0; i < plan->item_count; i++) {
        case_format(&plan->items[i].problem, i == 0 ? first : text, sizeof first);
        if (plan->items[i].emulated || (i > 0 && strcmp(first, text) != 0)) return false;
    }
    return plan->item_count > 0;
}

/* Makes the plan of the words and goes through it, or lists it. */
static int run(RunArguments *a, char **words, int count, Progress *progress, int argc, char **argv) {
    if (a->dry) return run_dry(a, words, count);
    char out[600], go_on[700];
    default_out(out, sizeof out, argv[0]);
    if (!a->options.out) a->options.out = out;
    progress_attach(progress, &a->options);
    a->options.argc = argc, a->options.argv = argv;
    Text left_out = {0};
    Plan plan = {.left_out = a->skip_unknown ? &left_out : NULL};
    RunSummary summary = {0};
    Table table = {0};
    progress->table = &table, progress->json = a->as_json;
    Status status = make_plan(a, words, count, &plan);
    progress->one_case = status == STATUS_OK && one_case(&plan);
    if (status == STATUS_OK) status = interrupt_catch(argv, a->options.out, a->options.out == out);
    if (status == STATUS_OK) status = run_plan(&plan, &a->options, &summary);
    snprintf(go_on, sizeof go_on, "--resume --out %s", a->options.out);
    const int code = run_finish(status, progress, &summary, a->options.out, go_on);
    table_free(&table);
    plan_free(&plan);
    text_free(&left_out);
    return code;
}

int command_run(int argc, char **argv) {
    RunArguments a = {.options = run_options_default(), .emulator = -1};
    Progress progress = progress_make();
    const CliOption OPTIONS[] = {
        {"variants", "GLOBS", CLI_TEXT, &a.variants, "variants to run, such as 'cuda_*,-cuda_apply,cpu_best threads=4'"},
        {"quick", NULL, CLI_FLAG, &a.quick, "few samples: a first look"},
        {"full", NULL, CLI_FLAG, &a.full, "many samples: for publication"},
        {"precision", "P%", CLI_TEXT, &a.precision,
         "end a mode's samples, too, once half of the median's 95% interval is P% of the median or less (0.5%)"},
        {"budget", "TIME", CLI_DURATION, &a.options.budget_seconds, "start no row after this time"},
        {"timeout", "TIME", CLI_DURATION, &a.options.timeout_seconds, "time limit for one call of a variant (default 120s)"},
        {"memory-limit", "SIZE", CLI_BYTES, &a.options.memory_limit_bytes, "host memory limit for one worker (default: none)"},
        {"device", "N", CLI_COUNT, &a.options.device, "CUDA device"},
        {"devices", "LIST", CLI_TEXT, &a.options.devices, "several, side by side: 0,1 or all"},
        {"out", "FILE", CLI_TEXT, &a.options.out, "results file, appended to (default: in the build folder)"},
        {"resume", NULL, CLI_FLAG, &a.options.resume, "skip rows that --out already has"},
        {"verify-only", NULL, CLI_FLAG, &a.options.verify_only, "verify only; do not time"},
        {"no-ceilings", NULL, CLI_FLAG, &a.options.no_ceilings, "do not measure the machine's peaks, nor the limits of rows"},
        {"bits", "CALLS", CLI_COUNT, &a.options.bit_calls,
         "repeated calls whose bits are compared (default: 100 to 1000 as time allows, none with --no-ceilings; 0: none)"},
        {"energy", NULL, CLI_FLAG, &a.options.energy, "measure the energy of a call, too: about 8 s a row (NVML; on a CPU RAPL)"},
        {"no-counts", NULL, CLI_FLAG, &a.options.no_counts, "do not count launches and bytes"},
        {"verbose", NULL, CLI_FLAG, &progress.verbose, "a line for each variant that does not apply, too"},
        {"fresh-workers", NULL, CLI_FLAG, &a.fresh, "a worker per row, instead of one for all cases of a variant in a scenario"},
        {"skip-unknown", NULL, CLI_FLAG, &a.skip_unknown,
         "leave out and list cases, suites and variants that this build does not know; no claims (`ab` uses it)"},
        {"emulate", NULL, CLI_FLAG, &a.emulate, "run CUDA variants in the emulator even where there is a GPU"},
        {"emulator", "address|race|memory", CLI_CHOICE, &a.emulator,
         "which emulator: memory errors (default), data races, unset values"},
        {"dry-run", NULL, CLI_FLAG, &a.dry, "list cases, variants, bytes and about how long they take; run nothing"},
        {"json", NULL, CLI_FLAG, &a.as_json, "rows on stdout, a line of JSON each, and nothing else; with --dry-run: an array"},
        {"sandbox", NULL, CLI_FLAG, &a.sandbox, "each worker in a sandbox (bubblewrap), as `rungs try` does"},
        {"draw", "DRAW", CLI_TEXT, &a.draw, "repeat a failure in timing: the `draw` of its row"},
        {"shard", "I/N", CLI_TEXT, &a.shard, "part I of N of the rows (1 <= I <= N); `rungs merge` joins the parts"},
        {0},
    };
    char **words;
    int count = 0;
    int code = cli_parse("run", "SCENARIO|CASE... [options]", OPTIONS, argc, argv, &words, &count);
    if (code == 0 && count == 0) code = cli_usage("run", "a scenario or a case is expected");
    apply_pace(&a);
    if (code == 0) code = check_together(&a);
    if (code != 0) return code;
    if (a.sandbox && !a.dry && sandbox_use() != STATUS_OK) return cli_fail(STATUS_UNSUPPORTED);
    return run(&a, words, count, &progress, argc, argv);
}

/* The first of the op's dtypes that the file says it takes; NULL: it says nothing. */
static const char *dtype_taken(const Op *op, const VariantEntry *entry) {
    for (const DType *dtype = case_dtypes(op); entry->variant->dtypes && *dtype != DTYPE_COUNT; dtype++)
        for (const char *const *taken = entry->variant->dtypes; *taken; taken++)
            if (strcmp(dtype_name(*dtype), *taken) == 0) return *taken;
    return NULL;
}

/* The cases of `rungs try`: "n=1e6" stands for the op's, of a dtype that the file takes; without one its default. */
static Status try_cases(const Op *op, const VariantEntry *entry, char *const *words, int count, Text *cases) {
    const char *dtype = dtype_taken(op, entry);
    Case problem;
    char text[CASE_TEXT_MAX];
    for (int i = 0; i < count; i++) {
        const bool named = strncmp(words[i], op->name, strlen(op->name)) == 0 && words[i][strlen(op->name)] == ' ';
        TRY(text_append(&cases[i], "%s%s%s", named ? "" : op->name, named ? "" : " ", words[i]));
        if (dtype && !strstr(words[i], "dtype=")) TRY(text_append(&cases[i], " dtype=%s", dtype));
    }
    if (count > 0) return STATUS_OK;
    TRY(case_init(op, &problem));
    if (dtype) (void)dtype_parse(dtype, &problem.dtype);
    return text_append(&cases[0], "%s", case_format(&problem, text, sizeof text));
}

/* The variant of the file, known by what its module says; a message where it has none. */
static Status try_file(const Binding *binding, const char *op_name, const Op **op, const VariantEntry **entry) {
    char path[PATH_MAX], bound[PATH_MAX];
    TRY(registry_require_op(op_name, op));
    if (!realpath(binding->file, path)) return status_fail(STATUS_INVALID, "%s: %s", binding->file, strerror(errno));
    const bool binds = binding_wanted(binding, path);
    if (binds) TRY(binding_make(binding, *op, path, bound));
    TRY(registry_add(&(const char *){binds ? bound : path}, 1, *op, entry));
    TRY(modules_need_one(*entry));
    if (!(*entry)->variant->error) return STATUS_OK;
    return status_fail(STATUS_CHECK, "%s%s", (*entry)->variant->error, binding_advice(binding, path));
}

/* A file that nobody knows: the race detector runs each launch until so many schedules show nothing new (docs/EMULATOR.md). */
static void try_schedules(void) {
    static const char VARIABLE[] = "RUNGS_EMULATOR_SCHEDULES";
    (void)setenv(VARIABLE, "6", 0);
    fprintf(stderr, "rungs try: races: each launch is run until %s schedules in a row show nothing new (%s)\n", getenv(VARIABLE),
            VARIABLE);
}

/* All families are verified before the first is timed: who is wrong in one gets no time. */
static int try_problem(RunArguments *a, const char *ladder, Progress *progress, char **words, int count, int argc, char **argv) {
    enum { CASES_MAX = 64 };
    Problem problem = {0};
    Text texts[CASES_MAX] = {{0}}, filter = {0};
    char out[600], *cases[CASES_MAX];
    const int paths = problem_paths(words, count);
    int made = 0;
    Status status = problem_add(words, paths, &problem);
    for (int i = paths; i < (count > paths ? count : paths + 1) && status == STATUS_OK; i++)
        for (const char *const *family = problem.op->families; *family && made < CASES_MAX && status == STATUS_OK; family++) {
            const char *word = i < count ? words[i] : "";
            const bool chosen = strstr(word, "input=") != NULL;
            if (chosen && family != problem.op->families) break;
            status = text_append(&texts[made], "%s %s%s%s", problem.op->name, word, chosen ? "" : " input=", chosen ? "" : *family);
            cases[made] = texts[made].text, made++;
        }
    if (status == STATUS_OK && ladder) status = text_append(&filter, "%s,%s", ladder, problem.variants[1]->id);
    a->variants = filter.text;
    default_out(out, sizeof out, "try");
    if (!a->options.out) a->options.out = out;
    const bool only = a->options.verify_only;
    if (status == STATUS_OK) fprintf(stderr, "rungs try: %s\n", problem.bound);
    int code = status == STATUS_OK ? EXIT_GOOD : cli_fail(status);
    a->options.verify_only = true;
    if (code == EXIT_GOOD) code = run(a, cases, made, progress, argc, argv);
    a->options.verify_only = false;
    if (code == EXIT_GOOD && !only && !a->dry) code = run(a, cases, 1, progress, argc, argv);
    for (int i = 0; i < made; i++) text_free(&texts[i]);
    text_free(&filter);
    return code;
}

int command_try(int argc, char **argv) {
    RunArguments a = {.options = run_options_default(), .emulator = -1};
    Progress progress = progress_make();
    const char *op_name = NULL, *ladder = NULL;
    Binding binding = {0};
    bool no_sandbox = false;
    const CliOption OPTIONS[] = {
        {"op", "NAME", CLI_TEXT, &op_name, "the op that the file computes: `rungs list ops`"},
        {"call", "CALL", CLI_TEXT, &binding.call,
         "how the file's function is called, with the names of the op's arrays and parameters: 'launcher(y, x, n, 256)'"},
        {"launch", "LAUNCH", CLI_TEXT, &binding.launch, "the same of a kernel: 'k<<<ceil(n/256), 256>>>(x, y, n)'"},
        {"variants", "GLOBS", CLI_TEXT, &ladder, "which of the op's variants run beside it (default: all)"},
        {"quick", NULL, CLI_FLAG, &a.quick, "few samples: a first look"},
        {"full", NULL, CLI_FLAG, &a.full, "many samples: for publication"},
        {"timeout", "TIME", CLI_DURATION, &a.options.timeout_seconds, "time limit for one call of a variant (default 120s)"},
        {"device", "N", CLI_COUNT, &a.options.device, "CUDA device"},
        {"out", "FILE", CLI_TEXT, &a.options.out, "results file, appended to (default: in the build folder)"},
        {"verify-only", NULL, CLI_FLAG, &a.options.verify_only, "verify only; do not time"},
        {"emulate", NULL, CLI_FLAG, &a.emulate, "run CUDA variants in the emulator even where there is a GPU"},
        {"emulator", "address|race|memory", CLI_CHOICE, &a.emulator,
         "which emulator: memory errors (default), data races, unset values"},
        {"dry-run", NULL, CLI_FLAG, &a.dry, "compile it and list what would run; run nothing"},
        {"no-sandbox", NULL, CLI_FLAG, &no_sandbox, "run it with all your rights, not in a sandbox (bubblewrap); rows say so"},
        {0},
    };
    enum { CASES_MAX = 64 };
    char **words, *cases[CASES_MAX];
    Text texts[CASES_MAX] = {{0}}, filter = {0};
    const Op *op = NULL;
    const VariantEntry *entry = NULL;
    int count = 0;
    if (program_is_given(argc, argv)) return program_try(argc, argv);
    argc = binding_flags(&binding, argc, argv);
    int code = cli_parse("try",
                         "FILE.c|FILE.cu|FILE.py --op NAME [CASE...] [options], or FILE.cu... [nvcc flags] [-- ARGUMENTS], "
                         "or a KernelBench problem: FOLDER|MODEL.py MODELNEW.py ['dtype=f16'] [options]",
                         OPTIONS, argc, argv, &words, &count);
    if (code == 0 && (count == 0 || count > CASES_MAX))
        code = cli_usage("try", "expected a file, and at most %d cases", CASES_MAX - 1);
    if (code == 0 && binding.call && binding.launch) code = cli_usage("try", "--call or --launch, not both");
    const bool problem = code == 0 && !op_name && problem_paths(words, count) > 0;
    if (code == 0 && !op_name && !problem) code = cli_usage("try", "--op NAME is missing: the op that %s computes", words[0]);
    apply_pace(&a);
    if (code != 0) return code;
    if (a.emulator == 1) try_schedules();
    a.options.memory_limit_bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 2;
    Status status = no_sandbox ? STATUS_OK : status_prefix(sandbox_use(), "not run (--no-sandbox runs it with all your rights): ");
    if (status == STATUS_OK && problem) return try_problem(&a, ladder, &progress, words, count, argc, argv);
    binding.file = words[0];
    if (status == STATUS_OK) status = try_file(&binding, op_name, &op, &entry);
    if (status == STATUS_CHECK) { /* the file's fault, and nothing to run */
        fprintf(stderr, "rungs try: %s\n", status_message());
        return EXIT_CHECK;
    }
    if (status == STATUS_OK) status = try_cases(op, entry, words + 1, count - 1, texts);
    if (status == STATUS_OK && ladder) status = text_append(&filter, "%s,%s", ladder, entry->id);
    if (status != STATUS_OK) return cli_fail(status);
    a.variants = filter.text;
    if (a.variants) modules_select(a.variants);
    const int case_count = count > 1 ? count - 1 : 1;
    for (int i = 0; i < case_count; i++) cases[i] = texts[i].text;
    code = run(&a, cases, case_count, &progress, argc, argv);
    for (int i = 0; i < case_count; i++) text_free(&texts[i]);
    text_free(&filter);
    return code;
}
