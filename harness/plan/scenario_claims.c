/* The claims section of a scenario file. */
#include "plan/build.h"
#include "plan/case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const KEYS[] = {"id",   "statement", "source",   "hardware", "method",   "note",    "value", "quantity",
                                   "case", "variant",   "baseline", "mode",     "at_least", "at_most", "rule",  NULL};

typedef struct Reader {
    YamlFile *file;
    Plan *plan;
    int first_item;
    const Op *op;
    const YamlNode *map; /* the claim being read */
} Reader;

static Status keep_text(const Reader *reader, const char *key, const char *what, const char **out) {
    YamlNode *node;
    const char *text;
    TRY(yamlfile_require(reader->file, reader->map, key, what, &node));
    TRY(yamlfile_text(reader->file, node, key, &text));
    return plan_keep(reader->plan, text, out);
}

static Status read_limit(const Reader *reader, const char *key, double missing, double *out) {
    const YamlNode *node = yamlfile_get(reader->file, reader->map, key);
    *out = missing;
    return node ? yamlfile_number(reader->file, node, key, out) : STATUS_OK;
}

/* "agg=mean n=1e9" or "rolling agg=mean n=1e9" -> the canonical case. */
static Status read_case(const Reader *reader, Case *problem, const Op **op, const char **out) {
    YamlNode *node;
    const char *text;
    char whole[2 * CASE_TEXT_MAX], canonical[CASE_TEXT_MAX];
    TRY(yamlfile_require(reader->file, reader->map, "case", "the case that the rows must have", &node));
    TRY(yamlfile_text(reader->file, node, "case", &text));
    const char *first = text + strspn(text, " \t\n");
    const bool has_op = memchr(first, '=', strcspn(first, " \t\n")) == NULL;
    if (!has_op && !reader->op)
        return yamlfile_fail(reader->file, node, "case: the suites have different ops; put the op first, such as 'rolling %.80s'",
                             first);
    snprintf(whole, sizeof whole, "%s%s%s", has_op ? "" : reader->op->name, has_op ? "" : " ", text);
    const Status status = case_parse(whole, problem);
    if (status != STATUS_OK) return yamlfile_place(reader->file, node, status_prefix(status, "case: in '%.200s', ", whole));
    TRY(registry_require_op(problem->op, op));
    return plan_keep(reader->plan, case_format(problem, canonical, sizeof canonical), out);
}

/* Does the scenario run this spec on this case in this mode? */
static bool is_run(const Reader *reader, const char *problem, const char *spec, Mode mode) {
    for (int i = reader->first_item; i < reader->plan->item_count; i++) {
        const PlanItem *item = &reader->plan->items[i];
        char text[CASE_TEXT_MAX];
        if (!(item->modes & 1u << mode) || strcmp(case_format(&item->problem, text, sizeof text), problem) != 0) continue;
        for (int v = 0; v < item->variant_count; v++)
            if (strcmp(variant_choice_format(&item->variants[v], text, sizeof text), spec) == 0) return true;
    }
    return false;
}

/* One variant with its tunables -> the canonical spec, which the scenario must run on the claim's case. */
static Status read_spec(const Reader *reader, const char *key, const Op *op, const Claim *claim, Mode mode, const char **out) {
    YamlNode *node;
    const char *text;
    char spec[SPEC_TEXT_MAX];
    TRY(yamlfile_require(reader->file, reader->map, key, "a variant with its tunables", &node));
    TRY(yamlfile_text(reader->file, node, key, &text));
    if (variant_not_built(text)) { /* keep the words: the claim will be judged "not testable here" */
        snprintf(spec, sizeof spec, "%s%s%s", strchr(text, '/') ? "" : op->name, strchr(text, '/') ? "" : "/", text);
        return plan_keep(reader->plan, spec, out);
    }
    VariantChoice *choices;
    int count;
    const Status status = variant_choices_parse(op, text, &choices, &count);
    if (status != STATUS_OK) return yamlfile_place(reader->file, node, status_prefix(status, "%s: in '%.200s', ", key, text));
    variant_choice_format(&choices[0], spec, sizeof spec);
    free(choices);
    if (count != 1)
        return yamlfile_fail(reader->file, node, "%s: '%s' names %d variants; exactly one is allowed", key, text, count);
    if (!is_run(reader, claim->problem, spec, mode))
        return yamlfile_fail(reader->file, node, "%s: no suite of this scenario runs '%s' on '%s' in mode %s", key, spec,
                             claim->problem, mode_name(mode));
    return plan_keep(reader->plan, spec, out);
}

