/* The claims section of a scenario file. */
#include "plan/build.h"
#include "plan/case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const KEYS[] = {
    "id",      "statement", "source",     "url",      "section",       "hardware",      "method",  "note", "kind",   "program",
    "foreign", "law",       "untestable", "value",    "quantity",      "case",          "variant", "mode", "output", "rule",
    "factor",  "low",       "high",       "baseline", "baseline_case", "baseline_mode", "reason",  "tier", NULL};
static const unsigned ANY_MODE = ~0U;

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

/* A positive number. */
static Status read_number(const Reader *reader, const char *key, const char *what, double *out) {
    YamlNode *node;
    TRY(yamlfile_require(reader->file, reader->map, key, what, &node));
    TRY(yamlfile_number(reader->file, node, key, out));
    return *out > 0 ? STATUS_OK : yamlfile_fail(reader->file, node, "%s: %g is not above 0", key, *out);
}

/* One of the words of a NULL-terminated list. */
static Status read_word(const Reader *reader, const char *key, const char *const *words, const char **out) {
    char allowed[200] = "";
    for (size_t i = 0; words[i]; i++)
        snprintf(allowed + strlen(allowed), sizeof allowed - strlen(allowed), "%s%s", i ? ", " : "", words[i]);
    TRY(keep_text(reader, key, allowed, out));
    for (size_t i = 0; words[i]; i++)
        if (strcmp(*out, words[i]) == 0) return STATUS_OK;
    return yamlfile_fail(reader->file, yamlfile_get(reader->file, reader->map, key), "%s '%.80s' is not allowed (allowed: %s)", key,
                         *out, allowed);
}

/* "agg=mean n=1e9" or "rolling agg=mean n=1e9" -> the canonical case. */
static Status read_case(const Reader *reader, const char *key, Case *problem, const Op **op, const char **out) {
    YamlNode *node;
    const char *text;
    char whole[2 * CASE_TEXT_MAX], canonical[CASE_TEXT_MAX];
    TRY(yamlfile_require(reader->file, reader->map, key, "the case that the rows must have", &node));
    TRY(yamlfile_text(reader->file, node, key, &text));
    const char *first = text + strspn(text, " \t\n");
    const bool has_op = memchr(first, '=', strcspn(first, " \t\n")) == NULL;
    if (!has_op && !reader->op)
        return yamlfile_fail(reader->file, node, "%s: the suites have different ops; put the op first, such as 'rolling %.80s'",
                             key, first);
    snprintf(whole, sizeof whole, "%s%s%s", has_op ? "" : reader->op->name, has_op ? "" : " ", text);
    const Status status = case_parse(whole, problem);
    if (status != STATUS_OK) return yamlfile_place(reader->file, node, status_prefix(status, "%s: in '%.200s', ", key, whole));
    TRY(registry_require_op(problem->op, op));
    return plan_keep(reader->plan, case_format(problem, canonical, sizeof canonical), out);
}

/* What a claim is about. */
typedef struct Side {
    const PlanItem *item;
    VariantChoice *choice; /* NULL: there is none, or this build has not the variant */
} Side;

/* The row of the scenario with this spec on this case in one of these modes, rather one that runs. */
static Side find_row(const Reader *reader, const char *problem, const char *spec, unsigned modes) {
    Side found = {0};
    for (int i = reader->first_item; i < reader->plan->item_count; i++) {
        const PlanItem *item = &reader->plan->items[i];
        char text[CASE_TEXT_MAX];
        if (!(item->modes & modes) || strcmp(case_format(&item->problem, text, sizeof text), problem) != 0) continue;
        for (int v = 0; v < item->variant_count; v++)
            if (strcmp(variant_choice_format(&item->variants[v], text, sizeof text), spec) == 0 &&
                (!found.item || found.item->not_run))
                found = (Side){item, &item->variants[v]};
    }
    return found;
}

