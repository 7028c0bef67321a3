/* claims_support.h - a published speed-up, and rows that judge it. */
/* needs: rolling */
#pragma once

#include "plan/case.h"
#include "plan/claims.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define CASE_LINE "rolling agg=mean n=1000 dtype=f64 input=ramp seed=1"
#define FAST "rolling/cuda_thread_tile threads=64 tile=48"
#define SLOW "rolling/cuda_naive threads=128"

static const Claim SPEEDUP = {.id = "naive-to-tile",
                              .statement = "s",
                              .source = "s",
                              .hardware = "h",
                              .method = "m",
                              .scenario = "published/rolling",
                              .op = "rolling",
                              .kind = "statement",
                              .program = "reimplementation",
                              .value = 15.4,
                              .quantity = "speedup",
                              .problem = CASE_LINE,
                              .variant = FAST,
                              .baseline = SLOW,
                              .mode = "cold",
                              .rule = "about",
                              .factor = 1.25,
                              .low = 12.32,
                              .high = 19.25,
                              .reason = "why"};

/* One row, that is one process; median <= 0: not timed. */
static inline void add_row(json_t *rows, const char *run, const char *spec, const char *verdict, double median) {
    json_t *row = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "kind", "row", "run", run, "scenario", "published/rolling",
                            "case", CASE_LINE, "spec", spec, "backend", "cuda", "verdict", verdict, "reason", "as the test says");
    if (median > 0)
        json_object_set_new(row, "timing", json_pack("{s:{s:f, s:i}}", "cold", "median", median, "count", 30));
    else
        json_object_set_new(row, "timing", json_null());
    json_array_append_new(rows, row);
}

/* One line of the environment of a run. */
static inline void add_environment(json_t *rows, const char *run, const char *id) {
    json_array_append_new(rows, json_pack("{s:s, s:s, s:s}", "kind", "environment", "run", run, "id", id));
}

/* A number here goes with every outcome but not_run; without one, the interval is empty too. */
static inline void expect(const Claim *claim, json_t *rows, const char *outcome, const char *why) {
    json_t *judged = claim_judge(claim, rows);
    const char *told = json_string_value(json_object_get(judged, "why"));
    assert_string_equal(json_string_value(json_object_get(judged, "kind")), "claim");
    assert_string_equal(json_string_value(json_object_get(judged, "id")), claim->id);
    assert_string_equal(json_string_value(json_object_get(judged, "program")), claim->program);
    if (strcmp(json_string_value(json_object_get(judged, "outcome")), outcome) != 0)
        fail_msg("outcome '%s' instead of '%s': %s", json_string_value(json_object_get(judged, "outcome")), outcome, told);
    if (!told || !strstr(told, why)) fail_msg("why '%s' lacks '%s'", told ? told : "none", why);
    const bool measured = json_is_real(json_object_get(judged, "here"));
    if (strcmp(outcome, "holds") == 0 || strcmp(outcome, "direction") == 0) assert_true(measured);
    if (strcmp(outcome, "not_run") == 0) assert_false(measured);
    assert_int_equal(json_integer_value(json_object_get(judged, "processes")) > 0, measured);
    if (!measured) assert_true(json_is_null(json_object_get(judged, "low")) && json_is_null(json_object_get(judged, "high")));
    json_decref(judged);
}

static inline double here(const Claim *claim, json_t *rows) {
    json_t *judged = claim_judge(claim, rows);
    const double value = json_real_value(json_object_get(judged, "here"));
    json_decref(judged);
    return value;
}

/* A claim whose only numbers are its limits. */
static inline Claim limited(const char *quantity, const char *rule, double low, double high) {
    Claim claim = SPEEDUP;
    claim.quantity = quantity;
    claim.rule = rule;
    claim.value = strcmp(rule, "range") == 0 ? NAN : strcmp(rule, "at_least") == 0 ? low : high;
    claim.factor = strcmp(rule, "about") == 0 ? 1.25 : NAN;
    claim.low = low;
    claim.high = high;
    if (strcmp(quantity, "speedup") != 0) claim.baseline = NULL;
    return claim;
}

static inline void set(json_t *rows, size_t index, const char *key, json_t *value) {
    json_object_set_new(json_array_get(rows, index), key, value);
}
