#include "record/row.h"

#include "base/joined.h"
#include "base/jsontext.h"
#include "base/memory.h"
#include "record/identity.h"

#include <stdio.h>
#include <string.h>

static const char *const VERDICTS[] = {"fail", "pass", "skip", "error"};
static const char *const WHY_NOT_TIMED[] = {"failed verification", NULL, "skipped", "ended with an error"};

const char *verdict_name(Verdict verdict) {
    return VERDICTS[verdict];
}

bool row_on_one_input(const Row *row) {
    static const double LEAST_CHANGED = 0.1;
    for (int m = 0; m < MODE_COUNT && row->timed; m++)
        if (row->timing[m].checked_count > 0 && row->timing[m].changed < LEAST_CHANGED) return true;
    return false;
}

void row_free(Row *row) {
    memory_free(row->reason);
    memory_free(row->counts_reason);
    memory_free(row->limit_reason);
    memory_free(row->no_energy_reason);
    timing_free(row->timing);
    counts_free(&row->counts);
    *row = (Row){0};
}

void row_set_text(char **slot, const char *text) {
    json_t *clean = text ? facts_without_folders(text) : NULL;
    const char *kept = json_string_value(clean);
    memory_free(*slot);
    *slot = kept ? memory_allocate(strlen(kept) + 1) : NULL;
    if (*slot) strcpy(*slot, kept);
    json_decref(clean);
}

void row_decide(Row *row, Verdict verdict, const char *reason) {
    row->verdict = verdict;
    row_set_text(&row->reason, reason);
    if (verdict == VERDICT_PASS) return;
    if (!row->why_not_timed) row->why_not_timed = WHY_NOT_TIMED[verdict];
    row->timed = false;
    timing_free(row->timing);
}

void row_set_errors(Row *row, const OutputErrors *errors, int count) {
    row->judged = true;
    row->error_count = count;
    memcpy(row->errors, errors, (size_t)count * sizeof *errors);
}

static void format_key(bool emulated, const char *problem, const char *spec, char key[ROW_KEY_MAX]) {
    snprintf(key, ROW_KEY_MAX, "%s|%s|%s", emulated ? "emulator" : "device", problem, spec);
}

void row_key(const Row *row, char key[ROW_KEY_MAX]) {
    format_key(row->emulated, row->text, row->spec, key);
}

/* ---- JSON. */

static json_t *head(const Row *row) {
    const Case *problem = &row->problem;
    return json_pack("{s:s, s:i, s:s, s:s?, s:s, s:s, s:o, s:s, s:s, s:I, s:s, s:o, s:s, s:s, s:s?, s:{s:f, s:f, s:f}, s:s?, s:s?}",
                     "kind", "row", "schema", ROW_SCHEMA_VERSION, "run", row->run, "scenario", row->scenario, "case", row->text,
                     "op", problem->op, "params", case_params_json(problem), "dtype", dtype_name(problem->dtype), "input",
                     problem->input, "seed", (json_int_t)problem->seed, "variant", row->variant, "tunables",
                     params_json(&row->tunables), "spec", row->spec, "backend", row->backend, "library", row->library, "work",
                     "bytes", row->work.bytes, "flops", row->work.flops, "elements", row->work.elements, "baseline", row->baseline,
                     "reason", row->reason);
}

static json_t *all_errors(const Row *row) {
    json_t *json = row->judged ? json_object() : json_null();
    for (int i = 0; i < row->error_count; i++) json_object_set_new(json, row->errors[i].output, errors_json(&row->errors[i]));
    return json;
}

static json_t *all_timing(const Row *row) {
    json_t *json = row->timed ? json_object() : json_null();
    for (int m = 0; m < MODE_COUNT; m++)
        if (row->timing[m].taken) json_object_set_new(json, mode_name((Mode)m), timing_json(&row->timing[m]));
    return json;
}

static json_t *bound_json(const Row *row) {
    return row->bound ? json_pack("{s:s, s:s, s:b, s:s*}", "name", row->bound->name, "formula", row->bound->formula, "declared",
                                  row->bound_declared, "reference", row->float64 ? "float64" : NULL)
                      : json_null();
}

/* Names of wrong definitions. */
static json_t *definitions_json(const Row *row, unsigned which) {
    json_t *json = row->wrong ? json_array() : json_null();
    for (int i = 0; row->wrong && row->wrong[i] && i < OP_MAX_WRONG; i++)
        if (which & 1u << i) json_array_append_new(json, json_string(row->wrong[i]));
    return json;
}

