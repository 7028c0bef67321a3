/* rungs reproduce: the claims of the published scenarios, or what a tier's time allows of them; then figures and REPORT.md, all in
 * one folder of the build. */
#include "base/clock.h"
#include "base/foreign.h"
#include "base/jsontext.h"
#include "base/output.h"
#include "base/places.h"
#include "base/process.h"
#include "cli/cases.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "pipeline/run.h"
#include "plan/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMED_MAX = 8 }; /* claims that are named; more are counted */

typedef struct Reproduce {
    RunOptions options;
    Progress progress;
    Plan plan;
    Campaign campaign;
    Tier tier;
    bool quick, full, dry, as_json;
    const char *folder;
    double begin;
} Reproduce;

static const char *tier_name(Tier tier) {
    return tier == TIER_QUICK ? "--quick" : tier == TIER_FULL ? "--full" : "default";
}

static void report_plan(Reproduce *r) {
    const Campaign *campaign = &r->campaign;
    char seconds[32], claims[160] = "", text[600];
    progress_duration(plan_seconds(&r->plan), seconds);
    if (r->plan.claim_count > 0)
        snprintf(claims, sizeof claims, "%zu of %d claims, %d process%s each%s: %zu rows for them and ", campaign->claims,
                 r->plan.claim_count, campaign_processes(r->tier), campaign_processes(r->tier) == 1 ? "" : "es",
                 r->tier == TIER_FULL ? "" : " (provisional)", campaign->claim_rows);
    snprintf(text, sizeof text, "%s: %s%zu %s; about %s on an H200 and its host", tier_name(r->tier), claims, campaign->other_rows,
             *claims ? "others" : "rows", seconds);
    progress_notice(&r->progress, text);
}

static bool is_left(const Reproduce *r, int claim) {
    return !r->campaign.judged[claim];
}
/* Judged without a number of ours: no GPU, say. */
static bool is_untestable(const Reproduce *r, int claim) {
    const json_t *line = json_array_get(r->progress.claims, (size_t)claim);
    return !is_left(r, claim) && !json_is_number(json_object_get(line, "here"));
}

/* The claims' names in one line, or, where they are many, how many of each op; then how many. */
static void print_names(const Reproduce *r, bool (*has)(const Reproduce *, int), const char *what, const char *advice) {
    const Claim *claims = r->plan.claims;
    size_t count = 0;
    for (int i = 0; i < r->plan.claim_count; i++) count += has(r, i);
    if (count == 0) return;
    const char *between = ": ";
    printf("%s", what);
    for (int i = 0; i < r->plan.claim_count; i++) {
        size_t before = 0, alike = 0;
        for (int j = 0; j < r->plan.claim_count; j++)
            if (has(r, j) && strcmp(claims[j].op, claims[i].op) == 0) before += j < i, alike++;
        if (!has(r, i) || (count > NAMED_MAX && before > 0)) continue;
        printf("%s%s", between, foreign_shown(count > NAMED_MAX ? claims[i].op : claims[i].id));
        if (count > NAMED_MAX) printf(" %zu", alike);
        between = ", ";
    }
    printf("\n%zu claim%s %s%s\n", count, count == 1 ? "" : "s", what, advice);
}

/* A line for each claim that has a number; then the others. */
static void print_claims(const Reproduce *r) {
    for (int i = 0; i < r->plan.claim_count && (size_t)i < json_array_size(r->progress.claims); i++)
        if (!is_left(r, i) && !is_untestable(r, i)) progress_claim(stdout, json_array_get(r->progress.claims, (size_t)i));
    print_names(r, is_untestable, "not testable here", "; REPORT.md says why");
    print_names(r, is_left, "not run", r->tier == TIER_FULL ? "" : "; rungs reproduce --full runs all that can be run");
}

static Status make_plan(Reproduce *r, char *const *words, int count) {
    TRY(cases_plan(&r->plan, "rungs reproduce", words, count));
    if (count == 0) TRY(plan_add_named(&r->plan, places_project("scenarios"), "published"));
    if (count == 0 && r->tier == TIER_FULL) {
        static const char *const ALSO[] = {"limits", "gates", "sweeps"};
        for (int i = 0; i < 3; i++) TRY(plan_add_named(&r->plan, places_project("scenarios"), ALSO[i]));
    }
    return campaign_select(&r->plan, r->tier, &r->campaign);
}

