#include "plan/scenario.h"

#include "base/joined.h"
#include "base/text.h"
#include "plan/build.h"
#include "plan/case.h"
#include "plan/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_TEXT_MAX = 4096 };

static const char *const FILE_KEYS[] = {"title", "about", "suites", "claims", NULL};
static const char *const SUITE_KEYS[] = {"op",          "axes",    "tied", "variants", "modes",  "bounds", "baseline",
                                         "without_gpu", "not_run", "full", "slow",     "energy", NULL};

typedef struct Suite {
    const Op *op;
    YamlNode *without_gpu;
    PlanItem item; /* what its items have in common */
} Suite;

bool variant_not_built(const char *text) {
    const char *slash = strchr(text, '/');
    return strncmp(slash ? slash + 1 : text, "cuda_", 5) == 0 && !registry_has_backend(BACKEND_CUDA);
}

Status scenario_spec(YamlFile *file, const YamlNode *node, const char *key, const Op *op, Plan *plan, const char **out) {
    VariantChoice *choices;
    const char *text;
    int count;
    char spec[SPEC_TEXT_MAX];
    TRY(yamlfile_text(file, node, key, &text));
    const Status status = variant_choices_parse(op, text, &choices, &count);
    if (status != STATUS_OK) return yamlfile_place(file, node, status_prefix(status, "%s: in '%.200s', ", key, text));
    variant_choice_format(&choices[0], spec, sizeof spec);
    free(choices);
    if (count != 1) return yamlfile_fail(file, node, "%s: '%.200s' names %d variants; exactly one is allowed", key, text, count);
    return plan_keep(plan, spec, out);
}

/* A small file with aliases of aliases can expand to a huge plan: the sum over all suites is limited, before anything is made. */
static Status take_room(Plan *plan, long long wanted, const char *what) {
    if (wanted > PLAN_ROWS_MAX - plan->expanded) {
        plan->expanded = PLAN_ROWS_MAX; /* no later suite is tried either */
        return status_fail(STATUS_INVALID, "the plan expands to more than %d rows (%lld more %s here); split it into several runs",
                           PLAN_ROWS_MAX, wanted, what);
    }
    plan->expanded += (int)wanted;
    return STATUS_OK;
}

/* Adds what one pattern names; a choice that an earlier pattern named already is not repeated. */
static Status add_variants(Suite *suite, const char *text, Plan *plan) {
    VariantChoice *found;
    int count;
    TRY(variant_choices_parse(suite->op, text, &found, &count));
    Status status = take_room(plan, count, "choices of variants");
    VariantChoice *grown =
        status == STATUS_OK ? realloc(suite->item.variants, (size_t)(suite->item.variant_count + count) * sizeof *grown) : NULL;
    if (status == STATUS_OK && !grown)
        status = status_fail(STATUS_MEMORY, "no memory for %d variants", suite->item.variant_count + count);
    if (status != STATUS_OK) {
        free(found);
        return status;
    }
    suite->item.variants = grown;
    for (int i = 0; i < count; i++)
        if (!variant_choice_find(grown, suite->item.variant_count, &found[i])) grown[suite->item.variant_count++] = found[i];
    free(found);
    return STATUS_OK;
}

/* The forms of a variant (joined.h) are known with its module; until something needs that, a pattern removes all of them or none.
 */
static bool has_unknown_forms(const char *name) {
    const JoinedVariant *form = joined_find(name);
    const VariantEntry *entry = NULL;
    return form && registry_require_variant(form->today, &entry) == STATUS_OK && !entry->variant->tunables;
}

/* "-cuda_apply": takes away what earlier patterns named. One that takes nothing away is a mistake. */
static Status remove_variants(Suite *suite, const char *glob) {
    const Request request = {.pattern = glob};
    int kept = 0;
    for (int i = 0; i < suite->item.variant_count; i++)
        if (!request_names(&request, &suite->item.variants[i])) suite->item.variants[kept++] = suite->item.variants[i];
    if (kept == suite->item.variant_count && !has_unknown_forms(glob))
        return status_fail(STATUS_INVALID, "nothing to remove: no earlier pattern matches '%.200s'", glob);
    suite->item.variant_count = kept;
    return STATUS_OK;
}

