#include "pipeline/merge.h"

#include "base/jsontext.h"
#include "base/memory.h"
#include "pipeline/rows.h"
#include "plan/case.h"
#include "record/rowfile.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACE_MAX = 1100, TOLD_MAX = 400 };

/* What was met is kept as {"file": its index, "line": the number, "is": the line}. */
typedef struct Merge {
    const char *const *paths;
    size_t file, number; /* of the line that is looked at */
    bool several_machines;
    json_t *runs;   /* by id */
    json_t *rows;   /* by row_key() */
    json_t *codes;  /* by variant: the first row that was timed */
    json_t *claims; /* by scenario and id; null: in several files */
    json_t *timed;  /* environment of the first row that was timed */
    json_t *first;  /* environment */
    Merged *out;
} Merge;

static json_t *met(const Merge *self, json_t *line) {
    return json_pack("{s:I, s:I, s:O}", "file", (json_int_t)self->file, "line", (json_int_t)self->number, "is", line);
}

static const json_t *what(const json_t *earlier) {
    return json_object_get(earlier, "is");
}

static bool elsewhere(const Merge *self, const json_t *earlier) {
    return earlier && json_integer_value(json_object_get(earlier, "file")) != (json_int_t)self->file;
}

/* "shard-1.jsonl:17". */
static const char *place_of(const Merge *self, const json_t *earlier, char place[PLACE_MAX]) {
    snprintf(place, PLACE_MAX, "%.1000s:%lld", self->paths[json_integer_value(json_object_get(earlier, "file"))],
             (long long)json_integer_value(json_object_get(earlier, "line")));
    return place;
}

/* ---- Builds and machines. */

static void tell(const json_t *value, char told[TOLD_MAX]) {
    char *text = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    snprintf(told, TOLD_MAX, "%s", text ? text : "none");
    memory_free(text);
}

/* `name` is what both have under the key. */
static Status require_same(const Merge *self, const json_t *earlier, const json_t *line, const char *key, const char *within) {
    const json_t *before = within ? json_object_get(what(earlier), within) : what(earlier);
    const json_t *mine = within ? json_object_get(line, within) : line;
    const json_t *a = json_object_get(mine, key), *b = json_object_get(before, key);
    char here[TOLD_MAX], there[TOLD_MAX], place[PLACE_MAX];
    if (a == b || (a && b && json_equal(a, b))) return STATUS_OK;
    tell(a, here), tell(b, there);
    return status_fail(STATUS_INVALID, "%s:%zu: %s%s%s is %s, in %s it is %s; rows of one file are of one build",
                       self->paths[self->file], self->number, within ? within : "", within ? "." : "", key, here,
                       place_of(self, earlier, place), there);
}

static Status same_build(const Merge *self, const json_t *line) {
    static const char *const KEYS[] = {"project", "commit", "dirty", "rungs"};
    const json_t *build = json_object_get(line, "build");
    const char *key;
    json_t *value;
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) TRY(require_same(self, self->first, line, KEYS[i], NULL));
    json_object_foreach((json_t *)(uintptr_t)build, key, value) TRY(require_same(self, self->first, line, key, "build"));
    return STATUS_OK;
}

static Status add_environment(Merge *self, json_t *line) {
    const char *run = text_of(line, "run");
    const json_t *earlier = json_object_get(self->runs, run);
    char place[PLACE_MAX];
    if (elsewhere(self, earlier))
        return status_fail(STATUS_INVALID, "%s:%zu: the run %s is in %s, too: the same rows twice; leave one of the files out",
                           self->paths[self->file], self->number, run, place_of(self, earlier, place));
    if (!self->first) self->first = met(self, line);
    TRY(same_build(self, line));
    json_object_set_new(self->runs, run, met(self, line));
    return STATUS_OK;
}

static void tell_machine(const json_t *environment, char told[TOLD_MAX]) {
    const json_t *gpu = json_object_get(environment, "gpu");
    const double cap = json_number_value(json_object_get(gpu, "power_cap_watts"));
    const char *cpu = text_of(json_object_get(environment, "cpu"), "model");
    if (json_is_object(gpu))
        snprintf(told, TOLD_MAX, "%s (driver %s, %.0f W) beside %s", text_of(gpu, "name"), text_of(gpu, "driver"), cap, cpu);
    else
        snprintf(told, TOLD_MAX, "%s, no GPU", cpu);
}

