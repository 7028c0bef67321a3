/* rungs export: hands the rows to analysis/export/, which writes what other programs read. */
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/python.h"

#include <stddef.h>

int command_export(int argc, char **argv) {
    const char *out = NULL;
    const CliOption OPTIONS[] = {
        {"out", "FILE", CLI_TEXT, &out, "output file (default: stdout)", NULL},
        {0},
    };
    char **words;
    int count = 0;
    int code = cli_parse("export",
                         "google-benchmark|nvbench|csv|parquet|junit|bmf|github-action-benchmark|openmetrics|markdown "
                         "RESULTS.jsonl... [options]",
                         OPTIONS, argc, argv, &words, &count);
    if (code == 0 && count < 2) code = cli_usage("export", "expected a format and files of rows");
    if (code != 0) return code;
    Words script = {0};
    for (int i = 0; i < count; i++) words_add(&script, words[i]);
    words_option(&script, "--out", out);
    return python_verb(&(PythonVerb){.verb = "export",
                                     .module = "analysis.export",
                                     .outputs = (const OutputName[]){{"--out", out}, {0}},
                                     .inputs = (const char *const *)words + 1},
                       &script);
}
