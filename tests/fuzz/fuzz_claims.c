/* Whatever files of rows hold, every claim gets one of the outcomes and why, or the file is refused with its path. */
#include "fuzz.h"
#include "pipeline/run.h"
#include "record/row.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#define WHO "statement: s, source: s, hardware: h, method: m, program: original, "
#define WHAT "reason: r, case: n=1, variant: cuda_b tile=1, "
#define BASE "baseline: cuda_b tile=2, mode: cold, quantity: speedup, "
static const char SCENARIO[] =
    "title: t\nsuites:\n  - {op: op, axes: {n: [1, 2]}, variants: [cpu_a, cuda_b tile=1, cuda_b tile=2]}\nclaims:\n"
    "  - {id: a, " WHO WHAT BASE "rule: about, value: 2, factor: 1.5}\n"
    "  - {id: b, " WHO WHAT BASE "rule: range, low: 1, high: 2, baseline_case: n=2, baseline_mode: hot}\n"
    "  - {id: c, " WHO WHAT "rule: at_least, value: 0.001, quantity: seconds, mode: hot}\n"
    "  - {id: d, " WHO WHAT "rule: at_most, value: 1e-9, quantity: error}\n"
    "  - {id: e, " WHO WHAT "rule: about, value: 1, factor: 1, quantity: launches}\n"
    "  - {id: f, " WHO WHAT "rule: at_most, value: 1e7, quantity: bytes_over_minimum}\n"
    "  - {id: g, " WHO WHAT "baseline: cuda_b tile=2, rule: at_least, value: 2, quantity: error_ratio}\n"
    "  - {id: h, " WHO "case: n=1, variant: cuda_b tile=1, rule: shown, value: 20, quantity: bytes_per_second, mode: cold}\n";

static const Plan *plan_of_claims(void) {
    static Plan plan;
    char path[FUZZ_PATH_MAX];
    if (plan.claim_count > 0) return &plan;
    const int fd = fuzz_file((const uint8_t *)SCENARIO, strlen(SCENARIO), path);
    REQUIRE(plan_add_scenario(&plan, path) == STATUS_OK && plan.claim_count == 8);
    for (int i = 0; i < plan.claim_count; i++) plan.claims[i].scenario = "s"; /* not the descriptor's number */
    close(fd);
    return &plan;
}

static void check_claim_line(const json_t *line) {
    ClaimTotals totals = {0};
    claim_count(line, &totals);
    size_t sum = totals.findings + totals.ours + totals.shown;
    for (int i = 0; i < CLAIM_OUTCOME_COUNT; i++) sum += totals.outcomes[i];
    REQUIRE(sum == 1); /* one of the outcomes, or none that counts */
    REQUIRE(json_is_string(json_object_get(line, "why")));
    const json_t *here = json_object_get(line, "here"), *low = json_object_get(line, "low");
    REQUIRE(json_is_null(here) || isfinite(json_number_value(here)));
    REQUIRE(json_is_null(here) == (json_integer_value(json_object_get(line, "processes")) == 0));
    REQUIRE(!json_is_null(here) ||
            totals.outcomes[CLAIM_HOLDS] + totals.outcomes[CLAIM_DIRECTION] + totals.outcomes[CLAIM_FAR] == 0);
    REQUIRE(json_is_null(low) || !json_is_null(here));
    char *text = json_dumps(line, JSON_COMPACT);
    REQUIRE(text);
    free(text);
}

void fuzz_claims(const uint8_t *bytes, size_t size) {
    char path[FUZZ_PATH_MAX];
    const Plan *plan = plan_of_claims();
    const int fd = fuzz_file(bytes, size, path);
    json_t *lines = NULL, *line;
    size_t i;
    const Status status = claims_of_files(plan, (const char *const[]){path, NULL}, &lines);
    if (status != STATUS_OK) REQUIRE(fuzz_refused(status, path) && !lines);
    json_array_foreach(lines, i, line) check_claim_line(line);
    json_decref(lines);
    close(fd);
}