/* One variant with its tunables -> the canonical spec and its row, which the scenario must have on the case in one of the modes. */
static Status read_spec(const Reader *reader, const char *key, const Op *op, const char *problem, unsigned modes, const char **out,
                        Side *side) {
    YamlNode *node;
    const char *text;
    char spec[SPEC_TEXT_MAX];
    TRY(yamlfile_require(reader->file, reader->map, key, "a variant with its tunables", &node));
    TRY(yamlfile_text(reader->file, node, key, &text));
    if (variant_not_built(text)) { /* keep the words: the claim will be judged "not testable here" */
        snprintf(spec, sizeof spec, "%s%s%s", strchr(text, '/') ? "" : op->name, strchr(text, '/') ? "" : "/", text);
        return plan_keep(reader->plan, spec, out);
    }
    TRY(scenario_spec(reader->file, node, key, op, reader->plan, out));
    *side = find_row(reader, problem, *out, modes);
    if (!side->item) {
        char in_mode[64] = "";
        for (int m = 0; m < MODE_COUNT && modes != ANY_MODE; m++)
            if (modes & 1U << m) snprintf(in_mode, sizeof in_mode, " in mode %s", mode_name((Mode)m));
        return yamlfile_fail(reader->file, node, "%s: no suite of this scenario runs '%s' on '%s'%s", key, *out, problem, in_mode);
    }
    return STATUS_OK;
}

/* Keys that only some claims have. */
static Status refuse_keys(const Reader *reader, const char *const *keys, const char *whose) {
    for (; *keys; keys++) {
        const YamlNode *node = yamlfile_get(reader->file, reader->map, *keys);
        if (node) return yamlfile_fail(reader->file, node, "%s: only claims of %s have one", *keys, whose);
    }
    return STATUS_OK;
}

static Status read_what(const Reader *reader, Claim *claim) {
    TRY(keep_text(reader, "id", "a short name, unique", &claim->id));
    for (int i = 0; i < reader->plan->claim_count; i++)
        if (strcmp(reader->plan->claims[i].id, claim->id) == 0)
            return yamlfile_fail(reader->file, reader->map, "id '%s' is given twice, first in %s", claim->id,
                                 reader->plan->claims[i].scenario);
    TRY(keep_text(reader, "statement", "the claim in one sentence", &claim->statement));
    TRY(keep_text(reader, "source", "where it was published", &claim->source));
    TRY(keep_text(reader, "hardware", "the machine it was measured on", &claim->hardware));
    TRY(keep_text(reader, "method", "how it was measured", &claim->method));
    const struct {
        const char *key, **out;
    } optional[] = {{"url", &claim->url}, {"section", &claim->section}, {"note", &claim->note}};
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
        if (yamlfile_get(reader->file, reader->map, optional[i].key)) TRY(keep_text(reader, optional[i].key, "", optional[i].out));
    claim->kind = CLAIM_KINDS[0];
    if (yamlfile_get(reader->file, reader->map, "kind")) TRY(read_word(reader, "kind", CLAIM_KINDS, &claim->kind));
    return read_word(reader, "program", CLAIM_PROGRAMS, &claim->program);
}

/* A statement that nothing here can test: why, and nothing else. */
static Status read_untestable(const Reader *reader, Claim *claim) {
    static const char *const others[] = {"quantity",      "case",   "variant", "mode",  "output",   "rule",
                                         "factor",        "low",    "high",    "value", "baseline", "baseline_case",
                                         "baseline_mode", "reason", "foreign", "law",   "tier",     NULL};
    TRY(refuse_keys(reader, others, "what can be tested"));
    claim->value = claim->factor = claim->low = claim->high = NAN;
    TRY(keep_text(reader, "untestable", "", &claim->untestable));
    if (!reader->op)
        return yamlfile_fail(reader->file, reader->map,
                             "untestable: the suites have different ops; such a claim needs a scenario of one");
    claim->op = reader->op->name;
    return STATUS_OK;
}

static Status read_range(const Reader *reader, Claim *claim) {
    static const char *const single[] = {"value", NULL};
    TRY(refuse_keys(reader, single, "rule about, at_least, at_most or shown"));
    TRY(read_number(reader, "low", "the lower end of the published range", &claim->low));
    TRY(read_number(reader, "high", "the upper end of the published range", &claim->high));
    if (claim->low < claim->high) return STATUS_OK;
    return yamlfile_fail(reader->file, yamlfile_get(reader->file, reader->map, "high"), "high: %g is not above low, %g",
                         claim->high, claim->low);
}

static Status read_about(const Reader *reader, Claim *claim) {
    TRY(read_number(reader, "factor", "the factor of the acceptance band, such as 1.33", &claim->factor));
    claim->low = claim->value / claim->factor;
    claim->high = claim->value * claim->factor;
    if (claim->factor >= 1) return STATUS_OK;
    return yamlfile_fail(reader->file, yamlfile_get(reader->file, reader->map, "factor"), "factor: %g is below 1", claim->factor);
}

