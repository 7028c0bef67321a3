/* scenario.h - a YAML file that expands to cases x variants, and the claims it can judge. docs/SCENARIOS.md has the format. */
#pragma once

#include "base/case.h"
#include "base/mode.h"
#include "base/text.h"
#include "plan/claims.h"
#include "plan/registry.h"

#include <stdbool.h>

enum { SPEC_TEXT_MAX = 1024, PLAN_ROWS_MAX = 40000 };

/* One variant with its tunables at given values: "rolling/cuda_thread_tile threads=64 tile=48". */
typedef struct VariantChoice {
    const VariantEntry *entry;
    Params tunables;
    bool full;                  /* only a full campaign makes its rows that no claim needs */
    bool slow;                  /* its rows take long: in a campaign each comes from one process, the last of its class */
    unsigned claimed, repeated; /* bit per Tier that judges a claim about its row; one that needs several processes */
    bool first_call;            /* a claim is about the first call of a process */
    bool energy;                /* the energy of its calls is measured, in one process of each case */
} VariantChoice;

/* What a row of a campaign is for; they are made in this order. */
typedef enum RowClass { CLASS_NONE, CLASS_CLAIMS, CLASS_LIMITS, CLASS_GATES, CLASS_LADDERS, CLASS_SIZES, CLASS_SWEEPS } RowClass;

enum { ENERGY_CASES_MAX = 16 }; /* of a scenario, with variants whose energy is measured */

/* One case and the variants to run on it: what the pipeline works through. */
typedef struct PlanItem {
    Case problem;
    const Case *emulated; /* the same with the scenario's `without_gpu` parameters; NULL: none. See plan_item_case() */
    VariantChoice *variants;
    int variant_count;
    unsigned modes;       /* bit per Mode */
    bool gpu_only;        /* without a GPU nothing of it runs: what is to be compared with a GPU costs much and shows nothing */
    const char *not_run;  /* why the scenario leaves it out: its rows say so, and nothing runs; NULL: it runs */
    bool declared_bounds; /* judge variants that declare a looser bound by it */
    const char *baseline; /* variant that speed-ups are against: its id, or with tunables; NULL: none */
    int processes;        /* rows of each variant, each from a process of its own; 0: one */
    bool uncounted;       /* launches and bytes are not counted after timing */
    bool first_call;      /* a claim is about the first call of a process: a row's worker has served no other */
    RowClass row_class;   /* ops alternate with the items of a class, which lie together, each op's together */
    int rank;             /* an op's items of one rank are made together, after those of smaller ranks */
    double bytes;         /* of the op's work model; 0: plan_measure() was not called */
    const char *scenario; /* name of the scenario: "published/rolling" */
} PlanItem;

/* What a scenario file says about itself. */
typedef struct ScenarioInfo {
    const char *name; /* path below scenarios/ without .yaml: "published/rolling" */
    const char *path;
    const char *title; /* one line */
    const char *about; /* for people; NULL: nothing */
} ScenarioInfo;

typedef struct Plan {
    PlanItem *items;
    int item_count;
    int expanded; /* rows, cases without a variant, and choices of variants of all suites so far; at most PLAN_ROWS_MAX */
    Claim *claims;
    int claim_count;
    ScenarioInfo *scenarios;
    int scenario_count;
    void *storage; /* what the strings and the emulated cases live in */
    /* NULL: what this build does not know is an error. Else cases, suites and patterns of plan_filter that it refuses are left out,
     * and claims with them; for each a line "left out: WHAT" is appended here, and one with the reason. */
    Text *left_out;
} Plan;

/* Appends a scenario file to the plan (zero-initialise it first). STATUS_INVALID with "file:line:column: ..." for an unknown key,
 * wrong type, empty axis, parameter out of range, a pattern that matches no variant, a missing file, and where the plan becomes
 * larger than PLAN_ROWS_MAX; the plan is then as it was. A build without CUDA has no cuda_ variants: patterns that name them are
 * left out there, not refused. */
Status plan_add_scenario(Plan *plan, const char *path);
/* Appends one case given as text, for all variants of its op that match the glob (NULL: all), all modes, strict bounds. */
Status plan_add_case(Plan *plan, const char *text, const char *variants);
/* Keeps only the variants that the comma-separated list names: globs over ids or names, each with tunables behind it if need be,
 * one value each ("cuda_*,cpu_best threads=4"). Of a variant that the plan has with several values those that agree stay; if none
 * does, the tunables are set. STATUS_INVALID if a glob matches nothing, so that a misspelt name is not a silently shorter run. */
