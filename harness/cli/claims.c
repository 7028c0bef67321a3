/* rungs judge: judges the published claims from rows, by the scenarios' current rules. */
#include "cli/claims.h"

#include "base/places.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "pipeline/run.h"
#include "plan/build.h"
#include "record/rowfile.h"

#include <stdio.h>
#include <stdlib.h>

bool claims_can_be_judged(void) {
    return !variant_not_built("cuda_naive");
}

Status claims_judge(const char *const *files, json_t **out) {
    Plan plan = {0};
    *out = NULL;
    const bool can = claims_can_be_judged();
    Status status = can ? plan_add_all(&plan, places_project("scenarios")) : STATUS_OK;
    if (status == STATUS_OK) status = claims_of_files(&plan, files, out); /* reads them in any case: bad ones come first */
    plan_free(&plan);
    if (status != STATUS_OK || can) return status;
    return status_fail(STATUS_UNSUPPORTED, "this build has no CUDA variants and cannot judge most claims; the claim records in the "
                                           "files stay valid");
}

static int judge(const char *const *files, const char *path) {
    json_t *claims = NULL, *claim;
    size_t i;
    ClaimTotals totals = {0};
    Status status = path ? inputs_spare("--out", path, files) : STATUS_OK;
    if (status == STATUS_OK) status = claims_judge(files, &claims);
    if (status == STATUS_OK && path) status = rowfile_replace(path, claims);
    json_array_foreach(claims, i, claim) {
        if (status == STATUS_OK) progress_claim(stdout, claim);
        claim_count(claim, &totals);
    }
    const size_t all = json_array_size(claims);
    json_decref(claims);
    if (status != STATUS_OK) return cli_fail(status);
    progress_claims(&totals);
    if (path) printf("claims: %s\n", path);
    if (all > 0) return EXIT_GOOD;
    fprintf(stderr,
            "rungs judge: no claim was judged: the files hold no row of a scenario with claims ('list claims' has them all)\n");
    return EXIT_NOTHING;
}

int command_judge(int argc, char **argv) {
    const char *out = NULL;
    const CliOption OPTIONS[] = {
        {"out", "FILE", CLI_TEXT, &out, "also write claim records to this file, replacing it", NULL},
        {0},
    };
    char **words;
    glob_t committed = {0};
    int count = 0;
    int code = cli_parse("judge", "[RESULTS.jsonl...] [options]", OPTIONS, argc, argv, &words, &count);
    if (code == 0 && count == 0) code = inputs_campaign("judge", &committed);
    if (code == 0) code = judge((const char *const *)(count ? words : committed.gl_pathv), out);
    globfree(&committed);
    return code;
}
