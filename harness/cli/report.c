/* rungs report: hands the rows to analysis/report/ or analysis/history/, which read rows only. rungs judge: published claims from
 * rows. */
#include "base/output.h"
#include "base/places.h"
#include "base/temporary.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/python.h"
#include "pipeline/run.h"
#include "plan/build.h"
#include "record/row.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Claims, judged from rows by the scenarios' current rules. */

/* A build without CUDA does not know the tunables of the variants that most claims are about. */
static bool can_judge(void) {
    return !variant_not_built("cuda_naive");
}

static Status judge_claims(const char *const *files, json_t **out) {
    Plan plan = {0};
    *out = NULL;
    const bool can = can_judge();
    Status status = can ? plan_add_all(&plan, places_project("scenarios")) : STATUS_OK;
    if (status == STATUS_OK) status = claims_of_files(&plan, files, out); /* reads them in any case: bad ones come first */
    plan_free(&plan);
    if (status != STATUS_OK || can) return status;
    return status_fail(STATUS_UNSUPPORTED, "this build has no CUDA variants and cannot judge most claims; the claim records in the "
                                           "files stay valid");
}

static int judge(const char *const *files, const CliOption *options, const char *path) {
    json_t *claims = NULL, *claim;
    size_t i;
    ClaimTotals totals = {0};
    Status status = files_check(options, files, false);
    if (status == STATUS_OK) status = judge_claims(files, &claims);
    if (status == STATUS_OK && path) status = rowfile_replace(path, claims);
    json_array_foreach(claims, i, claim) {
        if (status == STATUS_OK) progress_claim(stdout, claim);
        claim_count(claim, &totals);
    }
    const size_t all = json_array_size(claims);
    json_decref(claims);
    if (status != STATUS_OK) return cli_fail(status);
    progress_claims(stdout, &totals);
    if (path) printf("claims: %s\n", path);
    if (all > 0) return EXIT_GOOD;
    fprintf(stderr,
            "rungs judge: no claim was judged: the files hold no row of a scenario with claims ('list claims' has them all)\n");
    return EXIT_NOTHING;
}

int command_judge(int argc, char **argv) {
    const char *out = NULL;
    const CliOption OPTIONS[] = {
        {"out", "FILE", CLI_FILE, &out, "also write claim records to this file, replacing it"},
        {0},
    };
    char **words;
    glob_t committed = {0};
    int count = 0;
    int code = cli_parse("judge", "[RESULTS.jsonl...] [options]", OPTIONS, argc, argv, &words, &count);
    if (code == 0 && count == 0) code = files_campaign("judge", &committed);
    if (code == 0) code = judge((const char *const *)(count ? words : committed.gl_pathv), OPTIONS, out);
    globfree(&committed);
    return code;
}

/* ---- Pages. */

/* The files that Python writes; NULL: none. */
typedef struct Page {
    const char *module, *markdown, *figures, *details, *html;
    bool html_optional; /* go on without the package that it needs */
    bool numbers;       /* in README.md and docs/ too */
} Page;

/* A device or a pipe. No file can be put beside it, and it can be read only once. */
static bool is_stream(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode);
}

static int make_page(Page page, const char *const *files) {
    const char *repository = places_project("");
    const CliOption OPTIONS[] = {
        {"out", "", CLI_FILE, &page.markdown, ""},      {"figures", "", CLI_TEXT, &page.figures, ""},
        {"details", "", CLI_TEXT, &page.details, ""},   {"html", "", CLI_FILE, &page.html, ""},
        {"repository", "", CLI_TEXT, &repository, ""},  {"html-optional", NULL, CLI_FLAG, &page.html_optional, ""},
        {"numbers", NULL, CLI_FLAG, &page.numbers, ""}, {0}};
    Words words = {0};
    Text output = {0};
    int code = 0;
    for (int i = 0; files[i]; i++) words_add(&words, "%s", files[i]);
    words_options(&words, OPTIONS);
    Status status = files_check(OPTIONS, files, true);
    if (status == STATUS_OK) status = python_make(page.module, &words, files, &output, &code);
    words_free(&words);
    if (status != STATUS_OK) return text_free(&output), cli_fail(status);
    if (code != 0)
        fprintf(stderr, "rungs report: %s", output.text ? output.text : "could not write the report\n");
    else {
        fprintf(is_stream(page.markdown) ? stderr : stdout, "report: %s\nfigures: %s\n", page.markdown, page.figures);
        if (page.html && access(page.html, F_OK) == 0) printf("to filter and sort: %s\n", page.html);
    }
    text_free(&output);
    return code == EXIT_GOOD || code == EXIT_USAGE || code == EXIT_NOTHING ? code : EXIT_MACHINE;
}

/* A pipe can be read only once, but both this program, for the claims, and Python read it: it becomes a file. */
static Status keep_pipe(const char *from, const char **path) {
    TemporaryFile *file = malloc(sizeof *file); /* until the program ends */
    char *text = NULL;
    size_t length;
    if (!file) return status_fail(STATUS_MEMORY, "%s: no memory to read it", from);
    TRY(text_read_file(from, &text, &length));
    Status status = temporary_open(true, file);
    if (status == STATUS_OK && !output_write_all(file->descriptor, text, length))
        status = status_fail(STATUS_IO, "%s: cannot be copied to %s (TMPDIR): %s", from, temporary_place(), strerror(errno));
    free(text);
    *path = file->path;
    return status;
}

