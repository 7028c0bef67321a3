#include "pipeline/rows.h"

#include "base/jsontext.h"
#include "base/usercode.h"
#include "measure/stats.h"
#include "pipeline/code.h"
#include "plan/case.h"
#include "record/row.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *row_params(const Params *params) {
    json_t *object = json_object();
    for (int i = 0; i < params->count; i++) {
        const ParamSpec *spec = &params->specs[i];
        const ParamValue *value = &params->values[i];
        json_t *json = spec->kind == PARAM_INT                             ? json_integer(value->integer)
                       : spec->kind == PARAM_REAL && isfinite(value->real) ? json_real(value->real)
                                                                           : json_string(value->text);
        json_object_set_new(object, spec->name, json);
    }
    return object;
}

json_t *row_case(const Case *problem) {
    char text[CASE_TEXT_MAX];
    return json_pack("{s:s, s:s, s:o, s:s, s:s, s:I}", "text", case_format(problem, text, sizeof text), "op", problem->op, "params",
                     row_params(&problem->params), "dtype", dtype_name(problem->dtype), "input", problem->input, "seed",
                     (json_int_t)problem->seed);
}

/* For rows: a user's function is named by its file name and a hash, not by its path, which names people and projects. name: the
 * buffer of that name, which the case borrows. */
static Case told_case(const Case *problem, char name[USERCODE_NAME_MAX]) {
    Case told = *problem;
    for (int i = 0; i < told.params.count; i++) {
        ParamValue *value = &told.params.values[i];
        if (strcmp(told.params.specs[i].name, USERCODE_PARAM) != 0 || strcmp(value->text, "none") == 0) continue;
        usercode_name(value->text, name);
        value->text = name;
    }
    return told;
}

json_t *row_begin(const char *run, const PlanItem *item, const Case *problem, const VariantChoice *choice, bool emulated) {
    char text[CASE_TEXT_MAX], spec[CASE_TEXT_MAX], name[USERCODE_NAME_MAX];
    const Op *op = registry_op(problem->op);
    const Work work = op->work(problem);
    const Case told = told_case(problem, name);
    static const char *const NULLS[] = {"reason",          "errors",  "reverified", "timing", "why_not_timed",
                                        "prepare_seconds", "bound",   "counts",     "launch", "limit_reason",
                                        "worker",          "threads", NULL};
    json_t *row = json_pack(
        "{s:s, s:i, s:s, s:s?, s:s, s:s, s:o, s:s, s:s, s:I, s:s, s:o, s:s, s:s, s:{s:f, s:f, s:f}, s:s?}", "kind", "row", "schema",
        ROW_SCHEMA_VERSION, "run", run, "scenario", item->scenario, "case", case_format(&told, text, sizeof text), "op",
        problem->op, "params", row_params(&told.params), "dtype", dtype_name(problem->dtype), "input", problem->input, "seed",
        (json_int_t)problem->seed, "variant", choice->entry->id, "tunables", row_params(&choice->tunables), "spec",
        variant_choice_format(choice, spec, sizeof spec), "backend", emulated ? "emulator" : backend_name(choice->entry->backend),
        "work", "bytes", work.bytes, "flops", work.flops, "elements", work.elements, "baseline", item->baseline);
    if (!row) return NULL;
    for (int i = 0; NULLS[i]; i++) json_object_set_new(row, NULLS[i], json_null());
    json_object_set_new(row, "code", code_json(choice->entry, emulated));
    json_object_set_new(row, "verdict", json_string("fail")); /* until proven otherwise */
    json_object_set_new(row, "counts_reason", json_string("not counted: only variants that passed and were timed are"));
    return row;
}

void row_verdict(json_t *row, const char *verdict, const char *reason) {
    json_object_set_new(row, "verdict", json_string(verdict));
    json_object_set_new(row, "reason", reason ? facts_without_folders(reason) : json_null());
    if (strcmp(verdict, "pass") != 0 && json_is_null(json_object_get(row, "why_not_timed"))) {
        static const char *const WHY[][2] = {
            {"fail", "failed verification"}, {"skip", "skipped"}, {"error", "ended with an error"}};
        for (size_t i = 0; i < sizeof WHY / sizeof *WHY; i++)
            if (strcmp(verdict, WHY[i][0]) == 0) json_object_set_new(row, "why_not_timed", json_string(WHY[i][1]));
        json_object_set_new(row, "timing", json_null()); /* a wrong result has no time, whatever was measured before */
    }
}

