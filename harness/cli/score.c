/* rungs score: files of others as a program judges them, one line each, by harness/cli/score.py, which calls `rungs try`. */
#include "base/places.h"
#include "cli/binding.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "plan/build.h"
#include "plan/registry.h"
#include "record/program.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_file(const char *word) {
    const char *const dot = strrchr(word, '.');
    return dot && (strcmp(dot, ".c") == 0 || strcmp(dot, ".cu") == 0 || strcmp(dot, ".py") == 0);
}

/* Its tunables are `rungs try`'s to judge. */
static Status check_over(const Op *op, const char *over) {
    char name[256], id[SPEC_TEXT_MAX];
    int entries;
    const VariantEntry *all = registry_variants(&entries);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(over, " "), over);
    for (int i = 0; i < entries; i++)
        if (strcmp(all[i].op, op->name) == 0 && request_may_name(&(Request){.pattern = name}, &all[i])) return STATUS_OK;
    snprintf(id, sizeof id, "%s%s%s", strchr(name, '/') ? "" : op->name, strchr(name, '/') ? "" : "/", name);
    const Status status = registry_require_variant(id, &all);
    return status == STATUS_OK ? status_fail(STATUS_INVALID, "%s is no variant of %s", name, op->name)
                               : status_prefix(status, "--over: ");
}

static int check(char *const *words, int count, const char *op_name, const char *over) {
    const Op *op;
    bool any = false;
    for (int i = 0; i < count; i++) any = any || is_file(words[i]);
    if (!any) return cli_usage("score", "no file is named: FILE.c, FILE.cu or FILE.py");
    if (!op_name || !over) return cli_usage("score", "--op NAME and --over VARIANT are expected");
    Status status = registry_require_op(op_name, &op);
    if (status == STATUS_OK) status = check_over(op, over);
    return status == STATUS_OK ? 0 : cli_fail(status);
}

int command_score(int argc, char **argv) {
    const char *op = NULL, *over = NULL, *out = NULL, *timeout = NULL, *device = NULL, *emulator = NULL;
    double limit = 600;
    bool as_json = false, resume = false, quick = false, full = false, verify_only = false, emulate = false, no_sandbox = false;
    Binding binding = {0};
    const CliOption HANDED[] = {
        {"op", "NAME", CLI_TEXT, &op, "the op that the files compute: `rungs list ops`"},
        {"over", "VARIANT", CLI_TEXT, &over, "the op's variant that runs beside each file, and whose times are compared"},
        {"json", NULL, CLI_FLAG, &as_json, "print the lines of JSON, not a summary of them"},
        {"out", "FILE", CLI_TEXT, &out, "keep the lines in a file, which is new"},
        {"resume", NULL, CLI_FLAG, &resume, "go on with the files of which --out has no line"},
        {"call", "CALL", CLI_TEXT, &binding.call, "how the files' function is called, as in `rungs try`"},
        {"launch", "LAUNCH", CLI_TEXT, &binding.launch, "the same of a kernel"},
        {"quick", NULL, CLI_FLAG, &quick, "few samples: a first look"},
        {"full", NULL, CLI_FLAG, &full, "many samples: for publication"},
        {"timeout", "TIME", CLI_TEXT, &timeout, "time limit for one call of a variant (default 120s)"},
        {"device", "N", CLI_TEXT, &device, "CUDA device"},
        {"verify-only", NULL, CLI_FLAG, &verify_only, "verify only; do not time"},
        {"emulate", NULL, CLI_FLAG, &emulate, "run CUDA variants in the emulator even where there is a GPU"},
        {"emulator", "address|race|memory", CLI_TEXT, &emulator,
         "which emulator: memory errors (default), data races, unset values"},
        {"no-sandbox", NULL, CLI_FLAG, &no_sandbox, "run them with all your rights, not in a sandbox (bubblewrap); lines say so"},
        {0},
    };
    enum { HANDED_COUNT = sizeof HANDED / sizeof *HANDED };
    CliOption options[HANDED_COUNT + 1] = {
        {"limit", "TIME", CLI_DURATION, &limit, "for one file to be compiled, and again for it to be run (default 10min)"}};
    memcpy(options + 1, HANDED, sizeof HANDED);
    char **words;
    int count = 0;
    argc = binding_flags(&binding, argc, argv);
    int code = cli_parse("score", "FILE... --op NAME --over VARIANT [CASE...] [options]", options, argc, argv, &words, &count);
    if (code == 0 && resume && !out) code = cli_usage("score", "--resume: name the file of the lines with --out");
    if (code == 0) code = check(words, count, op, over);
    if (code != 0) return code;
    Words argument = {0};
    words_add(&argument, "%s", modules_settings()->python);
    words_add(&argument, "%s", places_harness("harness/cli/score.py"));
    words_options(&argument, HANDED);
    words_add(&argument, "--limit=%g", limit);
    for (int i = 0; i < binding.flag_count; i++) words_add(&argument, "--flag=%s", binding.flags[i]);
    words_add(&argument, "--");
    words_add(&argument, "%s", places_beside(PROGRAM.project));
    words_add(&argument, "%s", modules_tried());
    for (int i = 0; i < count; i++) words_add(&argument, "%s", words[i]);
    if (argument.status != STATUS_OK) return cli_fail(argument.status);
    fflush(NULL);
    execvp(argument.words[0], argument.words);
    return cli_fail(status_fail(STATUS_UNSUPPORTED, "%s: cannot be started: %s", argument.words[0], strerror(errno)));
}
