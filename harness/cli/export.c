/* rungs export: hands the rows to analysis/export/, which writes what other programs read. */
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/python.h"

#include <stdio.h>
#include <stdlib.h>

static int export_rows(char *const *words, int count, const char *out) {
    Words script = {0};
    Status status = STATUS_OK;
    for (int i = 0; i < count && status == STATUS_OK; i++) status = words_add(&script, words[i]);
    if (status == STATUS_OK) status = words_option(&script, "--out", out);
    return python_verb(status, "export", "analysis.export", &script);
}

int command_export(int argc, char **argv) {
    const char *out = NULL;
    const CliOption OPTIONS[] = {
        {"out", "FILE", CLI_TEXT, &out, "output file (default: stdout)", NULL},
        {0},
    };
    char **words = calloc((size_t)argc + 1, sizeof *words);
    int count = 0;
    int code = words ? cli_parse("export",
                                 "google-benchmark|nvbench|csv|parquet|junit|bmf|github-action-benchmark|openmetrics|markdown "
                                 "RESULTS.jsonl... [options]",
                                 OPTIONS, argc, argv, words, &count)
                     : cli_no_memory();
    if (code == 0 && count < 2) code = cli_usage("export", "expected a format and files of rows");
    if (code == 0) code = export_rows(words, count, out);
    free(words);
    return code == CLI_HELPED ? EXIT_GOOD : code;
}