static Status read_variants(YamlFile *file, const YamlNode *node, Plan *plan, Suite *suite) {
    YamlNode *list;
    TRY(yamlfile_require(file, node, "variants", "a list such as [cpu_*, cuda_shared threads=64,128]", &list));
    TRY(yamlfile_list(file, list, "variants"));
    bool left_out = false;
    for (int i = 0; i < yamlfile_count(list); i++) {
        const YamlNode *item = yamlfile_item(file, list, i);
        const char *text;
        TRY(yamlfile_text(file, item, "variants", &text));
        const bool removal = *text == '-';
        if (variant_not_built(text + removal)) {
            left_out = true;
            continue;
        }
        const Status status = removal ? remove_variants(suite, text + 1) : add_variants(suite, text, plan);
        if (status != STATUS_OK) return yamlfile_place(file, item, status_prefix(status, "in '%.200s', ", text));
    }
    /* Without CUDA a suite of CUDA variants alone is empty; otherwise an empty one is a mistake. */
    if (suite->item.variant_count == 0 && !left_out) return yamlfile_fail(file, node, "variants: no variant is left");
    return STATUS_OK;
}

/* "full: [peer_*]": those of the suite's variants that the key's patterns name. */
static Status mark_variants(YamlFile *file, const YamlNode *suite_node, const char *key, Suite *suite) {
    YamlNode *list = yamlfile_get(file, suite_node, key);
    if (!list) return STATUS_OK;
    TRY(yamlfile_list(file, list, key));
    for (int i = 0; i < yamlfile_count(list); i++) {
        const YamlNode *item = yamlfile_item(file, list, i);
        const char *glob;
        TRY(yamlfile_text(file, item, key, &glob));
        bool any = variant_not_built(glob) || suite->item.variant_count == 0;
        for (VariantChoice *choice = suite->item.variants; choice < suite->item.variants + suite->item.variant_count; choice++) {
            if (!text_glob(glob, choice->entry->id) && !text_glob(glob, strchr(choice->entry->id, '/') + 1)) continue;
            *(*key == 'f' ? &choice->full : *key == 's' ? &choice->slow : &choice->energy) = any = true;
        }
        if (!any) return yamlfile_fail(file, item, "%s: '%.200s' matches no variant of the suite", key, glob);
    }
    return STATUS_OK;
}

static Status read_modes(YamlFile *file, const YamlNode *list, Suite *suite) {
    suite->item.modes = (1u << MODE_COUNT) - 1;
    if (!list) return STATUS_OK;
    TRY(yamlfile_list(file, list, "modes"));
    suite->item.modes = 0;
    for (int i = 0; i < yamlfile_count(list); i++) {
        const YamlNode *item = yamlfile_item(file, list, i);
        const char *word;
        Mode mode;
        TRY(yamlfile_text(file, item, "modes", &word));
        if (!mode_parse(word, &mode))
            return yamlfile_fail(file, item, "mode '%.80s' is not allowed (allowed: %s)", word, mode_names());
        if (suite->item.modes & 1u << mode) return yamlfile_fail(file, item, "mode '%s' is given twice; once is allowed", word);
        suite->item.modes |= 1u << mode;
    }
    return STATUS_OK;
}

static Status read_bounds(YamlFile *file, const YamlNode *node, Suite *suite) {
    const char *word;
    if (!node) return STATUS_OK;
    TRY(yamlfile_text(file, node, "bounds", &word));
    suite->item.declared_bounds = strcmp(word, "declared") == 0;
    if (suite->item.declared_bounds || strcmp(word, "strict") == 0) return STATUS_OK;
    return yamlfile_fail(file, node, "bounds '%.80s' is not allowed (allowed: strict, declared)", word);
}

/* A variant; with tunables, as rows have it. */
static Status read_baseline(YamlFile *file, const YamlNode *node, Plan *plan, Suite *suite) {
    const char *text;
    if (!node) return STATUS_OK;
    TRY(yamlfile_text(file, node, "baseline", &text));
    if (variant_not_built(text)) return STATUS_OK;
    char id[SPEC_TEXT_MAX];
    const VariantEntry *entry;
    const bool has_op = strcspn(text, "/") < strcspn(text, " ");
    snprintf(id, sizeof id, "%s%s%.*s", has_op ? "" : suite->op->name, has_op ? "" : "/", (int)strcspn(text, " "), text);
    const JoinedVariant *joined = joined_find(id);
    TRY(yamlfile_place(file, node, registry_require_variant(joined ? joined->today : id, &entry)));
    if (strcmp(entry->op, suite->op->name) != 0)
        return yamlfile_fail(file, node, "baseline: %s is no variant of %s", entry->id, suite->op->name);
    suite->item.baseline = entry->id;
    return joined || strchr(text, ' ') ? scenario_spec(file, node, "baseline", suite->op, plan, &suite->item.baseline) : STATUS_OK;
}