static Status read_rule(const Reader *reader, Claim *claim) {
    YamlNode *node;
    TRY(yamlfile_require(reader->file, reader->map, "value", "the published number", &node));
    TRY(yamlfile_number(reader->file, node, "value", &claim->value));
    TRY(read_limit(reader, "at_least", -INFINITY, &claim->at_least));
    TRY(read_limit(reader, "at_most", INFINITY, &claim->at_most));
    if (isinf(claim->at_least) && isinf(claim->at_most))
        return yamlfile_fail(reader->file, reader->map, "at_least or at_most is missing: what reproduces the claim");
    if (!(claim->at_least <= claim->at_most))
        return yamlfile_fail(reader->file, reader->map, "at_least %g is above at_most %g", claim->at_least, claim->at_most);
    return keep_text(reader, "rule", "at_least and at_most in words", &claim->rule);
}

static Status read_what(const Reader *reader, Claim *claim) {
    TRY(keep_text(reader, "id", "a short name, unique", &claim->id));
    for (int i = 0; i < reader->plan->claim_count; i++)
        if (strcmp(reader->plan->claims[i].id, claim->id) == 0)
            return yamlfile_fail(reader->file, reader->map, "id '%s' is given twice, first in %s", claim->id,
                                 reader->plan->claims[i].scenario);
    TRY(keep_text(reader, "statement", "the claim in one sentence", &claim->statement));
    TRY(keep_text(reader, "source", "where it was published", &claim->source));
    TRY(keep_text(reader, "hardware", "on what it was measured", &claim->hardware));
    TRY(keep_text(reader, "method", "how it was measured", &claim->method));
    if (yamlfile_get(reader->file, reader->map, "note")) TRY(keep_text(reader, "note", "", &claim->note));
    TRY(keep_text(reader, "quantity", "speedup or seconds", &claim->quantity));
    if (strcmp(claim->quantity, "speedup") == 0 || strcmp(claim->quantity, "seconds") == 0) return STATUS_OK;
    return yamlfile_fail(reader->file, yamlfile_get(reader->file, reader->map, "quantity"),
                         "quantity '%.80s' is not allowed (allowed: speedup, seconds)", claim->quantity);
}

static Status read_claim(const Reader *reader, Claim *claim) {
    TRY(yamlfile_map(reader->file, reader->map, "a claim", KEYS));
    TRY(read_what(reader, claim));
    TRY(read_rule(reader, claim));
    Mode mode;
    TRY(keep_text(reader, "mode", "cold, hot, graph, enqueue or first", &claim->mode));
    const YamlNode *node = yamlfile_get(reader->file, reader->map, "mode");
    if (!mode_parse(claim->mode, &mode))
        return yamlfile_fail(reader->file, node, "mode '%.80s' is not allowed (allowed: cold, hot, graph, enqueue, first)",
                             claim->mode);
    Case problem;
    const Op *op;
    TRY(read_case(reader, &problem, &op, &claim->problem));
    TRY(read_spec(reader, "variant", op, claim, mode, &claim->variant));
    node = yamlfile_get(reader->file, reader->map, "baseline");
    if (strcmp(claim->quantity, "speedup") == 0) return read_spec(reader, "baseline", op, claim, mode, &claim->baseline);
    return node ? yamlfile_fail(reader->file, node, "baseline: only claims of quantity speedup have one") : STATUS_OK;
}

Status scenario_claims(YamlFile *file, const YamlNode *list, Plan *plan, int first_item, const Op *op, const char *scenario) {
    TRY(yamlfile_list(file, list, "claims"));
    for (int i = 0; i < yamlfile_count(list); i++) {
        const Reader reader = {file, plan, first_item, op, yamlfile_item(file, list, i)};
        Claim claim = {.scenario = scenario};
        TRY(read_claim(&reader, &claim));
        TRY(plan_append_claim(plan, &claim));
    }
    return STATUS_OK;
}