/* The rule with its numbers -> [low, high]. */
static Status read_rule(const Reader *reader, Claim *claim) {
    static const char *const of_range[] = {"low", "high", NULL}, *const of_about[] = {"factor", NULL};
    claim->value = claim->factor = NAN;
    claim->low = -INFINITY, claim->high = INFINITY;
    TRY(read_word(reader, "rule", CLAIM_RULES, &claim->rule));
    const bool range = strcmp(claim->rule, "range") == 0, about = strcmp(claim->rule, "about") == 0;
    TRY(about ? STATUS_OK : refuse_keys(reader, of_about, "rule about"));
    if (range) return read_range(reader, claim);
    TRY(refuse_keys(reader, of_range, "rule range"));
    TRY(read_number(reader, "value", "the published number", &claim->value));
    if (about) return read_about(reader, claim);
    if (strcmp(claim->rule, "shown") == 0) return STATUS_OK;
    *(strcmp(claim->rule, "at_least") == 0 ? &claim->low : &claim->high) = claim->value;
    return STATUS_OK;
}

static Status read_mode(const Reader *reader, const char *key, const char **name, unsigned *modes) {
    Mode mode;
    char what[96];
    snprintf(what, sizeof what, "one of %s", mode_names());
    TRY(keep_text(reader, key, what, name));
    if (!mode_parse(*name, &mode))
        return yamlfile_fail(reader->file, yamlfile_get(reader->file, reader->map, key), "%s '%.80s' is not allowed (allowed: %s)",
                             key, *name, mode_names());
    *modes = 1U << mode;
    return STATUS_OK;
}

static Status read_baseline(const Reader *reader, const Op *op, unsigned modes, Claim *claim, Side *side) {
    const char *problem = claim->problem;
    if (yamlfile_get(reader->file, reader->map, "baseline_case")) {
        Case other;
        TRY(read_case(reader, "baseline_case", &other, &op, &claim->baseline_problem));
        problem = claim->baseline_problem;
    }
    if (yamlfile_get(reader->file, reader->map, "baseline_mode"))
        TRY(read_mode(reader, "baseline_mode", &claim->baseline_mode, &modes));
    return read_spec(reader, "baseline", op, problem, modes, &claim->baseline, side);
}

/* The output whose error is meant: the op's first, if none is named. */
static Status read_output(const Reader *reader, const Op *op, const Case *problem, Claim *claim) {
    Array in[OP_MAX_ARRAYS], out[OP_MAX_ARRAYS];
    const YamlNode *node = yamlfile_get(reader->file, reader->map, "output");
    TRY(op->shapes(problem, in, out));
    if (!node) return plan_keep(reader->plan, out[0].name, &claim->output);
    TRY(keep_text(reader, "output", "an output of the op", &claim->output));
    if (array_find(out, op->out_count, claim->output)) return STATUS_OK;
    return yamlfile_fail(reader->file, node, "output '%.80s': %s has no such output", claim->output, op->name);
}

/* Whose keys these are: times and rates have a mode, and other hardware has others of them. */
static Status check_keys(const Reader *reader, const Claim *claim, bool timed) {
    static const char *const of_times[] = {"mode", NULL}, *const of_errors[] = {"output", NULL},
                             *const of_speedups[] = {"baseline", "baseline_case", "baseline_mode", NULL},
                             *const of_bands[] = {"reason", NULL};
    const bool speedup = strcmp(claim->quantity, "speedup") == 0, ratio = speedup || strcmp(claim->quantity, "error_ratio") == 0;
    TRY(timed ? STATUS_OK : refuse_keys(reader, of_times, "quantity speedup or seconds, or of a rate"));
    TRY(strstr(claim->quantity, "error") ? STATUS_OK : refuse_keys(reader, of_errors, "quantity error"));
    TRY(ratio ? STATUS_OK : refuse_keys(reader, of_speedups, "quantity speedup"));
    if (strcmp(claim->rule, "shown") != 0) return STATUS_OK;
    if (!timed || speedup)
        return yamlfile_fail(reader->file, yamlfile_get(reader->file, reader->map, "rule"),
                             "rule 'shown' is for quantity seconds and rates");
    return refuse_keys(reader, of_bands, "the other rules");
}