static void set_pace(Reproduce *r) {
    RunOptions *options = &r->options;
    r->tier = r->quick ? TIER_QUICK : r->full ? TIER_FULL : TIER_DEFAULT;
    options->min_samples = r->quick ? 3 : 9, options->max_samples = r->quick ? 15 : 31;
    options->seconds_per_mode = 0.2; /* intervals are between processes: more samples of one say little */
    if (options->budget_seconds == 0) options->budget_seconds = campaign_budget(r->tier);
    options->least_rows = 1; /* peaks alone are no result */
    options->one_campaign = true;
    progress_attach(&r->progress, options);
}

static int work(Reproduce *r, char **argv, char *const *words, int count) {
    char rows[700], kept[700] = "", took[32];
    RunSummary summary = {0};
    snprintf(rows, sizeof rows, "%s/rows.jsonl", r->folder);
    r->options.out = rows;
    Status status = make_plan(r, words, count);
    if (r->dry) return status == STATUS_OK ? dry_run(&r->plan, &r->options, r->as_json) : cli_fail(status);
    /* Not before the words are known to be right. */
    if (status == STATUS_OK) status = output_make_folder(r->folder, 0777);
    if (status == STATUS_OK && !r->options.resume) status = files_keep_earlier(r->folder, kept, sizeof kept);
    if (*kept) fprintf(stderr, "rungs: the earlier rows, report and figures are kept in %s\n", kept);
    if (status == STATUS_OK) status = interrupt_catch(argv, rows, false);
    if (status == STATUS_OK) report_plan(r);
    if (status == STATUS_OK) status = run_plan(&r->plan, &r->options, &summary);
    int code = run_finish(status, &r->progress, &summary, rows, "--resume");
    if (status != STATUS_OK || interrupt_pending()) return code;
    const int reported = report_make((const char *const[]){rows, NULL}, r->folder);
    if (interrupt_pending()) return interrupt_end(&r->progress, &summary);
    progress_duration(clock_seconds() - r->begin, took);
    printf("it took %s\n", took);
    print_claims(r);
    /* A variant that fails where a claim's own hazard says it must is a finding, not a failure of reproduce. */
    return reported != EXIT_GOOD ? reported : summary.errors > 0 ? EXIT_CHECK : code == EXIT_CHECK ? EXIT_GOOD : code;
}

int command_reproduce(int argc, char **argv) {
    Reproduce r = {.options = run_options_default(),
                   .progress = progress_make(),
                   .folder = places_build("reproduce"),
                   .begin = clock_seconds()};
    r.progress.brief = true;
    r.options.argc = argc, r.options.argv = argv;
    const CliOption OPTIONS[] = {
        {"quick", NULL, CLI_FLAG, &r.quick, "some claims of every op, from one process: 2 minutes on an H200"},
        {"full", NULL, CLI_FLAG, &r.full,
         "everything, claims from five processes, ladders from three: some 30 minutes (default: 10, claims from three)"},
        {"budget", "TIME", CLI_DURATION, &r.options.budget_seconds, "start no row after this time, except the first"},
        {"device", "N", CLI_COUNT, &r.options.device, "CUDA device"},
        {"devices", "LIST", CLI_TEXT, &r.options.devices, "several, side by side: 0,1 or all"},
        {"resume", NULL, CLI_FLAG, &r.options.resume, "continue the last reproduce, of the same commit on the same machine"},
        {"dry-run", NULL, CLI_FLAG, &r.dry, "list cases, variants, bytes and about how long they take; run nothing"},
        {"json", NULL, CLI_FLAG, &r.as_json, "with --dry-run: an array of objects"},
        {"verbose", NULL, CLI_FLAG, &r.progress.verbose, "a line for each row"},
        {"out", "FOLDER", CLI_TEXT, &r.folder, "where rows, figures and REPORT.md go (default: reproduce/ in the build folder)"},
        {0},
    };
    char **words;
    int count = 0;
    int code = cli_parse("reproduce", "[SCENARIO...] [options]", OPTIONS, argc, argv, &words, &count);
    if (code == 0 && r.as_json && !r.dry) code = cli_usage("reproduce", "--json needs --dry-run");
    if (code == 0 && r.dry && r.options.resume) code = cli_usage("reproduce", "--dry-run lists the whole plan: leave out --resume");
    if (code == 0 && !cases_devices_fit("reproduce", &r.options)) code = EXIT_USAGE;
    if (code == 0 && r.quick && r.full) code = cli_usage("reproduce", "--quick and --full exclude each other");
    if (code == 0) {
        set_pace(&r);
        r.progress.claims = json_array();
        code = work(&r, argv, words, count);
        json_decref(r.progress.claims);
        campaign_free(&r.campaign);
        plan_free(&r.plan);
    }
    return code;
}
