/* rungs merge: joins the files of `run --shard`, checks that they belong together, and lists missing rows. This file knows which
 * rows a scenario has; analysis/compare/merge.py joins. */
#include "base/jsontext.h"
#include "base/memory.h"
#include "base/temporary.h"
#include "cli/cases.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/options.h"
#include "cli/python.h"
#include "pipeline/evaluate.h"
#include "plan/registry.h"

#include <unistd.h>

typedef struct MergeArguments {
    const char *out, *variants;
    Words expected; /* scenarios and cases */
    bool several_machines;
} MergeArguments;

/* "case" and "spec" of a row as it would be written; and "emulated": its case in the emulator, for which one row may stand, too. */
static Status add_row(const PlanItem *item, const VariantChoice *choice, json_t *rows) {
    Row row, emulated = {0};
    Status status = row_begin("", item, plan_item_case(item, false), choice, false, &row);
    if (status == STATUS_OK && choice->entry->backend == BACKEND_CUDA)
        status = row_begin("", item, plan_item_case(item, true), choice, true, &emulated);
    json_t *expected =
        status == STATUS_OK ? json_pack("{s:s, s:s, s:s}", "case", row.text, "spec", row.spec, "emulated", emulated.text) : NULL;
    if (status == STATUS_OK && (!expected || json_array_append_new(rows, expected) != 0))
        status = status_fail(STATUS_MEMORY, "no memory for a row");
    row_free(&row);
    row_free(&emulated);
    return status;
}

/* Writes the rows of the plan to a file that Python inherits. */
static Status expect(const MergeArguments *a, int descriptor) {
    Plan plan = {0};
    json_t *rows = json_array();
    if (a->variants) modules_select(a->variants);
    Status status = cases_plan(&plan, "rungs merge --expect", a->expected.words, a->expected.count);
    if (status == STATUS_OK && a->variants) status = status_prefix(plan_filter(&plan, a->variants), "--variants: ");
    for (int i = 0; i < plan.item_count && status == STATUS_OK; i++)
        for (int v = 0; v < plan.items[i].variant_count && status == STATUS_OK; v++)
            status = add_row(&plan.items[i], &plan.items[i].variants[v], rows);
    if (status == STATUS_OK && json_dumpfd(rows, descriptor, JSON_COMPACT) != 0)
        status = status_fail(STATUS_IO, "the expected rows cannot be written to a file in %s (TMPDIR)", temporary_place());
    plan_free(&plan);
    json_decref(rows);
    return status;
}

static int merge(MergeArguments *a, const CliOption *options, const char *const *files) {
    Words words = {0};
    TemporaryFile expected = {.descriptor = -1};
    Status status = files_check(options, files, false);
    if (status == STATUS_OK && a->expected.count > 0) {
        status = temporary_open(true, &expected);
        if (status == STATUS_OK) status = expect(a, expected.descriptor);
        words_add(&words, "--expected=%s", expected.path);
        a->variants = NULL; /* Python needs none */
    }
    words_options(&words, options);
    words_add(&words, "--");
    for (const char *const *file = files; *file; file++) words_add(&words, "%s", *file);
    const PythonVerb verb = {"rungs: ", "analysis.compare.merge", true, options, files};
    const int code = status == STATUS_OK ? python_verb(&verb, &words) : (words_free(&words), cli_fail(status));
    if (expected.descriptor >= 0) close(expected.descriptor);
    return code;
}

int command_merge(int argc, char **argv) {
    MergeArguments a = {0};
    const CliOption OPTIONS[] = {
        {"out", "FILE", CLI_FILE, &a.out, "the joined file, replacing it (default: the files are only checked)"},
        {"expect", "SCENARIO|CASE", CLI_LIST, &a.expected, "list its rows that the files lack; exit code 1 if any (repeatable)"},
        {"variants", "GLOBS", CLI_TEXT, &a.variants, "with --expect: only the rows of these variants, as of `rungs run`"},
        {"several-machines", NULL, CLI_FLAG, &a.several_machines,
         "times may come from several machines of one kind (GPU, driver branch, power cap, CPU model)"},
        {0},
    };
    char **words;
    int count = 0;
    int code = cli_parse("merge", "RESULTS.jsonl... [options]", OPTIONS, argc, argv, &words, &count);
    if (code == 0 && count == 0) code = cli_usage("merge", "expected files of rows");
    if (code == 0 && a.variants && a.expected.count == 0) code = cli_usage("merge", "--variants needs --expect");
    if (code == 0) code = merge(&a, OPTIONS, (const char *const *)words);
    words_free(&a.expected);
    return code;
}
