/* claims_support.h - a published speed-up, and rows that judge it. */
#ifndef CLAIMS_SUPPORT_H
#define CLAIMS_SUPPORT_H

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
                              .value = 15.4,
                              .quantity = "speedup",
                              .problem = CASE_LINE,
                              .variant = FAST,
                              .baseline = SLOW,
                              .mode = "cold",
                              .rule = "about",
                              .factor = 1.25,
                              .low = 12.32,
                              .high = 19.25};

/* One row; median <= 0: not timed. */
static inline void add_row(json_t *rows, const char *run, const char *spec, const char *verdict, double median, double low,
                           double high) {
    json_t *row = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "kind", "row", "run", run, "scenario", "published/rolling",
                            "case", CASE_LINE, "spec", spec, "backend", "cuda", "verdict", verdict, "reason", "as the test says");
    if (median > 0)
        json_object_set_new(row, "timing", json_pack("{s:{s:f, s:f, s:f}}", "cold", "median", median, "low", low, "high", high));
    else
        json_object_set_new(row, "timing", json_null());
    json_array_append_new(rows, row);
}

static inline void expect(const Claim *claim, json_t *rows, const char *verdict, const char *reason) {
    json_t *judged = claim_judge(claim, rows);
    const char *why = json_string_value(json_object_get(judged, "reason"));
    assert_string_equal(json_string_value(json_object_get(judged, "kind")), "claim");
    assert_string_equal(json_string_value(json_object_get(judged, "id")), claim->id);
    assert_string_equal(json_string_value(json_object_get(judged, "verdict")), verdict);
    if (!strstr(why, reason)) fail_msg("reason '%s' lacks '%s'", why, reason);
    const bool testable = strcmp(verdict, "not testable here") != 0;
    assert_int_equal(json_is_real(json_object_get(judged, "ours")), testable);
    if (!testable) assert_true(json_is_null(json_object_get(judged, "ours_interval")));
    json_decref(judged);
}

static inline double ours(const Claim *claim, json_t *rows) {
    json_t *judged = claim_judge(claim, rows);
    const double value = json_real_value(json_object_get(judged, "ours"));
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

#endif