/* Facts that only one machine has, as far as they are known. */
static bool one_machine(const json_t *a, const json_t *b) {
    static const char *const FACTS[][2] = {{"gpu", "uuid"}, {"cpu", "memory_bytes"}, {"cpu", "threads"}};
    for (size_t i = 0; i < sizeof FACTS / sizeof *FACTS; i++) {
        const json_t *x = json_object_get(json_object_get(a, FACTS[i][0]), FACTS[i][1]);
        const json_t *y = json_object_get(json_object_get(b, FACTS[i][0]), FACTS[i][1]);
        if (x != y && !(x && y && json_equal(x, y))) return false;
    }
    return true;
}

static Status same_machine(Merge *self, json_t *environment) {
    char here[TOLD_MAX], there[TOLD_MAX], place[PLACE_MAX];
    if (!self->timed) self->timed = met(self, environment);
    const json_t *before = what(self->timed);
    place_of(self, self->timed, place);
    if (strcmp(text_of(before, "id"), text_of(environment, "id")) != 0) {
        tell_machine(environment, here), tell_machine(before, there);
        return status_fail(STATUS_INVALID, "%s:%zu: timed on %s, but %s on %s: times of two kinds of machine cannot be joined",
                           self->paths[self->file], self->number, here, place, there);
    }
    if (self->several_machines || one_machine(before, environment)) return STATUS_OK;
    tell_machine(environment, here);
    return status_fail(STATUS_INVALID, "%s:%zu: timed on another %s than %s; to join their times, give --several-machines",
                       self->paths[self->file], self->number, here, place);
}

static Status same_code(Merge *self, json_t *line) {
    const char *variant = text_of(line, "variant");
    const json_t *earlier = json_object_get(self->codes, variant);
    char place[PLACE_MAX];
    if (!earlier) return json_object_set_new(self->codes, variant, met(self, line)), STATUS_OK;
    const json_t *a = json_object_get(line, "code"), *b = json_object_get(what(earlier), "code");
    if (a == b || (a && b && json_equal(a, b))) return STATUS_OK;
    return status_fail(STATUS_INVALID,
                       "%s:%zu: %s has other machine code than in %s: the programs differ (-march=native on two machines?)",
                       self->paths[self->file], self->number, variant, place_of(self, earlier, place));
}

/* ---- Rows and claims. */

/* *keep: false for an emulated row that another file has with the same verdict: several sizes may shrink to one emulated case. */
static Status once(Merge *self, json_t *line, bool *keep) {
    char key[ROW_KEY_MAX], place[PLACE_MAX];
    line_row_key(line, key);
    const json_t *earlier = json_object_get(self->rows, key);
    *keep = !elsewhere(self, earlier);
    if (*keep) return json_object_set_new(self->rows, key, met(self, line)), STATUS_OK;
    const Verdict here = line_verdict(line), there = line_verdict(what(earlier));
    place_of(self, earlier, place);
    if (here != there)
        return status_fail(STATUS_INVALID, "%s:%zu: %s on %s: %s; in %s: %s", self->paths[self->file], self->number,
                           text_of(line, "spec"), text_of(line, "case"), verdict_name(here), place, verdict_name(there));
    if (strcmp(text_of(line, "backend"), "emulator") == 0) return STATUS_OK;
    return status_fail(STATUS_INVALID, "%s:%zu: %s on %s is in %s, too: shards have no row in common; leave one of the files out",
                       self->paths[self->file], self->number, text_of(line, "spec"), text_of(line, "case"), place);
}

static Status add_row(Merge *self, json_t *line, bool *keep) {
    const json_t *run = json_object_get(self->runs, text_of(line, "run"));
    if (!run || elsewhere(self, run))
        return status_fail(STATUS_INVALID, "%s:%zu: a row of the run '%s', whose environment is not in this file above it",
                           self->paths[self->file], self->number, text_of(line, "run"));
    if (json_is_object(json_object_get(line, "timing"))) {
        TRY(same_machine(self, (json_t *)(uintptr_t)what(run)));
        TRY(same_code(self, line));
    }
    TRY(once(self, line, keep));
    *(*keep ? &self->out->rows : &self->out->repeated) += 1;
    return STATUS_OK;
}

static void claim_key(const json_t *line, char key[ROW_KEY_MAX]) {
    snprintf(key, ROW_KEY_MAX, "%s|%s", text_of(line, "scenario"), text_of(line, "id"));
}

static void add_claim(Merge *self, json_t *line) {
    char key[ROW_KEY_MAX];
    claim_key(line, key);
    const json_t *earlier = json_object_get(self->claims, key);
    json_object_set_new(self->claims, key, json_is_null(earlier) || elsewhere(self, earlier) ? json_null() : met(self, line));
}