/* The keys foreign, law and tier. */
static Status read_nature(const Reader *reader, Claim *claim) {
    static const char *const sides[] = {"variant", "baseline", NULL}, *const answers[] = {"true", "false", NULL};
    const char *law = NULL, *tier = CLAIM_TIERS[TIER_QUICK];
    if (yamlfile_get(reader->file, reader->map, "foreign")) TRY(read_word(reader, "foreign", sides, &claim->foreign));
    if (yamlfile_get(reader->file, reader->map, "law")) TRY(read_word(reader, "law", answers, &law));
    if (yamlfile_get(reader->file, reader->map, "tier")) TRY(read_word(reader, "tier", CLAIM_TIERS, &tier));
    while (strcmp(CLAIM_TIERS[claim->tier], tier) != 0) claim->tier++;
    claim->law = law && strcmp(law, "true") == 0;
    return STATUS_OK;
}

/* Errors and counts are exact, and a time of other hardware is only shown: one process tells them. */
static void mark_rows(Claim *claim, const Side *sides, bool timed) {
    const char *modes[] = {claim->mode, claim->baseline_mode ? claim->baseline_mode : claim->mode};
    for (int k = 0; k < 2; k++)
        if (sides[k].item && sides[k].item->not_run) claim->not_run = sides[k].item->not_run;
    claim->has_rows = !claim->not_run && sides[0].choice && (!claim->baseline || sides[1].choice);
    for (int k = 0; k < 2 && claim->has_rows && sides[k].choice; k++) {
        sides[k].choice->claimed |= ~0U << claim->tier;
        if (timed && strcmp(claim->rule, "shown") != 0) sides[k].choice->repeated |= ~0U << claim->tier;
        if (modes[k] && strcmp(modes[k], mode_name(MODE_FIRST)) == 0) sides[k].choice->first_call = true;
    }
}

static Status read_claim(const Reader *reader, Claim *claim) {
    TRY(yamlfile_map(reader->file, reader->map, "a claim", KEYS));
    TRY(read_what(reader, claim));
    if (yamlfile_get(reader->file, reader->map, "untestable")) return read_untestable(reader, claim);
    TRY(read_word(reader, "quantity", CLAIM_QUANTITIES, &claim->quantity));
    TRY(read_rule(reader, claim));
    TRY(read_nature(reader, claim));
    const bool error = strstr(claim->quantity, "error") != NULL, speedup = strcmp(claim->quantity, "speedup") == 0;
    const bool timed = speedup || strstr(claim->quantity, "second") != NULL;
    unsigned modes = ANY_MODE;
    Case problem;
    Side sides[2] = {0};
    const Op *op;
    if (timed) TRY(read_mode(reader, "mode", &claim->mode, &modes));
    TRY(check_keys(reader, claim, timed));
    TRY(read_case(reader, "case", &problem, &op, &claim->problem));
    claim->op = op->name;
    TRY(read_spec(reader, "variant", op, claim->problem, modes, &claim->variant, &sides[0]));
    if (error) TRY(read_output(reader, op, &problem, claim));
    if (speedup || strcmp(claim->quantity, "error_ratio") == 0) TRY(read_baseline(reader, op, modes, claim, &sides[1]));
    mark_rows(claim, sides, timed);
    return strcmp(claim->rule, "shown") == 0 ? STATUS_OK : keep_text(reader, "reason", "why this acceptance band", &claim->reason);
}

Status scenario_claims(YamlFile *file, const YamlNode *list, Plan *plan, int first_item, const Op *op, const char *scenario) {
    enum { LOOKS_MAX = 2000000 }; /* each claim looks for its row among all cases */
    TRY(yamlfile_list(file, list, "claims"));
    if ((long long)yamlfile_count(list) * (plan->item_count - first_item) > LOOKS_MAX)
        return yamlfile_fail(file, list, "claims: %d claims about %d cases are too many; at most %d for so many cases",
                             yamlfile_count(list), plan->item_count - first_item, LOOKS_MAX / (plan->item_count - first_item));
    for (int i = 0; i < yamlfile_count(list); i++) {
        const Reader reader = {file, plan, first_item, op, yamlfile_item(file, list, i)};
        Claim claim = {.scenario = scenario};
        TRY(read_claim(&reader, &claim));
        TRY(plan_append_claim(plan, &claim));
    }
    return STATUS_OK;
}