static json_t *measured_energy(const Row *row) {
    if (row->verdict != VERDICT_PASS || !row->energy_wanted) return json_null();
    return row->no_energy_reason ? json_pack("{s:s}", "reason", row->no_energy_reason) : energy_json(&row->energy);
}

json_t *row_json(const Row *row) {
    static const char *const WORKERS[] = {NULL, "shared", "fresh"};
    json_t *json = head(row);
    if (!json) return NULL;
    json_t *tail = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:s?, s:o, s:o, s:o, s:o, s:o, s:o, s:s?, s:s?, s:o, s:o, s:o, s:{s:s?, s:s?, s:s?}, "
        "s:s, s:s?, s:s?, s:f, s:o}",
        "errors", all_errors(row), "tells", definitions_json(row, row->rejects), "does_not_tell",
        definitions_json(row, row->admits), "reverified", row->reverified ? json_true() : json_null(), "timing", all_timing(row),
        "timed_on_one_input", row->timed ? json_boolean(row_on_one_input(row)) : json_null(), "why_not_timed", row->why_not_timed,
        "prepare_seconds", json_number_or_null(row->prepare_seconds), "bound", bound_json(row), "energy", measured_energy(row),
        "bits", row->verdict == VERDICT_PASS ? bits_row_json(&row->bits, row->no_bits_reason) : json_null(), "counts",
        row->counts.any ? counts_json(&row->counts, NULL) : json_null(), "launch", launch_json(&row->launch), "limit_reason",
        row->limit_reason, "worker", WORKERS[row->worker], "confined",
        row->worker == WORKER_NONE ? json_null() : json_boolean(row->confined), "sandboxed",
        row->worker == WORKER_NONE ? json_null() : json_boolean(row->sandboxed), "threads",
        row->threads > 0 ? json_integer(row->threads) : json_null(), "code", "sass_hash", row->sass_hash, "host_hash",
        row->host_hash, "reason", row->no_hash_reason, "verdict", verdict_name(row->verdict), "counts_reason", row->counts_reason,
        "draw", row->draw[0] ? row->draw : NULL, "seconds_spent", row->seconds_spent, "gpu",
        row->on_gpu ? json_pack("{s:i, s:s?}", "index", row->gpu_index, "uuid", row->gpu_uuid) : json_null());
    if (!tail || json_object_update(json, tail) != 0) {
        json_decref(json);
        json = NULL;
    }
    json_decref(tail);
    return json;
}

/* ---- Lines of a file. */

LineKind line_kind(const json_t *line) {
    static const char *const KINDS[] = {NULL, "environment", "ceilings", "row", "claim"};
    for (int kind = LINE_ENVIRONMENT; kind <= LINE_CLAIM; kind++)
        if (strcmp(text_of(line, "kind"), KINDS[kind]) == 0) return (LineKind)kind;
    return LINE_OTHER;
}

Verdict line_verdict(const json_t *line) {
    for (int verdict = VERDICT_PASS; verdict <= VERDICT_ERROR; verdict++)
        if (strcmp(text_of(line, "verdict"), VERDICTS[verdict]) == 0) return (Verdict)verdict;
    return VERDICT_FAIL;
}

bool line_emulated(const json_t *line) {
    return strcmp(text_of(line, "backend"), "emulator") == 0;
}

bool line_timed(const json_t *line) {
    return json_is_object(json_object_get(line, "timing"));
}

void row_read(const json_t *line, Row *row) {
    const char *draw = json_string_value(json_object_get(line, "draw")),
               *bits = json_string_value(json_object_get(json_object_get(line, "bits"), "outcome"));
    row->verdict = line_verdict(line);
    row_set_text(&row->reason, json_string_value(json_object_get(line, "reason")));
    row->timed = line_timed(line);
    if (row->timed) timing_read(json_object_get(line, "timing"), row->timing);
    row->why_not_timed = json_string_value(json_object_get(line, "why_not_timed"));
    row->bits.differ = bits && strcmp(bits, "differ") == 0;
    snprintf(row->draw, sizeof row->draw, "%s", draw ? draw : "");
}

double line_seconds_spent(const json_t *line) {
    return json_number_value(json_object_get(line, "seconds_spent"));
}

/* A variant that was joined with another has the spec of today. */
void line_row_key(const json_t *line, char key[ROW_KEY_MAX]) {
    char spec[CASE_TEXT_MAX];
    format_key(line_emulated(line), text_of(line, "case"), joined_spec(text_of(line, "spec"), spec, sizeof spec), key);
}
