/* rungs report: hands the rows to plots/report.py, which knows nothing but rows. */
#include "cli/report.h"

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/python.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

static int make_report(const char *const *files, const char *markdown, const char *figures) {
    Words words = {0};
    Text output = {0};
    int code = 0;
    Status status = STATUS_OK;
    for (int i = 0; files[i] && status == STATUS_OK; i++) status = words_add(&words, files[i]);
    if (status == STATUS_OK) status = words_option(&words, "--out", markdown);
    if (status == STATUS_OK) status = words_option(&words, "--figures", figures);
    if (status == STATUS_OK) status = python_run("plots/report.py", &words, &output, &code);
    words_free(&words);
    if (status != STATUS_OK) return cli_fail(status);
    if (code != 0)
        fprintf(stderr, "rungs report: %s", output.text ? output.text : "the report could not be made\n");
    else
        printf("report: %s\nfigures: %s\n", markdown, figures);
    text_free(&output);
    return code == 0 ? EXIT_GOOD : code == 2 ? EXIT_USAGE : EXIT_MACHINE;
}

int report_make(const char *const *files, const char *folder) {
    char markdown[700], figures[700];
    snprintf(markdown, sizeof markdown, "%s/REPORT.md", folder);
    snprintf(figures, sizeof figures, "%s/figures", folder);
    return make_report(files, markdown, figures);
}

int command_report(int argc, char **argv) {
    const char *markdown = RUNGS_SOURCE_DIR "/REPORT.md", *figures = RUNGS_SOURCE_DIR "/docs/figures";
    const CliOption OPTIONS[] = {
        {"out", "FILE", CLI_TEXT, &markdown, "the report (default: REPORT.md of this checkout)", NULL},
        {"figures", "FOLDER", CLI_TEXT, &figures, "where figures go (default: docs/figures)", NULL},
        {0},
    };
    char **words = calloc((size_t)argc + 1, sizeof *words);
    glob_t committed = {0};
    int count = 0;
    int code = words ? cli_parse("report", "[RESULTS.jsonl...] [options]", OPTIONS, argc, argv, words, &count) : EXIT_MACHINE;
    if (code == 0 && count == 0 && glob(RUNGS_SOURCE_DIR "/results/*.jsonl", 0, NULL, &committed) != 0)
        code = cli_usage("report", "results/ holds no .jsonl yet; name the files to report on");
    if (code == 0) code = make_report((const char *const *)(count ? words : committed.gl_pathv), markdown, figures);
    globfree(&committed);
    free(words);
    return code == CLI_HELPED ? EXIT_GOOD : code;
}