static Status add_line(Merge *self, json_t *line) {
    const LineKind kind = line_kind(line);
    bool keep = true;
    if (kind == LINE_ENVIRONMENT) TRY(add_environment(self, line));
    if (kind == LINE_ROW) TRY(add_row(self, line, &keep));
    if (kind == LINE_CLAIM) add_claim(self, line);
    if (keep && json_array_append(self->out->lines, line) != 0) return status_fail(STATUS_MEMORY, "no memory for the rows");
    return memory_check();
}

static Status add_file(Merge *self) {
    json_t *lines, *numbers, *line;
    size_t i;
    TRY(rowfile_read_numbered(self->paths[self->file], &lines, &numbers));
    Status status = STATUS_OK;
    json_array_foreach(lines, i, line) {
        self->number = (size_t)json_integer_value(json_array_get(numbers, i));
        if (status == STATUS_OK) status = add_line(self, line);
    }
    json_decref(lines);
    json_decref(numbers);
    return status;
}

static void leave_out_claims(Merge *self) {
    const char *key;
    json_t *seen;
    json_object_foreach(self->claims, key, seen) self->out->claims += json_is_null(seen);
    for (size_t i = json_array_size(self->out->lines); i-- > 0;) {
        char own[ROW_KEY_MAX];
        const json_t *line = json_array_get(self->out->lines, i);
        claim_key(line, own);
        if (line_kind(line) == LINE_CLAIM && json_is_null(json_object_get(self->claims, own)))
            json_array_remove(self->out->lines, i);
    }
}

Status merge_files(const char *const *paths, bool several_machines, Merged *out) {
    *out = (Merged){.lines = json_array()};
    Merge self = {.paths = paths,
                  .several_machines = several_machines,
                  .runs = json_object(),
                  .rows = json_object(),
                  .codes = json_object(),
                  .claims = json_object(),
                  .out = out};
    Status status = memory_check();
    for (; paths[self.file] && status == STATUS_OK; self.file++) status = add_file(&self);
    if (status == STATUS_OK) leave_out_claims(&self);
    json_decref(self.runs), json_decref(self.rows), json_decref(self.codes), json_decref(self.claims);
    json_decref(self.timed), json_decref(self.first);
    if (status == STATUS_OK) return STATUS_OK;
    json_decref(out->lines);
    out->lines = NULL;
    return status;
}

/* ---- What is missing. */

static json_t *count_rows(const json_t *lines) {
    json_t *counts = json_object(), *line;
    size_t i;
    json_array_foreach((json_t *)(uintptr_t)lines, i, line) {
        char key[ROW_KEY_MAX];
        if (line_kind(line) != LINE_ROW) continue;
        line_row_key(line, key);
        json_object_set_new(counts, key, json_integer(json_integer_value(json_object_get(counts, key)) + 1));
    }
    return counts;
}

/* Takes the row from the counts; one that was emulated stands for all that shrink to its case. */
static Status take(json_t *counts, const PlanItem *item, const VariantChoice *choice, bool emulated, bool *there) {
    char key[ROW_KEY_MAX];
    Row row;
    TRY(row_begin("", item, plan_item_case(item, emulated), choice, emulated, &row));
    row_key(&row, key);
    row_free(&row);
    json_t *count = json_object_get(counts, key);
    *there = json_integer_value(count) > 0;
    if (*there && !emulated) json_integer_set(count, json_integer_value(count) - 1);
    return STATUS_OK;
}

static Status expect_item(json_t *counts, const PlanItem *item, json_t *missing) {
    char problem[CASE_TEXT_MAX], spec[SPEC_TEXT_MAX];
    for (int v = 0; v < item->variant_count; v++) {
        const VariantChoice *choice = &item->variants[v];
        bool there = false;
        TRY(take(counts, item, choice, false, &there));
        if (!there && choice->entry->backend == BACKEND_CUDA) TRY(take(counts, item, choice, true, &there));
        if (there) continue;
        json_array_append_new(missing, json_sprintf("%s on %s", variant_choice_format(choice, spec, sizeof spec),
                                                    case_format(&item->problem, problem, sizeof problem)));
    }
    return memory_check();
}

Status merge_missing(const Plan *plan, const json_t *lines, json_t **out) {
    json_t *counts = count_rows(lines);
    *out = json_array();
    Status status = memory_check();
    for (int i = 0; i < plan->item_count && status == STATUS_OK; i++) status = expect_item(counts, &plan->items[i], *out);
    json_decref(counts);
    return status;
}
