/* Rows in, verdict out: nothing here knows how the rows came to be. */
#include "plan/claims.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { WHY_MAX = 1024 };

/* A time with its interval; low and high NaN where the row has none. */
typedef struct Measured {
    double median, low, high;
    const char *run;
} Measured;

static const char *text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static bool is_row_of(const json_t *row, const char *spec) {
    const json_t *kind = json_object_get(row, "kind");
    return (!kind || strcmp(text_of(row, "kind"), "row") == 0) && strcmp(text_of(row, "spec"), spec) == 0;
}

static double number_or_nan(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* The row's time in the claim's mode; false with the reason if it has none. */
static bool read_time(const Claim *claim, const json_t *row, const char *spec, Measured *out, char why[WHY_MAX]) {
    const char *verdict = text_of(row, "verdict"), *reason = text_of(row, "reason");
    if (strcmp(text_of(row, "backend"), "emulator") == 0)
        snprintf(why, WHY_MAX, "%s was emulated, not timed", spec);
    else if (strcmp(verdict, "pass") != 0)
        snprintf(why, WHY_MAX, "%s: %s%s%s", spec, *verdict ? verdict : "no verdict", *reason ? ": " : "", reason);
    else {
        const json_t *timing = json_object_get(row, "timing"), *mode = json_object_get(timing, claim->mode);
        out->median = number_or_nan(mode, "median");
        out->low = number_or_nan(mode, "low");
        out->high = number_or_nan(mode, "high");
        out->run = text_of(row, "run");
        if (out->median > 0) return true;
        const char *none = text_of(mode, "why_none"), *untimed = text_of(row, "why_not_timed");
        snprintf(why, WHY_MAX, "%s has no %s time%s%s", spec, claim->mode, *none || *untimed ? ": " : "", *none ? none : untimed);
    }
    return false;
}

/* The last row of this spec on the claim's case in this run (NULL: any); the latest word counts, whatever it says. Where there is
 * none, an emulated row of the scenario, whose case is the smaller one of without_gpu. NULL if there is neither. */
static const json_t *find_row(const Claim *claim, const json_t *rows, const char *spec, const char *run) {
    const json_t *emulated = NULL;
    for (size_t i = json_array_size(rows); i-- > 0;) {
        const json_t *row = json_array_get(rows, i);
        if (!is_row_of(row, spec) || (run && strcmp(text_of(row, "run"), run) != 0)) continue;
        if (strcmp(text_of(row, "case"), claim->problem) == 0) return row;
        const bool stand_in =
            strcmp(text_of(row, "backend"), "emulator") == 0 && strcmp(text_of(row, "scenario"), claim->scenario) == 0;
        if (stand_in && !emulated) emulated = row;
    }
    return emulated;
}

static bool find_time(const Claim *claim, const json_t *rows, const char *spec, const char *run, Measured *out, char why[WHY_MAX]) {
    const json_t *row = find_row(claim, rows, spec, run);
    if (row) return read_time(claim, row, spec, out, why);
    snprintf(why, WHY_MAX, "no row of '%s' on '%s'", spec, claim->problem);
    return false;
}

/* Identity of the machine and build of a run, from an environment line among the rows; "" if there is none. */
static const char *environment_of(const json_t *rows, const char *run) {
    size_t i;
    json_t *line;
    json_array_foreach(rows, i, line) {
        if (strcmp(text_of(line, "kind"), "environment") == 0 && strcmp(text_of(line, "run"), run) == 0) return text_of(line, "id");
    }
    return "";
}

static bool both_in_run(const Claim *claim, const json_t *rows, const char *run) {
    return find_row(claim, rows, claim->variant, run) && find_row(claim, rows, claim->baseline, run);
}

/* Both times from the latest run that has rows of both; a run that was cut off and resumed has them under two names, which count
 * together if their environments are not known to differ. */
static bool find_pair(const Claim *claim, const json_t *rows, Measured *variant, Measured *baseline, char why[WHY_MAX]) {
    const char *run = NULL;
    for (size_t i = json_array_size(rows); i-- > 0 && !run;) {
        const json_t *row = json_array_get(rows, i);
        if (is_row_of(row, claim->variant) && both_in_run(claim, rows, text_of(row, "run"))) run = text_of(row, "run");
    }
    if (!find_time(claim, rows, claim->variant, run, variant, why) || !find_time(claim, rows, claim->baseline, run, baseline, why))
        return false;
    const char *ours = environment_of(rows, variant->run), *theirs = environment_of(rows, baseline->run);
    if (!*ours || !*theirs || strcmp(ours, theirs) == 0) return true;
    snprintf(why, WHY_MAX, "'%s' and '%s' were timed in different environments only (runs %.80s and %.80s)", claim->variant,
             claim->baseline, variant->run, baseline->run);
    return false;
}

/* Our value as median, low, high. */
static bool evaluate(const Claim *claim, const json_t *rows, Measured *ours, char why[WHY_MAX]) {
    Measured variant, baseline;
    if (strcmp(claim->quantity, "seconds") == 0) return find_time(claim, rows, claim->variant, NULL, ours, why);
    if (strcmp(claim->quantity, "speedup") != 0 || !claim->baseline) {
        snprintf(why, WHY_MAX, "quantity '%s' cannot be judged from rows", claim->quantity);
        return false;
    }
    if (!find_pair(claim, rows, &variant, &baseline, why)) return false;
    /* The widest that both intervals allow. */
    *ours = (Measured){baseline.median / variant.median, baseline.low / variant.high, baseline.high / variant.low, variant.run};
    return true;
}

static json_t *finite_or_null(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *text_or_null(const char *text) {
    return text ? json_string(text) : json_null();
}

json_t *claim_to_json(const Claim *claim) {
    json_t *out = json_object();
    const struct {
        const char *key, *text;
    } texts[] = {
        {"id", claim->id},         {"statement", claim->statement}, {"source", claim->source},     {"hardware", claim->hardware},
        {"method", claim->method}, {"note", claim->note},           {"scenario", claim->scenario}, {"quantity", claim->quantity},
        {"case", claim->problem},  {"variant", claim->variant},     {"baseline", claim->baseline}, {"mode", claim->mode},
        {"rule", claim->rule}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) json_object_set_new(out, texts[i].key, text_or_null(texts[i].text));
    json_object_set_new(out, "value", finite_or_null(claim->value));
    json_object_set_new(out, "at_least", finite_or_null(claim->at_least));
    json_object_set_new(out, "at_most", finite_or_null(claim->at_most));
    return out;
}

json_t *claim_judge(const Claim *claim, const json_t *rows) {
    json_t *out = claim_to_json(claim);
    Measured ours;
    char why[WHY_MAX];
    json_object_set_new(out, "kind", json_string("claim"));
    if (!evaluate(claim, rows, &ours, why)) {
        json_object_set_new(out, "verdict", json_string("not testable here"));
        json_object_set_new(out, "ours", json_null());
        json_object_set_new(out, "ours_interval", json_null());
        json_object_set_new(out, "reason", json_string(why));
        return out;
    }
    const bool inside = ours.median >= claim->at_least && ours.median <= claim->at_most;
    const char *side = inside ? "inside" : ours.median < claim->at_least ? "below" : "above";
    snprintf(why, sizeof why, "ours %.6g is %s what reproduces it: %s", ours.median, side, claim->rule);
    json_object_set_new(out, "verdict", json_string(inside ? "reproduced" : "not reproduced"));
    json_object_set_new(out, "ours", json_real(ours.median));
    const bool interval = isfinite(ours.low) && isfinite(ours.high);
    json_object_set_new(out, "ours_interval", interval ? json_pack("[f,f]", ours.low, ours.high) : json_null());
    json_object_set_new(out, "reason", json_string(why));
    return out;
}
