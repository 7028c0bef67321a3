/* rungs report: hands the rows to analysis/report/ or analysis/history/, which know nothing but rows. */
#include "cli/report.h"

#include "cli/claims.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/python.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int make_page(const char *module, const char *const *files, const char *markdown, const char *figures) {
    Words words = {0};
    Text output = {0};
    int code = 0;
    Status status = STATUS_OK;
    for (int i = 0; files[i] && status == STATUS_OK; i++) status = words_add(&words, files[i]);
    if (status == STATUS_OK) status = words_option(&words, "--out", markdown);
    if (status == STATUS_OK) status = words_option(&words, "--figures", figures);
    if (status == STATUS_OK) status = python_run(module, &words, &output, &code);
    words_free(&words);
    if (status != STATUS_OK) return cli_fail(status);
    if (code != 0)
        fprintf(stderr, "rungs report: %s", output.text ? output.text : "the report could not be made\n");
    else
        printf("report: %s\nfigures: %s\n", markdown, figures);
    text_free(&output);
    return code == EXIT_GOOD || code == EXIT_USAGE || code == EXIT_NOTHING ? code : EXIT_MACHINE;
}

/* The report of these files, with the claims judged anew: rules may have changed since the runs. */
static int make_report(const char *const *files, const char *markdown, const char *figures) {
    char judged[700];
    json_t *claims = NULL;
    size_t count = 0;
    while (files[count]) count++;
    if (!claims_can_be_judged()) return make_page("analysis.report", files, markdown, figures);
    const char **all = calloc(count + 2, sizeof *all);
    snprintf(judged, sizeof judged, "%s/judged-%d.jsonl", RUNGS_BINARY_DIR, (int)getpid());
    Status status = all ? claims_judge(files, &claims) : status_fail(STATUS_MEMORY, "no memory for %zu names", count);
    if (status == STATUS_OK) status = claims_write(claims, judged);
    for (size_t i = 0; all && i < count; i++) all[i] = files[i];
    if (all) all[count] = judged;
    const int code = status == STATUS_OK ? make_page("analysis.report", all, markdown, figures) : cli_fail(status);
    unlink(judged);
    json_decref(claims);
    free(all);
    return code;
}

int report_make(const char *const *files, const char *folder) {
    char markdown[700], figures[700];
    snprintf(markdown, sizeof markdown, "%s/REPORT.md", folder);
    snprintf(figures, sizeof figures, "%s/figures", folder);
    return make_report(files, markdown, figures);
}

int command_report(int argc, char **argv) {
    const char *history = NULL, *markdown = NULL, *figures = RUNGS_SOURCE_DIR "/docs/figures";
    const CliOption OPTIONS[] = {
        {"out", "FILE", CLI_TEXT, &markdown, "the page (default: REPORT.md, or HISTORY.md, of this checkout)", NULL},
        {"figures", "FOLDER", CLI_TEXT, &figures, "where figures go (default: docs/figures)", NULL},
        {"history", "FOLDER", CLI_TEXT, &history, "instead: each case over the commits of this folder's .jsonl files", NULL},
        {0},
    };
    char **words = calloc((size_t)argc + 1, sizeof *words);
    glob_t committed = {0};
    int count = 0;
    int code = words ? cli_parse("report", "[RESULTS.jsonl...] [options]", OPTIONS, argc, argv, words, &count) : EXIT_MACHINE;
    if (code == 0 && history) {
        words[count++] = (char *)history; /* as one more place of rows; argv[0] left room for it */
        code = make_page("analysis.history", (const char *const *)words, markdown ? markdown : RUNGS_SOURCE_DIR "/HISTORY.md",
                         figures);
    } else if (code == 0) {
        if (count == 0 && glob(RUNGS_SOURCE_DIR "/results/*.jsonl", 0, NULL, &committed) != 0)
            code = cli_usage("report", "results/ holds no .jsonl yet; name the files to report on");
        else
            code = make_report((const char *const *)(count ? words : committed.gl_pathv),
                               markdown ? markdown : RUNGS_SOURCE_DIR "/REPORT.md", figures);
    }
    globfree(&committed);
    free(words);
    return code == CLI_HELPED ? EXIT_GOOD : code;
}