static Status keep_pipes(const char **files) {
    for (; *files; files++)
        if (is_stream(*files)) TRY(keep_pipe(*files, files));
    return STATUS_OK;
}

static Status judge_to(const char *const *files, const char *out) {
    json_t *claims = NULL;
    TRY(judge_claims(files, &claims));
    const Status status = rowfile_replace(out, claims);
    json_decref(claims);
    return status;
}

/* The report of these files, with the claims judged anew: rules may have changed since the runs. */
static int make_report(const Page *page, const char *const *files) {
    TemporaryFile judged;
    size_t count = 0;
    while (files[count]) count++;
    if (!can_judge()) return make_page(*page, files);
    const char **all = calloc(count + 2, sizeof *all);
    Status status = all ? STATUS_OK : status_fail(STATUS_MEMORY, "no memory for %zu names", count);
    for (size_t i = 0; all && i < count; i++) all[i] = files[i];
    if (status == STATUS_OK) status = keep_pipes(all);
    if (status == STATUS_OK) status = temporary_open(true, &judged);
    if (status == STATUS_OK) status = judge_to(all, judged.path);
    if (status == STATUS_OK) all[count] = judged.path;
    const int code = status == STATUS_OK ? make_page(*page, all) : cli_fail(status);
    free(all);
    return code;
}

int report_make(const char *const *files, const char *folder) {
    char markdown[700], figures[700], html[700];
    snprintf(markdown, sizeof markdown, "%s/REPORT.md", folder);
    snprintf(figures, sizeof figures, "%s/figures", folder);
    snprintf(html, sizeof html, "%s/report.html", folder);
    return make_report(
        &(Page){.module = "analysis.report", .markdown = markdown, .figures = figures, .html = html, .html_optional = true}, files);
}

/* Where a page and its figures go: into the checkout only if an option says so. */
typedef struct Place {
    const char *page, *figures, *html; /* as given; NULL: not */
    const char *details;               /* NULL: beside the page */
    bool committed;
    char page_text[700], figures_text[700];
} Place;

static int choose_place(Place *place, bool history) {
    if (place->committed && (place->page || place->figures || history))
        return cli_usage("report", "--committed cannot be combined with --out, --figures or --history");
    if (place->html && history)
        return cli_usage("report",
                         "--html cannot be combined with --history: the page shows the history of the files that you name");
    if (place->committed) {
        place->page = places_project("REPORT.md"), place->figures = places_project("docs/figures"),
        place->details = places_project("docs/results");
        return EXIT_GOOD;
    }
    if (!place->page) {
        snprintf(place->page_text, sizeof place->page_text, "%s/%s", places_build(""),
                 history ? "history/HISTORY.md" : "report/REPORT.md");
        place->page = place->page_text;
    }
    if (is_stream(place->page)) {
        place->details = places_build("report/results");
        if (!place->figures) place->figures = places_build("report/figures");
    }
    if (!place->figures) { /* beside the page */
        const char *slash = strrchr(place->page, '/');
        const int folder = slash ? (int)(slash - place->page) + 1 : 0;
        if (snprintf(place->figures_text, sizeof place->figures_text, "%.*sfigures", folder, place->page) >=
            (int)sizeof place->figures_text)
            return cli_usage("report", "--out: path too long");
        place->figures = place->figures_text;
    }
    return EXIT_GOOD;
}

static int report_files(char **words, int count, const Place *place) {
    glob_t committed = {0};
    int code = EXIT_GOOD;
    if (count == 0 && glob(places_project("results/*.jsonl"), 0, NULL, &committed) != 0)
        code = cli_usage("report", "no .jsonl files in results/; name the files to report on");
    else
        code = make_report(&(Page){.module = "analysis.report",
                                   .markdown = place->page,
                                   .figures = place->figures,
                                   .html = place->html,
                                   .details = place->details,
                                   .numbers = place->committed},
                           (const char *const *)(count ? words : committed.gl_pathv));
    globfree(&committed);
    return code;
}

int command_report(int argc, char **argv) {
    const char *history = NULL;
    Place place = {0};
    const CliOption OPTIONS[] = {
        {"out", "FILE", CLI_TEXT, &place.page, "the page (default: report/REPORT.md, or history/HISTORY.md, in the build folder)"},
        {"figures", "FOLDER", CLI_TEXT, &place.figures, "where figures go (default: figures/ beside the page)"},
        {"html", "FILE", CLI_TEXT, &place.html, "also write all rows as one interactive page that needs no network"},
        {"committed", NULL, CLI_FLAG, &place.committed,
         "write REPORT.md, docs/results and docs/figures of this checkout, and the numbers in README.md and docs/"},
        {"history", "FOLDER", CLI_TEXT, &history,
         "instead of the report: each case over the commits in this folder's .jsonl files"},
        {0},
    };
    char **words;
    int count = 0;
    int code = cli_parse("report", "[RESULTS.jsonl...] [options]", OPTIONS, argc, argv, &words, &count);
    if (code == 0) code = choose_place(&place, history != NULL);
    if (code == 0 && history) {
        words[count++] = (char *)history; /* as one more place of rows; argv[0] left room for it */
        code = make_page((Page){.module = "analysis.history", .markdown = place.page, .figures = place.figures},
                         (const char *const *)words);
    } else if (code == 0) {
        code = report_files(words, count, &place);
    }
    return code;
}
