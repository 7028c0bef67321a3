#include "plan/claims.h"

#include "plan/claim_rows.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *const CLAIM_QUANTITIES[] = {"speedup", "seconds", "error", "launches", "bytes_over_minimum", NULL};
const char *const CLAIM_RULES[] = {"about", "at_least", "at_most", "range", NULL};

enum { REPRODUCED, EXCEEDED, NOT_REPRODUCED, UNDECIDED, NOT_TESTABLE };
const char *const CLAIM_VERDICTS[] = {"reproduced", "exceeded", "not reproduced", "undecided", "not testable here", NULL};

static bool is_quantity(const Claim *claim, const char *name) {
    return strcmp(claim->quantity, name) == 0;
}

static json_t *finite_or_null(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *text_or_null(const char *text) {
    return text ? json_string(text) : json_null();
}

typedef struct Number {
    char text[32];
} Number;

/* Four digits, and no exponent where people would not write one. */
static Number number(double x) {
    Number out;
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
    return out;
}

/* "about 387x, within a factor of 1.33: 291x to 514.7x". */
static json_t *expected(const Claim *claim) {
    const char *unit = is_quantity(claim, "seconds")                                               ? " s"
                       : is_quantity(claim, "speedup") || is_quantity(claim, "bytes_over_minimum") ? "x"
                                                                                                   : "";
    const Number low = number(claim->low), high = number(claim->high);
    if (strcmp(claim->rule, "at_least") == 0) return json_sprintf("at least %s%s", low.text, unit);
    if (strcmp(claim->rule, "at_most") == 0) return json_sprintf("at most %s%s", high.text, unit);
    if (strcmp(claim->rule, "range") == 0) return json_sprintf("%s%s to %s%s", low.text, unit, high.text, unit);
    if (claim->factor == 1) return json_sprintf("%.5g%s", claim->value, unit);
    return json_sprintf("about %.5g%s, within a factor of %.4g: %s%s to %s%s", claim->value, unit, claim->factor, low.text, unit,
                        high.text, unit);
}

json_t *claim_to_json(const Claim *claim) {
    json_t *out = json_object();
    const struct {
        const char *key, *text;
    } texts[] = {
        {"id", claim->id},
        {"statement", claim->statement},
        {"source", claim->source},
        {"hardware", claim->hardware},
        {"method", claim->method},
        {"note", claim->note},
        {"scenario", claim->scenario},
        {"quantity", claim->quantity},
        {"case", claim->problem},
        {"variant", claim->variant},
        {"mode", claim->mode},
        {"baseline", claim->baseline},
        {"baseline_case", claim->baseline_problem},
        {"baseline_mode", claim->baseline_mode},
        {"output", claim->output},
        {"rule", claim->rule},
        {"rationale", claim->rationale},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) json_object_set_new(out, texts[i].key, text_or_null(texts[i].text));
    json_object_set_new(out, "value", finite_or_null(claim->value));
    json_object_set_new(out, "factor", finite_or_null(claim->factor));
    json_object_set_new(out, "low", finite_or_null(claim->low));
    json_object_set_new(out, "high", finite_or_null(claim->high));
    json_object_set_new(out, "expected", expected(claim));
    return out;
}

/* Where a number lies: -1 below the limits, 0 inside, 1 above. */
static int place_of(const Claim *claim, double x) {
    return x < claim->low ? -1 : x > claim->high ? 1 : 0;
}

/* What lies outside a band on the fast side bears a claim of speed out, and more; an error or a count that differs does not. */
static int verdict_at(const Claim *claim, int place) {
    const bool band = isfinite(claim->low) && isfinite(claim->high);
    const int faster = is_quantity(claim, "speedup") ? 1 : is_quantity(claim, "seconds") ? -1 : 2;
    return place == 0 ? REPRODUCED : band && place == faster ? EXCEEDED : NOT_REPRODUCED;
}

static int decide(const Claim *claim, const Measured *ours) {
    if (ours->exact) return verdict_at(claim, place_of(claim, ours->value));
    if (!isfinite(ours->low) || !isfinite(ours->high)) return UNDECIDED;
    const int low = place_of(claim, ours->low), high = place_of(claim, ours->high);
    return low == high ? verdict_at(claim, low) : UNDECIDED;
}

static json_t *reason_of(const json_t *claim, const Measured *ours, int verdict) {
    const char *what = json_string_value(json_object_get(claim, "expected"));
    const Number value = number(ours->value), low = number(ours->low), high = number(ours->high);
    if (ours->exact) return json_sprintf("expected %s; here %s", what, value.text);
    if (!isfinite(ours->low) || !isfinite(ours->high))
        return json_sprintf("expected %s; here %s, without an interval: too few samples to tell", what, value.text);
    return json_sprintf("expected %s; here %s (%s to %s)%s", what, value.text, low.text, high.text,
                        verdict == UNDECIDED ? ", with a limit inside this interval" : "");
}

json_t *claim_judge(const Claim *claim, const json_t *rows) {
    json_t *out = claim_to_json(claim);
    Measured ours;
    char why[CLAIM_WHY_MAX];
    json_object_set_new(out, "kind", json_string("claim"));
    json_object_set_new(out, "ours", json_null());
    json_object_set_new(out, "ours_interval", json_null());
    if (!claim_measure(claim, rows, &ours, why)) {
        json_object_set_new(out, "verdict", json_string(CLAIM_VERDICTS[NOT_TESTABLE]));
        json_object_set_new(out, "reason", json_string(why));
        return out;
    }
    const int verdict = decide(claim, &ours);
    json_object_set_new(out, "run", json_string(ours.run));
    json_object_set_new(out, "verdict", json_string(CLAIM_VERDICTS[verdict]));
    json_object_set_new(out, "ours", json_real(ours.value));
    if (isfinite(ours.low) && isfinite(ours.high))
        json_object_set_new(out, "ours_interval", json_pack("[f,f]", ours.low, ours.high));
    if (ours.samples > 0) json_object_set_new(out, "samples", json_integer(ours.samples));
    json_object_set_new(out, "reason", reason_of(out, &ours, verdict));
    return out;
}

void claim_count(const json_t *judged, size_t counts[CLAIM_VERDICT_COUNT]) {
    const char *verdict = json_string_value(json_object_get(judged, "verdict"));
    for (int i = 0; i < CLAIM_VERDICT_COUNT; i++) counts[i] += verdict && strcmp(verdict, CLAIM_VERDICTS[i]) == 0;
}