/* Parameters of the emulated runs, or the word skip. */
static Status read_without_gpu(YamlFile *file, YamlNode *node, Suite *suite) {
    if (!node) return STATUS_OK;
    suite->item.gpu_only = node->type == YAML_SCALAR_NODE && strcmp((const char *)node->data.scalar.value, "skip") == 0;
    if (suite->item.gpu_only) return STATUS_OK;
    suite->without_gpu = node;
    return yamlfile_map(file, node, "without_gpu", NULL);
}

static Status read_suite(YamlFile *file, const YamlNode *node, Plan *plan, Suite *suite) {
    YamlNode *op, *not_run = yamlfile_get(file, node, "not_run");
    const char *name;
    TRY(yamlfile_map(file, node, "a suite", SUITE_KEYS));
    TRY(yamlfile_require(file, node, "op", "what is computed", &op));
    TRY(yamlfile_text(file, op, "op", &name));
    TRY(yamlfile_place(file, op, registry_require_op(name, &suite->op)));
    TRY(read_variants(file, node, plan, suite));
    TRY(mark_variants(file, node, "full", suite));
    TRY(mark_variants(file, node, "slow", suite));
    TRY(mark_variants(file, node, "energy", suite));
    TRY(read_modes(file, yamlfile_get(file, node, "modes"), suite));
    TRY(read_bounds(file, yamlfile_get(file, node, "bounds"), suite));
    TRY(read_baseline(file, yamlfile_get(file, node, "baseline"), plan, suite));
    if (not_run) {
        TRY(yamlfile_text(file, not_run, "not_run", &name));
        TRY(plan_keep(plan, name, &suite->item.not_run));
    }
    return read_without_gpu(file, yamlfile_get(file, node, "without_gpu"), suite);
}

/* One suite while it is added to a plan. */
typedef struct Adding {
    YamlFile *file;
    const Suite *suite;
    Plan *plan;
} Adding;

static Status emulated_case(const Adding *adding, const Case *problem, const Case **out) {
    YamlFile *file = adding->file;
    const Suite *suite = adding->suite;
    Case emulated = *problem;
    for (int i = 0; suite->without_gpu && i < yamlfile_count(suite->without_gpu); i++) {
        YamlNode *key, *value;
        yamlfile_pair(file, suite->without_gpu, i, &key, &value);
        TRY(axes_set(file, suite->op, key, value, &emulated));
    }
    *out = NULL;
    return !suite->without_gpu || case_same(&emulated, problem) ? STATUS_OK : plan_keep_case(adding->plan, &emulated, out);
}

static Status add_item(void *context, const Case *problem) {
    const Adding *adding = context;
    PlanItem item = adding->suite->item;
    item.problem = *problem;
    TRY(emulated_case(adding, problem, &item.emulated));
    return item.variant_count > 0 ? plan_append_item(adding->plan, &item) : STATUS_OK;
}

static Status add_suite(YamlFile *file, const YamlNode *node, const Suite *suite, Plan *plan, long long *energy_cases) {
    const int variants = suite->item.variant_count ? suite->item.variant_count : 1;
    long long expected;
    TRY(axes_count(file, node, &expected));
    TRY(yamlfile_place(file, node, take_room(plan, expected * variants, "rows")));
    if (yamlfile_get(file, node, "energy")) *energy_cases += expected;
    if (*energy_cases > ENERGY_CASES_MAX)
        return yamlfile_fail(file, node, "energy: suites with it have more than %d cases in all", ENERGY_CASES_MAX);
    return axes_expand(file, suite->op, node, add_item, &(Adding){file, suite, plan});
}

static Status leave_out_suite(const YamlFile *file, int index, const Plan *before, Plan *plan) {
    char what[PATH_TEXT_MAX + 32];
    snprintf(what, sizeof what, "%s, suite %d", file->path, index + 1);
    plan_rewind(plan, before);
    return plan_leave_out(plan, what);
}

static bool is_sequence(const YamlNode *node) {
    return node && node->type == YAML_SEQUENCE_NODE;
}

