/* Which rows a claim is judged from, and what they say. Nothing here knows how the rows came to be. */
#include "plan/claim_rows.h"

#include "base/jsontext.h"
#include "plan/case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double number_or_nan(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* One row that a claim is about: which variant, on what, and which of its times, if any. */
typedef struct Side {
    const char *scenario, *problem, *spec, *mode;
    bool counted; /* its counts are meant */
} Side;

static Side variant_side(const Claim *claim) {
    const bool counted = strcmp(claim->quantity, "launches") == 0 || strcmp(claim->quantity, "bytes_over_minimum") == 0;
    return (Side){claim->scenario, claim->problem, claim->variant, claim->mode, counted};
}

static Side baseline_side(const Claim *claim) {
    return (Side){claim->scenario, claim->baseline_problem ? claim->baseline_problem : claim->problem, claim->baseline,
                  claim->baseline_mode ? claim->baseline_mode : claim->mode, false};
}

static bool is_row_of(const json_t *row, const char *spec) {
    const json_t *kind = json_object_get(row, "kind");
    return (!kind || strcmp(text_of(row, "kind"), "row") == 0) && strcmp(text_of(row, "spec"), spec) == 0;
}

static bool is_emulated(const json_t *row) {
    return strcmp(text_of(row, "backend"), "emulator") == 0;
}

/* Rows of an op that has got a parameter since lack its name: both texts are read as cases. */
static bool is_case(const char *text, const char *canonical) {
    Case problem;
    char again[CASE_TEXT_MAX];
    if (strcmp(text, canonical) == 0) return true;
    const size_t op = strcspn(text, " ");
    if (strncmp(text, canonical, op + 1) != 0 || case_parse(text, &problem) != STATUS_OK) return false;
    return strcmp(case_format(&problem, again, sizeof again), canonical) == 0;
}

/* How much a row has to say: what ran in earnest before what was verified only, emulated rows last. */
typedef enum Grade { GRADE_NONE, GRADE_STAND_IN, GRADE_EMULATED, GRADE_VERIFIED, GRADE_FULL } Grade;

static Grade grade_of(const Side *side, const json_t *row) {
    if (!is_row_of(row, side->spec)) return GRADE_NONE;
    if (!is_case(text_of(row, "case"), side->problem)) /* without_gpu makes a smaller case */
        return is_emulated(row) && strcmp(text_of(row, "scenario"), side->scenario) == 0 ? GRADE_STAND_IN : GRADE_NONE;
    if (is_emulated(row)) return GRADE_EMULATED;
    if (strcmp(text_of(row, "verdict"), "pass") != 0) return GRADE_FULL;
    const char *wanted = side->mode ? "timing" : side->counted ? "counts" : NULL;
    return wanted && !json_is_object(json_object_get(row, wanted)) ? GRADE_VERIFIED : GRADE_FULL;
}

/* The row of the side in this run (NULL: any) with most to say; among equals the last, whatever it says. */
static const json_t *find_row(const Side *side, const json_t *rows, const char *run, Grade *grade) {
    const json_t *best = NULL;
    *grade = GRADE_NONE;
    for (size_t i = json_array_size(rows); i-- > 0 && *grade < GRADE_FULL;) {
        const json_t *row = json_array_get(rows, i);
        if (run && strcmp(text_of(row, "run"), run) != 0) continue;
        const Grade its = grade_of(side, row);
        if (its > *grade) best = row, *grade = its;
    }
    return best;
}

/* A row that passed and was not emulated; false with the reason if there is none. */
static bool require_row(const Side *side, const json_t *rows, const char *run, const json_t **out, char why[CLAIM_WHY_MAX]) {
    Grade grade;
    const json_t *row = *out = find_row(side, rows, run, &grade);
    const char *verdict = text_of(row, "verdict"), *reason = text_of(row, "reason");
    if (!row)
        snprintf(why, CLAIM_WHY_MAX, "no row of '%s' on '%s'", side->spec, side->problem);
    else if (is_emulated(row))
        snprintf(why, CLAIM_WHY_MAX, "%s was emulated, not timed", side->spec);
    else if (strcmp(verdict, "pass") != 0)
        snprintf(why, CLAIM_WHY_MAX, "%s: %s%s%s", side->spec, *verdict ? verdict : "no verdict", *reason ? ": " : "", reason);
    else
        return true;
    return false;
}

