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

/* One row that a claim is about: which variant, on what, and for speed-ups and seconds which of its times. */
typedef struct Side {
    const char *scenario, *problem, *spec, *mode;
} Side;

static Side variant_side(const Claim *claim) {
    return (Side){claim->scenario, claim->problem, claim->variant, claim->mode};
}

static Side baseline_side(const Claim *claim) {
    return (Side){claim->scenario, claim->baseline_problem ? claim->baseline_problem : claim->problem, claim->baseline,
                  claim->baseline_mode ? claim->baseline_mode : claim->mode};
}

/* The row's time in the side's mode; false with the reason if it has none. */
static bool read_time(const Side *side, const json_t *row, Measured *out, char why[WHY_MAX]) {
    const char *verdict = text_of(row, "verdict"), *reason = text_of(row, "reason");
    if (strcmp(text_of(row, "backend"), "emulator") == 0)
        snprintf(why, WHY_MAX, "%s was emulated, not timed", side->spec);
    else if (strcmp(verdict, "pass") != 0)
        snprintf(why, WHY_MAX, "%s: %s%s%s", side->spec, *verdict ? verdict : "no verdict", *reason ? ": " : "", reason);
    else {
        const json_t *timing = json_object_get(row, "timing"), *mode = json_object_get(timing, side->mode);
        out->median = number_or_nan(mode, "median");
        out->low = number_or_nan(mode, "low");
        out->high = number_or_nan(mode, "high");
        out->run = text_of(row, "run");
        if (out->median > 0) return true;
        const char *none = text_of(mode, "why_none"), *untimed = text_of(row, "why_not_timed");
        snprintf(why, WHY_MAX, "%s has no %s time%s%s", side->spec, side->mode, *none || *untimed ? ": " : "",
                 *none ? none : untimed);
    }
    return false;
}

/* The last row of the side in this run (NULL: any); the latest word counts, whatever it says. Where there is none, an emulated row
 * of the scenario, whose case is the smaller one of without_gpu. NULL if there is neither. */
static const json_t *find_row(const Side *side, const json_t *rows, const char *run) {
    const json_t *emulated = NULL;
    for (size_t i = json_array_size(rows); i-- > 0;) {
        const json_t *row = json_array_get(rows, i);
        if (!is_row_of(row, side->spec) || (run && strcmp(text_of(row, "run"), run) != 0)) continue;
        if (strcmp(text_of(row, "case"), side->problem) == 0) return row;
        const bool stand_in =
            strcmp(text_of(row, "backend"), "emulator") == 0 && strcmp(text_of(row, "scenario"), side->scenario) == 0;
        if (stand_in && !emulated) emulated = row;
    }
    return emulated;
}

static const json_t *require_row(const Side *side, const json_t *rows, const char *run, char why[WHY_MAX]) {
    const json_t *row = find_row(side, rows, run);
    if (!row) snprintf(why, WHY_MAX, "no row of '%s' on '%s'", side->spec, side->problem);
    return row;
}

static bool find_time(const Side *side, const json_t *rows, const char *run, Measured *out, char why[WHY_MAX]) {
    const json_t *row = require_row(side, rows, run, why);
    return row && read_time(side, row, out, why);
}

/* The largest absolute error, also of a row that failed for it: it was measured. */
static bool find_error(const Claim *claim, const json_t *rows, Measured *out, char why[WHY_MAX]) {
    const Side side = variant_side(claim);
    const json_t *row = require_row(&side, rows, NULL, why);
    if (!row) return false;
    if (strcmp(text_of(row, "backend"), "emulator") == 0) {
        snprintf(why, WHY_MAX, "%s was emulated: a GPU's own arithmetic may round otherwise", side.spec);
        return false;
    }
    const json_t *errors = json_object_get(json_object_get(row, "errors"), claim->output);
    *out = (Measured){number_or_nan(errors, "max_absolute"), NAN, NAN, text_of(row, "run")};
    if (isfinite(out->median)) return true;
    const char *reason = text_of(row, "reason");
    snprintf(why, WHY_MAX, "%s has no finite error of '%s'%s%s", side.spec, claim->output, *reason ? ": " : "", reason);
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

/* Both times from the latest run that has rows of both; a run that was cut off and resumed has them under two names, which count
 * together if their environments are not known to differ. */
static bool find_pair(const Claim *claim, const json_t *rows, Measured *variant, Measured *baseline, char why[WHY_MAX]) {
    const Side over = variant_side(claim), under = baseline_side(claim);
    const char *run = NULL;
    for (size_t i = json_array_size(rows); i-- > 0 && !run;) {
        const json_t *row = json_array_get(rows, i);
        const char *its = text_of(row, "run");
        if (is_row_of(row, over.spec) && find_row(&over, rows, its) && find_row(&under, rows, its)) run = its;
    }
    if (!find_time(&over, rows, run, variant, why) || !find_time(&under, rows, run, baseline, why)) return false;
    const char *ours = environment_of(rows, variant->run), *theirs = environment_of(rows, baseline->run);
    if (!*ours || !*theirs || strcmp(ours, theirs) == 0) return true;
    snprintf(why, WHY_MAX, "'%s' and '%s' were timed in different environments only (runs %.80s and %.80s)", over.spec, under.spec,
             variant->run, baseline->run);
    return false;
}

/* Our value as median, low, high. */
static bool evaluate(const Claim *claim, const json_t *rows, Measured *ours, char why[WHY_MAX]) {
    const Side side = variant_side(claim);
    Measured variant, baseline;
    if (strcmp(claim->quantity, "seconds") == 0) return find_time(&side, rows, NULL, ours, why);
    if (strcmp(claim->quantity, "error") == 0) return find_error(claim, rows, ours, why);
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
    };
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