Status plan_filter(Plan *plan, const char *list);
/* Keeps shard `index` of `count` (1 <= index <= count). Every row and every claim of the plan is in one of them; the rows of a
 * case, and those that a claim compares, are in the same; shards take about the same time. STATUS_INVALID if one would have no row.
 */
Status plan_shard(Plan *plan, int index, int count);
/* The same for shards 0 to count - 1, of which some may be empty: for each item the first one that it stays together with, and the
 * shard. */
Status plan_deal(Plan *plan, int count, int *first, int *shard);
void plan_free(Plan *plan);
/* Sets the items' bytes: some ops look at each of their rows to tell. Before the functions below. */
void plan_measure(Plan *plan);
/* What one process of a row takes on an H200 and its host, by a plain rule: for shards, and to be shown before a run. */
double plan_row_seconds(const PlanItem *item, const VariantChoice *choice);
double plan_item_seconds(const PlanItem *item);
double plan_seconds(const Plan *plan);
/* The case that a variant of the item runs; emulated: a CUDA variant without a GPU. */
const Case *plan_item_case(const PlanItem *item, bool emulated);
/* Are both of one scenario and one op? No variant has two rows on one case there. */
bool plan_same_suite(const PlanItem *a, const PlanItem *b);

/* "rolling/cuda_thread_tile threads=64,128 tile=48" -> one choice per combination. Patterns are globs over ids or names of `op`. */
Status variant_choices_parse(const Op *op, const char *text, VariantChoice **out, int *count);
/* The spec, canonical: "rolling/cuda_thread_tile threads=64 tile=48", every tunable in declared order. Returns text. */
char *variant_choice_format(const VariantChoice *choice, char *text, size_t size);
/* The one of the choices that is this variant with the same tunables; NULL: there is none. */
const VariantChoice *variant_choice_find(const VariantChoice *choices, int count, const VariantChoice *wanted);

/* "published/rolling" or a path -> the path of the file; STATUS_INVALID with a suggestion if there is no such scenario. */
Status scenario_path(const char *dir, const char *name, char *out, size_t size);
/* Appends the scenario or scenarios that a word of the command line names: "published/rolling", a path that ends in .yaml, or a
 * folder below dir with all its scenarios ("edges"). Errors of scenario_path and plan_add_scenario; of a folder the scenarios
 * before the bad one stay. */
Status plan_add_named(Plan *plan, const char *dir, const char *name);
/* The variants of the file are made with the next that are needed; what is wrong in it is said when it is appended. */
void scenario_want(const char *path);
/* Appends every scenario below dir. */
Status plan_add_all(Plan *plan, const char *dir);
/* Every .yaml below dir, sorted; free each and the array with scenario_files_free. */
Status scenario_files(const char *dir, char ***out, int *count);
void scenario_files_free(char **files, int count);

/* ---- campaign.c: which rows of a plan `rungs reproduce` makes, from how many processes, and in which order: by class, smallest
 * first. What belongs to which tier is said by the scenarios (docs/SCENARIOS.md, Tiers). */

typedef struct Campaign {
    bool *judged; /* for each claim of the plan: its rows are among those that are made */
    size_t claims;
    size_t claim_rows, other_rows; /* rows of claims, each process one; all else */
} Campaign;

/* Seconds after which the tier starts no row, unless the user says otherwise; 0: not bounded. */
double campaign_budget(Tier tier);
/* That a claim's times come from. */
int campaign_processes(Tier tier);
/* Replaces the items of the plan by those of the tier, in their order. The choice depends on the plan alone, not on the machine.
 * campaign_free() afterwards. */
Status campaign_select(Plan *plan, Tier tier, Campaign *out);
void campaign_free(Campaign *campaign);

/* ---- listing.c: ops, variants, scenarios and claims as JSON: the arrays that `rungs list` prints. New references; NULL only
 * without memory. */

/* id, op, backend ("cpu", "cuda", "peer"), summary, origin, tunables, bound, framework, path. */
json_t *list_variants_json(void);
/* name, summary, params, dtypes (the default first), families, bounds, inputs, outputs: the arrays by name, with rank and the
 * dtypes they can have. Parameters and tunables: name, summary, kind ("int", "real", "choice", "text"), default, min, max, choices.
 */
json_t *list_ops_json(void);
/* name, path, title, about, ops, cases, rows (cases x variants), claims (how many). STATUS_INVALID if a file cannot be loaded. */
Status list_scenarios_json(const char *dir, json_t **out);
/* Every claim of every scenario below dir. */
Status list_claims_json(const char *dir, json_t **out);
