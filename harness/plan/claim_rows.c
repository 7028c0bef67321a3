/* Chooses the rows that a claim is judged from, and takes its value from them. */
#include "plan/claims.h"

#include "base/joined.h"
#include "base/jsontext.h"
#include "plan/case.h"
#include "plan/scenario.h"
#include "record/row.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESSES_MAX = 256 };

static double number_or_nan(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* One row that a claim is about: which variant, on what, and which of its times, if any. */
typedef struct Side {
    const char *scenario, *problem, *spec, *mode;
    bool counted; /* its counts are meant */
    bool blamed;  /* a wrong result is the claim's: not the baseline's */
} Side;

bool claim_is_about_counts(const Claim *claim) {
    static const char *const counted[] = {"launches", "peak_bytes", "bytes_over_minimum"};
    for (size_t i = 0; claim->quantity && i < sizeof counted / sizeof *counted; i++)
        if (strcmp(claim->quantity, counted[i]) == 0) return true;
    return false;
}

static Side variant_side(const Claim *claim) {
    return (Side){claim->scenario, claim->problem, claim->variant, claim->mode, claim_is_about_counts(claim), true};
}

static Side baseline_side(const Claim *claim) {
    return (Side){claim->scenario, claim->baseline_problem ? claim->baseline_problem : claim->problem,
                  claim->baseline, claim->baseline_mode ? claim->baseline_mode : claim->mode,
                  false,           false};
}

static bool is_row_of(const json_t *line, const char *spec) {
    char today[SPEC_TEXT_MAX];
    return line_kind(line) == LINE_ROW && strcmp(joined_spec(text_of(line, "spec"), today, sizeof today), spec) == 0;
}

static bool is_declared(const json_t *row) {
    return json_is_true(json_object_get(json_object_get(row, "bound"), "declared"));
}

static bool has_passed(const json_t *row) {
    return line_verdict(row) == VERDICT_PASS;
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

static double time_of(const Side *side, const json_t *row) {
    return number_or_nan(json_object_get(json_object_get(row, "timing"), side->mode), "median");
}

/* How much a row has to say: what ran in earnest before what was verified only, emulated rows, and what the scenario left out. */
typedef enum Grade { GRADE_NONE, GRADE_NOT_RUN, GRADE_STAND_IN, GRADE_EMULATED, GRADE_VERIFIED, GRADE_FULL } Grade;

static Grade grade_of(const Side *side, const json_t *row) {
    if (!is_row_of(row, side->spec)) return GRADE_NONE;
    if (!is_case(text_of(row, "case"), side->problem)) /* without_gpu makes a smaller case */
        return line_emulated(row) && strcmp(text_of(row, "scenario"), side->scenario) == 0 ? GRADE_STAND_IN : GRADE_NONE;
    if (line_emulated(row)) return GRADE_EMULATED;
    if (!has_passed(row)) return strncmp(text_of(row, "reason"), "not run: ", 9) == 0 ? GRADE_NOT_RUN : GRADE_FULL;
    const bool has_value = side->mode      ? time_of(side, row) > 0
                           : side->counted ? json_is_object(json_object_get(row, "counts"))
                                           : true;
    return has_value ? GRADE_FULL : GRADE_VERIFIED;
}

/* Times are comparable only on one bench: one build on one card of one kind of machine. */
typedef struct Bench {
    const char *environment, *card; /* borrowed from an environment line */
    const char *gpu;                /* of a run on several GPUs that of the row; "": none, it goes with any */
} Bench;

/* Of a row's run, from an environment line among the rows; empty texts if there is none. */
static Bench bench_of(const json_t *rows, const json_t *row) {
    const char *run = text_of(row, "run");
    size_t i;
    json_t *line;
    json_array_foreach(rows, i, line) {
        if (line_kind(line) == LINE_ENVIRONMENT && strcmp(text_of(line, "run"), run) == 0)
            return (Bench){text_of(line, "id"), text_of(json_object_get(line, "gpu"), "uuid"),
                           text_of(json_object_get(row, "gpu"), "uuid")};
    }
    return (Bench){"", "", ""};
}

/* bench: NULL: any. */
static bool is_of(const json_t *rows, const json_t *row, const Bench *bench) {
    if (!bench) return true;
    const Bench its = bench_of(rows, row);
    const bool one_gpu = !*its.gpu || !*bench->gpu || strcmp(its.gpu, bench->gpu) == 0;
    return one_gpu && strcmp(its.environment, bench->environment) == 0 && strcmp(its.card, bench->card) == 0;
}

/* The row of the side on this bench (NULL: any) with most to say; among equals the last, whatever it says. */
static const json_t *find_row(const Side *side, const json_t *rows, const Bench *bench, Grade *grade) {
    const json_t *best = NULL;
    *grade = GRADE_NONE;
    for (size_t i = json_array_size(rows); i-- > 0 && *grade < GRADE_FULL;) {
        const json_t *row = json_array_get(rows, i);
        const Grade its = grade_of(side, row);
        if (its > *grade && is_of(rows, row, bench)) best = row, *grade = its;
    }
    return best;
}

/* ---- Rows that bear no claim. */

/* Do both verify one definition? Those of a variant and its tunables under one bound, with the same words among the parameters. */
static bool is_of_definition(const json_t *row, const json_t *other) {
    const char *name;
    json_t *value;
    if (!has_passed(other) || strcmp(text_of(other, "spec"), text_of(row, "spec")) != 0 ||
        strcmp(text_of(other, "dtype"), text_of(row, "dtype")) != 0 || is_declared(other) != is_declared(row))
        return false;
    json_object_foreach(json_object_get(row, "params"), name, value) {
        if (json_is_string(value) && !json_equal(value, json_object_get(json_object_get(other, "params"), name))) return false;
    }
    return true;
}

static bool has_text(const json_t *list, const char *text) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *its = json_string_value(json_array_get(list, i));
        if (its && strcmp(its, text) == 0) return true;
    }
    return false;
}