/* Those that a suite names; what is wrong in it is said when it is read. */
static void want_variants(YamlFile *file, const YamlNode *suite) {
    const YamlNode *variants = yamlfile_get(file, suite, "variants"), *op = yamlfile_get(file, suite, "op");
    const Op *found = op && op->type == YAML_SCALAR_NODE ? registry_op((const char *)op->data.scalar.value) : NULL;
    for (int i = 0; found && is_sequence(variants) && i < yamlfile_count(variants); i++) {
        const YamlNode *item = yamlfile_item(file, variants, i);
        char pattern[SPEC_TEXT_MAX];
        if (item->type != YAML_SCALAR_NODE) continue;
        const char *text = (const char *)item->data.scalar.value;
        snprintf(pattern, sizeof pattern, "%.*s", (int)strcspn(text, " \t"), text);
        if (*pattern != '-') variants_want(found, pattern);
    }
}

static void want_of_suites(YamlFile *file, const YamlNode *list) {
    for (int i = 0; is_sequence(list) && i < yamlfile_count(list); i++) want_variants(file, yamlfile_item(file, list, i));
}

void scenario_want(const char *path) {
    YamlFile file;
    if (yamlfile_open(path, &file) != STATUS_OK) return;
    if (file.root->type == YAML_MAPPING_NODE) want_of_suites(&file, yamlfile_get(&file, file.root, "suites"));
    yamlfile_close(&file);
}

/* *op: the op of all suites, NULL where they differ. */
static Status add_suites(YamlFile *file, const YamlNode *list, const char *scenario, Plan *plan, const Op **op) {
    long long energy_cases = 0;
    TRY(yamlfile_list(file, list, "suites"));
    for (int i = 0; i < yamlfile_count(list); i++) {
        const YamlNode *node = yamlfile_item(file, list, i);
        const Plan before = *plan;
        Suite suite = {.item.scenario = scenario};
        Status status = read_suite(file, node, plan, &suite);
        if (status == STATUS_OK) status = add_suite(file, node, &suite, plan, &energy_cases);
        free(suite.item.variants);
        if (status == STATUS_INVALID && plan->left_out && plan->expanded < PLAN_ROWS_MAX)
            status = leave_out_suite(file, i, &before, plan);
        TRY(status);
        *op = i == 0 || *op == suite.op ? suite.op : NULL;
    }
    return STATUS_OK;
}

/* "a/scenarios/published/rolling.yaml" -> "published/rolling"; elsewhere the file's name. */
static void scenario_name(const char *path, char *out, size_t size) {
    static const char FOLDER[] = "scenarios/";
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    for (const char *at = path; (at = strstr(at, FOLDER)); at++)
        if (at == path || at[-1] == '/') name = at + strlen(FOLDER);
    snprintf(out, size, "%s", name);
    char *ending = strrchr(out, '.');
    if (ending && (strcmp(ending, ".yaml") == 0 || strcmp(ending, ".yml") == 0)) *ending = '\0';
}

static Status add_file(YamlFile *file, Plan *plan) {
    char name[PATH_TEXT_MAX];
    ScenarioInfo info = {0};
    YamlNode *title, *suites, *about, *claims;
    const char *text;
    const int first_item = plan->item_count;
    TRY(yamlfile_map(file, file->root, "the scenario", FILE_KEYS));
    TRY(yamlfile_require(file, file->root, "title", "one line, shown in lists and in the report", &title));
    TRY(yamlfile_require(file, file->root, "suites", "a list of what to run", &suites));
    TRY(yamlfile_text(file, title, "title", &text));
    if (strchr(text, '\n')) return yamlfile_fail(file, title, "title: one line is expected");
    scenario_name(file->path, name, sizeof name);
    TRY(plan_keep(plan, name, &info.name));
    TRY(plan_keep(plan, file->path, &info.path));
    TRY(plan_keep(plan, text, &info.title));
    about = yamlfile_get(file, file->root, "about");
    if (about) {
        TRY(yamlfile_text(file, about, "about", &text));
        TRY(plan_keep(plan, text, &info.about));
    }
    TRY(plan_append_scenario(plan, &info));
    const Op *op = NULL;
    want_of_suites(file, suites);
    TRY(modules_need()); /* of all suites together */
    TRY(add_suites(file, suites, info.name, plan, &op));
    claims = yamlfile_get(file, file->root, "claims");
    return claims && !plan->left_out ? scenario_claims(file, claims, plan, first_item, op, info.name) : STATUS_OK;
}

Status plan_add_scenario(Plan *plan, const char *path) {
    YamlFile file;
    TRY(yamlfile_open(path, &file));
    const Plan before = *plan;
    const Status status = add_file(&file, plan);
    if (status != STATUS_OK) plan_rewind(plan, &before);
    yamlfile_close(&file);
    return status;
}
