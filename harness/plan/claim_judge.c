#include "plan/claims.h"

#include "base/jsontext.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *const CLAIM_KINDS[] = {"statement", "finding", NULL};
const char *const CLAIM_TIERS[] = {"quick", "default", "full", NULL};
const char *const CLAIM_PROGRAMS[] = {"original", "reimplementation", "successor", "ours", NULL};
const char *const CLAIM_QUANTITIES[] = {"speedup",     "seconds",  "bytes_per_second", "elements_per_second", "error",
                                        "error_ratio", "launches", "peak_bytes",       "bytes_over_minimum",  NULL};
const char *const CLAIM_RULES[] = {"about", "at_least", "at_most", "range", "shown", NULL};
static const char *const CLAIM_OUTCOMES[] = {"holds", "direction", "far", "fails", "not_testable", "not_run"};
const char *const CLAIM_OUTCOME_WORDS[] = {
    "holds", "same direction, another size", "same direction, far from the size", "does not hold", "not testable here", "not run",
    NULL};

static bool is(const char *text, const char *word) {
    return text && strcmp(text, word) == 0;
}

static json_t *finite_or_null(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

static const char *unit_of(const Claim *claim) {
    const char *quantity = claim->quantity;
    return is(quantity, "seconds")                                                                        ? "s"
           : is(quantity, "peak_bytes")                                                                   ? "B"
           : is(quantity, "bytes_per_second")                                                             ? "B/s"
           : is(quantity, "elements_per_second")                                                          ? "1/s"
           : is(quantity, "speedup") || is(quantity, "error_ratio") || is(quantity, "bytes_over_minimum") ? "x"
                                                                                                          : "";
}

typedef struct Number {
    char text[48];
} Number;

/* Four digits, and no exponent where people would not write one; with its unit. */
static Number number(const Claim *claim, double x) {
    Number out;
    const char *unit = unit_of(claim);
    const bool bytes = is(unit, "B/s"), elements = is(unit, "1/s");
    if (bytes || elements) x /= bytes ? 1e9 : 1e6;
    const double size = x > 0 ? floor(log10(x)) : 0;
    if (size < -3 || size > 6)
        snprintf(out.text, sizeof out.text, "%.4g", x);
    else
        snprintf(out.text, sizeof out.text, "%.*f", size < 3 ? (int)(3 - size) : 0, x);
    char *end = out.text + strlen(out.text) - 1;
    if (strchr(out.text, '.') && !strchr(out.text, 'e')) {
        while (*end == '0') *end-- = '\0';
        if (*end == '.') *end = '\0';
    }
    const size_t used = strlen(out.text);
    snprintf(out.text + used, sizeof out.text - used, "%s%s",
             is(unit, "x") || !*unit ? ""
             : bytes                 ? " G"
                                     : " ",
             elements ? "M elements/s" : unit);
    return out;
}

/* "about 387x, within a factor of 1.33: 291x to 514.7x". */
static json_t *expected(const Claim *claim) {
    if (claim->untestable) return json_null();
    const Number low = number(claim, claim->low), high = number(claim, claim->high), value = number(claim, claim->value);
    if (is(claim->rule, "shown")) return json_sprintf("%s on other hardware", value.text);
    if (is(claim->rule, "at_least")) return json_sprintf("at least %s", low.text);
    if (is(claim->rule, "at_most")) return json_sprintf("at most %s", high.text);
    if (is(claim->rule, "range")) return json_sprintf("%s to %s", low.text, high.text);
    if (claim->factor == 1) return json_sprintf("%s", value.text);
    return json_sprintf("about %s, within a factor of %.4g: %s to %s", value.text, claim->factor, low.text, high.text);
}

json_t *claim_to_json(const Claim *claim) {
    json_t *out = json_object();
    const struct {
        const char *key, *text;
    } texts[] = {
        {"id", claim->id},
        {"op", claim->op},
        {"scenario", claim->scenario},
        {"statement", claim->statement},
        {"source", claim->source},
        {"url", claim->url},
        {"section", claim->section},
        {"hardware", claim->hardware},
        {"method", claim->method},
        {"note", claim->note},
        {"claim_kind", claim->kind},
        {"program", claim->program},
        {"foreign", claim->foreign},
        {"quantity", claim->quantity},
        {"case", claim->problem},
        {"variant", claim->variant},
        {"mode", claim->mode},
        {"baseline", claim->baseline},
        {"baseline_case", claim->baseline_problem},
        {"baseline_mode", claim->baseline_mode},
        {"output", claim->output},
        {"rule", claim->rule},
        {"reason", claim->reason},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        json_object_set_new(out, texts[i].key, json_pack("s?", texts[i].text));
    const bool range = is(claim->rule, "range");
    json_object_update_new(out, json_pack("{s:o, s:b, s:s?, s:o, s:o, s:o, s:o}", "published",
                                          range ? json_pack("[f,f]", claim->low, claim->high) : finite_or_null(claim->value), "law",
                                          claim->law, "unit", claim->quantity ? unit_of(claim) : NULL, "factor",
                                          finite_or_null(claim->factor), "band_low", finite_or_null(claim->low), "band_high",
                                          finite_or_null(claim->high), "expected", expected(claim)));
    return out;
}

/* Where a number lies: -1 below the band, 0 inside (its ends too), 1 above. */
static int place_of(const Claim *claim, double x) {
    return x < claim->low ? -1 : x > claim->high ? 1 : 0;
}

/* The published number that is nearest to ours. */
static double nearest_published(const Claim *claim, double x) {
    return !is(claim->rule, "range") ? claim->value : x < claim->low ? claim->low : claim->high;
}

/* Outside the band, a speed-up can still have the published direction (of a range, that of both ends), and a time or a rate can be
 * better than published. A law has no direction. */
static bool has_direction(const Claim *claim, const Measured *here) {
    if (claim->law) return false;
    const bool range = is(claim->rule, "range");
    const double least = range ? claim->low : claim->value, most = range ? claim->high : claim->value;
    if (is(claim->quantity, "speedup") || is(claim->quantity, "error_ratio"))
        return least > 1 ? here->value > 1 : most < 1 && here->value < 1;
    if (is(claim->quantity, "seconds")) return isfinite(claim->low) && here->value < claim->low;
    return strstr(claim->quantity, "_per_second") && isfinite(claim->high) && here->value > claim->high;
}

/* Is every time here worse than the one of other hardware? */
static bool is_slower(const Claim *claim, const Measured *here) {
    if (is(claim->quantity, "seconds")) return (isfinite(here->low) ? here->low : here->value) > claim->value;
    return (isfinite(here->high) ? here->high : here->value) < claim->value;
}

static int outcome_of(const Claim *claim, const Measured *here) {
    if (is(claim->rule, "shown")) return is_slower(claim, here) ? CLAIM_FAILS : CLAIM_NOT_TESTABLE;
    if (place_of(claim, here->value) == 0) return CLAIM_HOLDS;
    if (!has_direction(claim, here)) return CLAIM_FAILS;
    return fabs(log(here->value / nearest_published(claim, here->value))) <= log(CLAIM_FAR_FACTOR) ? CLAIM_DIRECTION : CLAIM_FAR;
}

/* An end of the band, or of the direction, lies within the interval: another five processes may say otherwise. */
static bool is_close(const Claim *claim, const Measured *here) {
    Measured low = *here, high = *here;
    low.value = here->low, high.value = here->high;
    return isfinite(here->low) && !is(claim->rule, "shown") && outcome_of(claim, &low) != outcome_of(claim, &high);
}

/* One sentence. */
static json_t *why_of(const Claim *claim, const json_t *judged, const Measured *here, int outcome) {
    const Number value = number(claim, here->value), published = number(claim, claim->value);
    if (is(claim->rule, "shown") && outcome == CLAIM_FAILS)
        return json_sprintf("%s here, slower than the %s published for older hardware", value.text, published.text);
    if (is(claim->rule, "shown")) return json_sprintf("%s here; a number of other hardware is shown, not judged", value.text);
    const char *how = outcome == CLAIM_HOLDS ? ""
                      : is(claim->quantity, "speedup") && outcome == CLAIM_FAILS && place_of(claim, here->value) < 0
                          ? "no speed-up, "
                      : place_of(claim, here->value) > 0 ? "above the band, "
                                                         : "below the band, ";
    return json_sprintf("%s here%s, %sexpected %s%s%s", value.text, here->emulated ? " (in the emulator)" : "", how,
                        text_of(judged, "expected"),
                        claim->law && outcome == CLAIM_FAILS ? "; a law or an equality has no other size" : "",
                        is_close(claim, here) ? "; the processes disagree" : "");
}

static void judge_measured(const Claim *claim, const Measured *here, json_t *out) {
    const int outcome = outcome_of(claim, here);
    const bool provisional = !here->exact && (here->processes < CLAIM_PROCESSES || is_close(claim, here));
    json_object_update_new(out, json_pack("{s:s, s:s, s:o, s:f, s:o, s:o, s:i, s:b}", "run", here->run, "outcome",
                                          CLAIM_OUTCOMES[outcome], "why", why_of(claim, out, here, outcome), "here", here->value,
                                          "low", finite_or_null(here->low), "high", finite_or_null(here->high), "processes",
                                          here->processes, "provisional", provisional));
}

json_t *claim_judge(const Claim *claim, const json_t *rows) {
    json_t *out = claim_to_json(claim);
    Measured here;
    char why[CLAIM_WHY_MAX];
    json_object_update_new(
        out, json_pack("{s:s, s:n, s:n, s:n, s:i, s:b}", "kind", "claim", "here", "low", "high", "processes", 0, "provisional", 0));
    const int outcome = claim->untestable ? CLAIM_NOT_TESTABLE : claim_measure(claim, rows, &here, why);
    if (outcome == CLAIM_HOLDS) {
        judge_measured(claim, &here, out);
        return out;
    }
    const bool left_out = outcome == CLAIM_NOT_RUN && claim->not_run;
    json_object_set_new(out, "outcome", json_string(CLAIM_OUTCOMES[outcome]));
    json_object_set_new(out, "why", json_string(claim->untestable ? claim->untestable : left_out ? claim->not_run : why));
    return out;
}

int claim_outcome(const json_t *judged) {
    for (int i = 0; i < CLAIM_OUTCOME_COUNT; i++)
        if (is(text_of(judged, "outcome"), CLAIM_OUTCOMES[i])) return i;
    return CLAIM_NOT_RUN;
}

void claim_count(const json_t *judged, ClaimTotals *totals) {
    if (is(text_of(judged, "claim_kind"), "finding"))
        totals->findings++;
    else if (is(text_of(judged, "program"), "ours"))
        totals->ours++;
    else if (is(text_of(judged, "rule"), "shown") && json_is_number(json_object_get(judged, "here"))) {
        totals->shown++;
        totals->shown_worse += claim_outcome(judged) == CLAIM_FAILS;
    } else
        totals->outcomes[claim_outcome(judged)]++;
}
