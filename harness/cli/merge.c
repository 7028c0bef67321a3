/* rungs merge: joins the files of `run --shard`, checks that they belong together, and lists missing rows. */
#include "pipeline/merge.h"
#include "base/foreign.h"
#include "cli/cases.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/options.h"
#include "cli/words.h"
#include "record/rowfile.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct MergeArguments {
    const char *out, *variants;
    Words expected; /* scenarios and cases */
    bool several_machines;
} MergeArguments;

static bool add_expected(void *target, const char *text) {
    Words *words = target;
    words_add(words, text);
    return words->status == STATUS_OK;
}

/* The texts of rows that the plan has and the lines have not. */
static Status find_missing(const MergeArguments *a, const json_t *lines, json_t **missing) {
    Plan plan = {0};
    Status status = cases_plan(&plan, "rungs merge --expect", (char *const *)(uintptr_t)a->expected.words, a->expected.count);
    if (status == STATUS_OK && a->variants) status = status_prefix(plan_filter(&plan, a->variants), "--variants: ");
    if (status == STATUS_OK) status = merge_missing(&plan, lines, missing);
    plan_free(&plan);
    return status;
}

static void tell(const MergeArguments *a, const Merged *merged, const json_t *missing, int files) {
    size_t i;
    json_t *row;
    json_array_foreach((json_t *)(uintptr_t)missing, i, row) printf("missing: %s\n", foreign_shown(json_string_value(row)));
    printf("%zu rows of %d files%s%s\n", merged->rows, files, a->out ? ": " : " agree", a->out ? a->out : "");
    if (merged->repeated > 0) printf("%zu emulated rows were in several files; one of each is kept\n", merged->repeated);
    if (merged->claims > 0)
        printf("%zu claims were judged in several files, each from a part of the rows: left out; 'rungs judge %s' judges them\n",
               merged->claims, a->out ? a->out : "FILE");
    if (json_array_size(missing) > 0) printf("%zu rows are missing\n", json_array_size(missing));
}

static int merge(const MergeArguments *a, const char *const *files, int count) {
    Merged merged = {0};
    json_t *missing = NULL;
    Status status = a->out ? inputs_spare("--out", a->out, files) : STATUS_OK;
    if (status == STATUS_OK) status = merge_files(files, a->several_machines, &merged);
    if (status == STATUS_OK && a->expected.count > 0) status = find_missing(a, merged.lines, &missing);
    if (status == STATUS_OK && a->out) status = rowfile_replace(a->out, merged.lines);
    if (status == STATUS_OK) tell(a, &merged, missing, count);
    const size_t lacking = json_array_size(missing), rows = merged.rows;
    json_decref(missing);
    json_decref(merged.lines);
    if (status != STATUS_OK) return cli_fail(status);
    return lacking > 0 ? EXIT_CHECK : rows > 0 ? EXIT_GOOD : EXIT_NOTHING;
}

int command_merge(int argc, char **argv) {
    MergeArguments a = {0};
    const CliOption OPTIONS[] = {
        {"out", "FILE", CLI_TEXT, &a.out, "the joined file, replacing it (default: the files are only checked)", NULL},
        {"expect", "SCENARIO|CASE", CLI_CALLBACK, &a.expected, "list its rows that the files lack; exit code 1 if any (repeatable)",
         add_expected},
        {"variants", "GLOBS", CLI_TEXT, &a.variants, "with --expect: only the rows of these variants, as of `rungs run`", NULL},
        {"several-machines", NULL, CLI_FLAG, &a.several_machines,
         "times may come from several machines of one kind (GPU, driver branch, power cap, CPU model)", NULL},
        {0},
    };
    char **words;
    int count = 0;
    int code = cli_parse("merge", "RESULTS.jsonl... [options]", OPTIONS, argc, argv, &words, &count);
    if (code == 0 && count == 0) code = cli_usage("merge", "expected files of rows");
    if (code == 0 && a.variants && a.expected.count == 0) code = cli_usage("merge", "--variants needs --expect");
    if (code == 0) code = merge(&a, (const char *const *)words, count);
    words_free(&a.expected);
    return code;
}