static json_t *hexadecimal(double value) {
    char text[64];
    snprintf(text, sizeof text, "%a", value);
    return json_string(text);
}

json_t *row_errors(const ErrorReport *r) {
    json_t *errors = json_pack("{s:I, s:I, s:I, s:I}", "count", (json_int_t)r->count, "incomparable", (json_int_t)r->incomparable,
                               "unwritten", (json_int_t)r->unwritten, "worst", (json_int_t)r->worst);
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"max_absolute", r->max_absolute},
                   {"max_relative", r->max_relative},
                   {"l2_relative", r->l2_relative},
                   {"max_ulp", r->max_ulp},
                   {"max_ratio", r->max_ratio}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        json_object_set_new(errors, numbers[i].key, json_number_or_null(numbers[i].value));
    json_object_set_new(errors, "vacuous", json_real(r->vacuous));
    json_object_set_new(errors, "judgeable", json_boolean(r->judgeable));
    json_object_set_new(errors, "worst_truth", hexadecimal(r->worst_truth));
    json_object_set_new(errors, "worst_actual", hexadecimal(r->worst_actual));
    json_object_set_new(errors, "worst_tolerance", hexadecimal(r->worst_tolerance));
    return errors;
}

json_t *row_exact_errors(const ExactReport *r) {
    json_t *errors =
        json_pack("{s:I, s:I, s:I, s:I}", "count", (json_int_t)r->count, "expected_count", (json_int_t)r->expected_count,
                  "mismatches", (json_int_t)r->mismatches, "unwritten", (json_int_t)r->unwritten);
    json_object_set_new(errors, "first_mismatch", r->mismatches ? json_integer((json_int_t)r->first_mismatch) : json_null());
    return errors;
}

json_t *row_timing(const json_t *mode) {
    const json_t *samples = json_object_get(mode, "samples");
    const size_t count = json_array_size(samples);
    double *seconds = malloc((count + 1) * sizeof *seconds);
    if (!seconds) return json_null();
    for (size_t i = 0; i < count; i++) seconds[i] = json_number_value(json_array_get(samples, i));
    const Stats stats = stats_of(seconds, count);
    free(seconds);
    json_t *timing = json_deep_copy(mode);
    json_object_set_new(timing, "count", json_integer((json_int_t)count));
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"median", stats.median}, {"min", stats.min}, {"max", stats.max},  {"q1", stats.q1},
                   {"q3", stats.q3},         {"low", stats.low}, {"high", stats.high}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        json_object_set_new(timing, numbers[i].key, json_number_or_null(numbers[i].value));
    return timing;
}

/* Per second of a median; null without elements or a time. */
static json_t *rate(double quantity, const json_t *median) {
    return quantity > 0 && json_is_number(median) ? json_number_or_null(quantity / json_number_value(median)) : json_null();
}

void row_rates(json_t *row) {
    const json_t *work = json_object_get(row, "work");
    const double bytes = json_number_value(json_object_get(work, "bytes")),
                 elements = json_number_value(json_object_get(work, "elements"));
    const char *mode;
    json_t *timed;
    json_object_foreach(json_object_get(row, "timing"), mode, timed) {
        const json_t *median = json_object_get(timed, "median");
        json_object_set_new(timed, "bytes_per_second", rate(bytes, median));
        json_object_set_new(timed, "elements_per_second", rate(elements, median));
        json_object_set_new(timed, "limit", json_null());
    }
}

void row_limit(json_t *timed, double seconds, double read, double written, const char *kernel) {
    const double median = json_number_value(json_object_get(timed, "median"));
    json_object_set_new(timed, "limit",
                        json_pack("{s:f, s:f, s:f, s:s, s:f}", "seconds", seconds, "bytes_read", read, "bytes_written", written,
                                  "kernel", kernel, "share", seconds / median));
}

json_t *row_single_sample(double seconds, const char *clock) {
    json_t *mode =
        json_pack("{s:[f], s:n, s:i, s:s, s:n}", "samples", seconds, "sm_mhz", "calls_per_sample", 1, "clock", clock, "why_none");
    json_t *timing = row_timing(mode);
    json_decref(mode);
    return timing;
}

json_t *row_no_sample(const char *why) {
    json_t *mode = json_pack("{s:[], s:n, s:i, s:n, s:s}", "samples", "sm_mhz", "calls_per_sample", 1, "clock", "why_none", why);
    json_t *timing = row_timing(mode);
    json_decref(mode);
    return timing;
}