/* A wrong definition that the row's own, looser bound would let pass, and that of every other case of the variant on the bench,
 * too, whichever of a run's GPUs it ran on; NULL: there is none. */
static const char *admitted(const json_t *rows, const json_t *row) {
    const json_t *names = json_object_get(row, "does_not_tell");
    Bench bench = bench_of(rows, row);
    bench.gpu = ""; /* a definition is the build's */
    for (size_t i = 0; is_declared(row) && i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        bool rejected = !name;
        for (size_t k = 0; k < json_array_size(rows) && !rejected; k++) {
            const json_t *other = json_array_get(rows, k);
            rejected =
                is_of_definition(row, other) && is_of(rows, other, &bench) && has_text(json_object_get(other, "tells"), name);
        }
        if (!rejected) return name;
    }
    return NULL;
}

/* In any of its processes on the bench. */
static bool was_on_one_input(const Side *side, const json_t *rows, const json_t *row) {
    const Bench bench = bench_of(rows, row);
    for (size_t i = 0; side->mode && i < json_array_size(rows); i++) {
        const json_t *other = json_array_get(rows, i);
        if (json_is_true(json_object_get(other, "timed_on_one_input")) && grade_of(side, other) == GRADE_FULL &&
            is_of(rows, other, &bench))
            return true;
    }
    return false;
}

/* Why a row that passed bears no claim; false: it may. */
static bool is_not_judged(const Side *side, const json_t *rows, const json_t *row, char *why) {
    const char *name = admitted(rows, row);
    if (name)
        snprintf(why, CLAIM_WHY_MAX, "not judged: definition of %s not verified (its bound does not tell %s)", side->spec, name);
    else if (json_object_get(json_object_get(row, "bound"), "reference"))
        snprintf(why, CLAIM_WHY_MAX, "not judged: the reference of %s is in float64, no better than its outputs", side->spec);
    else if (was_on_one_input(side, rows, row))
        snprintf(why, CLAIM_WHY_MAX, "not judged: %s was timed on one input", side->spec);
    else
        return false;
    return true;
}