static bool find_time(const Side *side, const json_t *rows, const char *run, Measured *out, char why[CLAIM_WHY_MAX]) {
    const json_t *row;
    if (!require_row(side, rows, run, &row, why)) return false;
    const json_t *mode = json_object_get(json_object_get(row, "timing"), side->mode);
    const long long count = json_integer_value(json_object_get(mode, "count"));
    const bool alone = count == 1; /* one sample is no interval */
    *out = (Measured){.value = number_or_nan(mode, "median"),
                      .low = alone ? NAN : number_or_nan(mode, "low"),
                      .high = alone ? NAN : number_or_nan(mode, "high"),
                      .run = text_of(row, "run"),
                      .samples = count};
    if (out->value > 0) return true;
    const char *none = text_of(mode, "why_none"), *untimed = text_of(row, "why_not_timed");
    snprintf(why, CLAIM_WHY_MAX, "%s has no %s time%s%s", side->spec, side->mode, *none || *untimed ? ": " : "",
             *none ? none : untimed);
    return false;
}

/* The largest absolute error, also of a row that failed for it: it was measured. */
static bool find_error(const Claim *claim, const json_t *rows, Measured *out, char why[CLAIM_WHY_MAX]) {
    const Side side = variant_side(claim);
    const json_t *row;
    if (!require_row(&side, rows, NULL, &row, why) && (!row || is_emulated(row))) return false;
    const json_t *errors = json_object_get(json_object_get(row, "errors"), claim->output);
    *out = (Measured){number_or_nan(errors, "max_absolute"), NAN, NAN, true, text_of(row, "run"), 0};
    if (isfinite(out->value)) return true;
    const char *reason = text_of(row, "reason");
    snprintf(why, CLAIM_WHY_MAX, "%s has no finite error of '%s'%s%s", side.spec, claim->output, *reason ? ": " : "", reason);
    return false;
}

static bool find_count(const Claim *claim, const json_t *rows, Measured *out, char why[CLAIM_WHY_MAX]) {
    const Side side = variant_side(claim);
    const json_t *row;
    if (!require_row(&side, rows, NULL, &row, why)) return false;
    const json_t *counts = json_object_get(row, "counts");
    double value = number_or_nan(counts, "launches");
    if (strcmp(claim->quantity, "bytes_over_minimum") == 0)
        value = (number_or_nan(counts, "bytes_read") + number_or_nan(counts, "bytes_written")) /
                number_or_nan(json_object_get(row, "work"), "bytes");
    *out = (Measured){value, NAN, NAN, true, text_of(row, "run"), 0};
    if (isfinite(value)) return true;
    const char *reason = text_of(row, "counts_reason");
    snprintf(why, CLAIM_WHY_MAX, "%s has no %s: %s", side.spec, claim->quantity, *reason ? reason : "not counted");
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
static bool find_pair(const Claim *claim, const json_t *rows, Measured *variant, Measured *baseline, char why[CLAIM_WHY_MAX]) {
    const Side over = variant_side(claim), under = baseline_side(claim);
    const char *run = NULL;
    Grade its;
    for (size_t i = json_array_size(rows); i-- > 0 && !run;) {
        const json_t *row = json_array_get(rows, i);
        const char *name = text_of(row, "run");
        if (grade_of(&over, row) != GRADE_FULL) continue;
        find_row(&under, rows, name, &its);
        if (its == GRADE_FULL) run = name;
    }
    if (!find_time(&over, rows, run, variant, why) || !find_time(&under, rows, run, baseline, why)) return false;
    const char *ours = environment_of(rows, variant->run), *theirs = environment_of(rows, baseline->run);
    if (!*ours || !*theirs || strcmp(ours, theirs) == 0) return true;
    snprintf(why, CLAIM_WHY_MAX, "'%s' and '%s' were timed in different environments only (runs %.80s and %.80s)", over.spec,
             under.spec, variant->run, baseline->run);
    return false;
}

bool claim_measure(const Claim *claim, const json_t *rows, Measured *out, char why[CLAIM_WHY_MAX]) {
    const Side side = variant_side(claim);
    Measured variant, baseline;
    if (strcmp(claim->quantity, "seconds") == 0) return find_time(&side, rows, NULL, out, why);
    if (strcmp(claim->quantity, "error") == 0) return find_error(claim, rows, out, why);
    if (strcmp(claim->quantity, "speedup") != 0) return find_count(claim, rows, out, why);
    if (!find_pair(claim, rows, &variant, &baseline, why)) return false;
    /* The widest that both intervals allow. */
    *out = (Measured){baseline.value / variant.value,
                      baseline.low / variant.high,
                      baseline.high / variant.low,
                      false,
                      variant.run,
                      variant.samples < baseline.samples ? variant.samples : baseline.samples};
    return true;
}