/* A row that passed and was not emulated: CLAIM_HOLDS; else the outcome and why. */
static int require_row(const Side *side, const json_t *rows, const Bench *bench, const json_t **out, char *why) {
    Grade grade;
    const json_t *row = *out = find_row(side, rows, bench, &grade);
    const Verdict verdict = line_verdict(row);
    const char *reason = text_of(row, "reason");
    if (!row)
        snprintf(why, CLAIM_WHY_MAX, "no row of '%s' on '%s'", side->spec, side->problem);
    else if (grade == GRADE_NOT_RUN)
        snprintf(why, CLAIM_WHY_MAX, "%s: %s", side->spec, reason + strlen("not run: "));
    else if (line_emulated(row) && verdict != VERDICT_SKIP)
        snprintf(why, CLAIM_WHY_MAX, "%s was emulated, not timed", side->spec);
    else if (!has_passed(row))
        snprintf(why, CLAIM_WHY_MAX, "%s: %s%s%s", side->spec, verdict_name(verdict), *reason ? ": " : "", reason);
    else if (!is_not_judged(side, rows, row, why))
        return CLAIM_HOLDS;
    if (!row || grade == GRADE_NOT_RUN) return CLAIM_NOT_RUN;
    return side->blamed && !line_emulated(row) && verdict == VERDICT_FAIL ? CLAIM_FAILS : CLAIM_NOT_TESTABLE;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Median and range of the medians of all processes of the side on the bench of `row`: each row is a process. */
static void over_processes(const Side *side, const json_t *rows, const json_t *row, Measured *out) {
    double medians[PROCESSES_MAX];
    size_t count = 0;
    const Bench bench = bench_of(rows, row);
    for (size_t i = json_array_size(rows); i-- > 0 && count < PROCESSES_MAX;) {
        const json_t *other = json_array_get(rows, i);
        if (grade_of(side, other) == GRADE_FULL && has_passed(other) && is_of(rows, other, &bench))
            medians[count++] = time_of(side, other);
    }
    qsort(medians, count, sizeof *medians, by_size);
    *out = (Measured){(medians[(count - 1) / 2] + medians[count / 2]) / 2, NAN, NAN, false, false, text_of(row, "run"), (int)count};
    if (count > 1) out->low = medians[0], out->high = medians[count - 1];
}

static int find_time(const Side *side, const json_t *rows, const Bench *bench, Measured *out, char *why) {
    const json_t *row;
    const int outcome = require_row(side, rows, bench, &row, why);
    if (outcome != CLAIM_HOLDS) return outcome;
    if (time_of(side, row) > 0) {
        over_processes(side, rows, row, out);
        return CLAIM_HOLDS;
    }
    const json_t *mode = json_object_get(json_object_get(row, "timing"), side->mode);
    const char *none = text_of(mode, "why_none"), *untimed = text_of(row, "why_not_timed");
    snprintf(why, CLAIM_WHY_MAX, "%s has no %s time%s%s", side->spec, side->mode, *none || *untimed ? ": " : "",
             *none ? none : untimed);
    return CLAIM_NOT_TESTABLE;
}

static Measured exact_value(double value, const json_t *row) {
    return (Measured){value, NAN, NAN, true, line_emulated(row), text_of(row, "run"), 1};
}

/* The largest absolute error, also of a row that failed for it: it was measured. The emulator measures it, too, on the claim's own
 * case. */
static int find_error(const Side *side, const char *output, const json_t *rows, Measured *out, char *why) {
    const json_t *row;
    const int outcome = require_row(side, rows, NULL, &row, why);
    const bool emulated = row && line_emulated(row) && is_case(text_of(row, "case"), side->problem);
    const bool has_error = row && (emulated || !line_emulated(row)) && outcome != CLAIM_NOT_RUN;
    if (outcome != CLAIM_HOLDS && (!has_error || (has_passed(row) && (!emulated || is_not_judged(side, rows, row, why)))))
        return outcome;
    const json_t *errors = json_object_get(json_object_get(row, "errors"), output);
    *out = exact_value(number_or_nan(errors, "max_absolute"), row);
    if (isfinite(out->value)) return CLAIM_HOLDS;
    const char *reason = text_of(row, "reason");
    snprintf(why, CLAIM_WHY_MAX, "%s has no finite error of '%s'%s%s", side->spec, output, *reason ? ": " : "", reason);
    return outcome == CLAIM_HOLDS ? CLAIM_NOT_TESTABLE : outcome;
}

static int find_error_ratio(const Claim *claim, const json_t *rows, Measured *out, char *why) {
    const Side over = variant_side(claim), under = baseline_side(claim);
    Measured baseline;
    int outcome = find_error(&over, claim->output, rows, out, why);
    if (outcome == CLAIM_HOLDS) outcome = find_error(&under, claim->output, rows, &baseline, why);
    if (outcome != CLAIM_HOLDS) return outcome;
    out->value = baseline.value / out->value;
    out->emulated = out->emulated || baseline.emulated;
    return CLAIM_HOLDS;
}

static int find_count(const Claim *claim, const json_t *rows, Measured *out, char *why) {
    const Side side = variant_side(claim);
    const json_t *row;
    const int outcome = require_row(&side, rows, NULL, &row, why);
    if (outcome != CLAIM_HOLDS) return outcome;
    const json_t *counts = json_object_get(row, "counts");
    const bool moved = strcmp(claim->quantity, "bytes_over_minimum") == 0;
    double value = moved ? NAN : number_or_nan(counts, claim->quantity);
    if (moved)
        value = (number_or_nan(counts, "bytes_read") + number_or_nan(counts, "bytes_written")) /
                number_or_nan(json_object_get(row, "work"), "bytes");
    *out = exact_value(value, row);
    if (isfinite(value)) return CLAIM_HOLDS;
    const char *reason = text_of(row, "counts_reason");
    snprintf(why, CLAIM_WHY_MAX, "%s has no %s: %s", side.spec, claim->quantity, *reason ? reason : "not counted");
    return CLAIM_NOT_TESTABLE;
}

/* The bench of the latest row of the variant that has a baseline beside it; false: there is none. */
static bool common_bench(const Side *over, const Side *under, const json_t *rows, Bench *out) {
    Grade its;
    for (size_t i = json_array_size(rows); i-- > 0;) {
        const json_t *row = json_array_get(rows, i);
        if (grade_of(over, row) != GRADE_FULL) continue;
        *out = bench_of(rows, row);
        find_row(under, rows, out, &its);
        if (its == GRADE_FULL) return true;
    }
    return false;
}

/* Time of the baseline / time of the variant, on one bench; the interval is the widest that both ranges allow. */
static int find_speedup(const Claim *claim, const json_t *rows, Measured *out, char *why) {
    const Side over = variant_side(claim), under = baseline_side(claim);
    Bench bench;
    const bool beside = common_bench(&over, &under, rows, &bench);
    Measured variant, baseline;
    int outcome = find_time(&over, rows, beside ? &bench : NULL, &variant, why);
    if (outcome == CLAIM_HOLDS) outcome = find_time(&under, rows, beside ? &bench : NULL, &baseline, why);
    if (outcome != CLAIM_HOLDS) return outcome;
    if (!beside) {
        snprintf(why, CLAIM_WHY_MAX,
                 "'%s' and '%s' were timed in different environments or on different cards only (runs %.80s and %.80s)", over.spec,
                 under.spec, variant.run, baseline.run);
        return CLAIM_NOT_TESTABLE;
    }
    const bool range = isfinite(variant.low) && isfinite(baseline.low);
    *out = (Measured){baseline.value / variant.value,
                      range ? baseline.low / variant.high : NAN,
                      range ? baseline.high / variant.low : NAN,
                      false,
                      false,
                      variant.run,
                      variant.processes < baseline.processes ? variant.processes : baseline.processes};
    return CLAIM_HOLDS;
}

/* A time -> bytes or elements of the work model in a second. */
static int find_rate(const Claim *claim, const json_t *rows, Measured *out, char *why) {
    const Side side = variant_side(claim);
    Grade grade;
    Measured time;
    const int outcome = find_time(&side, rows, NULL, &time, why);
    if (outcome != CLAIM_HOLDS) return outcome;
    const json_t *work = json_object_get(find_row(&side, rows, NULL, &grade), "work");
    const double amount = number_or_nan(work, strcmp(claim->quantity, "bytes_per_second") == 0 ? "bytes" : "elements");
    *out = (Measured){amount / time.value, amount / time.high, amount / time.low, false, false, time.run, time.processes};
    if (out->value > 0) return CLAIM_HOLDS;
    snprintf(why, CLAIM_WHY_MAX, "%s has no %s: its row has no work", side.spec, claim->quantity);
    return CLAIM_NOT_TESTABLE;
}

static int measure(const Claim *claim, const json_t *rows, Measured *out, char *why) {
    const Side side = variant_side(claim);
    if (strcmp(claim->quantity, "speedup") == 0) return find_speedup(claim, rows, out, why);
    if (strcmp(claim->quantity, "seconds") == 0) return find_time(&side, rows, NULL, out, why);
    if (strcmp(claim->quantity, "error") == 0) return find_error(&side, claim->output, rows, out, why);
    if (strcmp(claim->quantity, "error_ratio") == 0) return find_error_ratio(claim, rows, out, why);
    if (strstr(claim->quantity, "_per_second")) return find_rate(claim, rows, out, why);
    return find_count(claim, rows, out, why);
}

int claim_measure(const Claim *claim, const json_t *rows, Measured *out, char why[CLAIM_WHY_MAX]) {
    const int outcome = measure(claim, rows, out, why);
    if (outcome != CLAIM_HOLDS || isfinite(out->value)) return outcome;
    snprintf(why, CLAIM_WHY_MAX, "the rows of %s give no finite number", claim->variant);
    return CLAIM_NOT_TESTABLE;
}
