#include "cli/cases.h"

#include "base/foreign.h"
#include "base/jsontext.h"
#include "base/memory.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "pipeline/session.h"
#include "plan/case.h"
#include "record/program.h"
#include "record/row.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A row as a run would make it. */
typedef struct DryRow {
    const PlanItem *item;
    const VariantChoice *choice;
    char problem[CASE_TEXT_MAX], spec[SPEC_TEXT_MAX], skip[600]; /* skip: "" if it would be none */
    bool emulated, timed;
    int processes;
    double in_bytes, out_bytes, seconds; /* NAN: unknown */
} DryRow;

typedef struct DryRun {
    const RunOptions *options;
    bool has_gpu;
    char no_gpu_reason[256];
    json_t *json;         /* of all rows; NULL: each is printed as text */
    const char *scenario; /* printed last, and the case */
    char problem[CASE_TEXT_MAX];
    size_t rows, cases, timed, emulated, skipped;
    double seconds;
} DryRun;

/* ---- What a row would be. */

static json_t *modes_json(unsigned modes) {
    json_t *names = json_array();
    for (int m = 0; m < MODE_COUNT; m++)
        if (modes & 1u << m) json_array_append_new(names, json_string(mode_name((Mode)m)));
    return names;
}

static double bytes_of(const Array *arrays, int count) {
    double bytes = 0;
    for (int i = 0; i < count; i++) bytes += (double)array_bytes(&arrays[i]);
    return bytes;
}

/* Its bytes, and whether it would be a skip, by shapes and supports(), as a run decides it. */
static Status look_at(const DryRun *self, const Case *problem, DryRow *row) {
    Instance shapes;
    const Session session = {.choice = row->choice,
                             .item = row->item,
                             .problem = problem,
                             .options = self->options,
                             .emulated = row->emulated,
                             .no_gpu_reason = self->has_gpu ? NULL : self->no_gpu_reason};
    Status status = instance_shapes(problem, &shapes);
    const bool known = status == STATUS_OK;
    row->in_bytes = known ? bytes_of(shapes.in[DATA_FIRST], shapes.op->in_count) : NAN;
    row->out_bytes = known ? bytes_of(shapes.out, shapes.op->out_count) : NAN;
    if (known) status = session_refused(&session);
    if (status != STATUS_OK) snprintf(row->skip, sizeof row->skip, "%s", status_message());
    return status == STATUS_IO || status == STATUS_MEMORY ? status : STATUS_OK;
}

static Status make_row(const DryRun *self, const PlanItem *item, const VariantChoice *choice, DryRow *out) {
    *out = (DryRow){.item = item, .choice = choice, .emulated = is_emulated(choice, self->options->emulator, self->has_gpu)};
    const Case *problem = plan_item_case(item, out->emulated);
    TRY(look_at(self, problem, out));
    const bool runs = !*out->skip && !out->emulated;
    out->processes = item->processes > 1 && !out->emulated ? item->processes : 1;
    out->timed = runs && !self->options->verify_only && strcmp(PROGRAM.build_type, "Release") == 0;
    out->seconds = runs ? plan_row_seconds(item, choice) * out->processes : NAN;
    case_format(problem, out->problem, sizeof out->problem);
    variant_choice_format(choice, out->spec, sizeof out->spec);
    return STATUS_OK;
}

static json_t *bytes_json(double bytes) {
    return isnan(bytes) ? json_null() : json_integer((json_int_t)bytes);
}

static Status add_json(json_t *rows, const DryRow *row) {
    json_t *json = json_pack("{s:s?, s:s, s:s, s:s, s:s, s:o, s:i, s:b, s:s?, s:o, s:o, s:o}", "scenario", row->item->scenario,
                             "case", row->problem, "variant", row->choice->entry->id, "spec", row->spec, "backend",
                             row->emulated ? "emulator" : backend_name(row->choice->entry->backend), "modes",
                             modes_json(row->timed ? row->item->modes : 0), "processes", row->processes, "timed", row->timed,
                             "skip", *row->skip ? row->skip : NULL, "input_bytes", bytes_json(row->in_bytes), "output_bytes",
                             bytes_json(row->out_bytes), "seconds", json_number_or_null(row->seconds));
    if (!json)
        return status_fail(STATUS_INVALID, "a case of %s cannot be written as JSON: its text is not UTF-8", row->item->problem.op);
    json_array_append_new(rows, json);
    return memory_check();
}

/* ---- Text. */

static const char *amount(double bytes, char text[32]) {
    static const char *const UNITS[] = {"B", "kB", "MB", "GB", "TB"};
    size_t unit = 0;
    for (; bytes >= 1000 && unit + 1 < sizeof UNITS / sizeof *UNITS; unit++) bytes /= 1000;
    snprintf(text, 32, isnan(bytes) ? "unknown" : "%.3g %s", bytes, UNITS[unit]);
    return text;
}

/* The scenario and the case, where they are others than those of the row before. */
static void print_case(DryRun *self, const DryRow *row) {
    const char *scenario = row->item->scenario ? row->item->scenario : "";
    const bool other = strcmp(scenario, self->scenario) != 0;
    char in[32], out[32];
    if (other && *scenario) printf("%s%s\n", self->rows > 0 ? "\n" : "", foreign_shown(scenario));
    if (!other && strcmp(row->problem, self->problem) == 0) return;
    printf("%s  (inputs %s, outputs %s)\n", foreign_shown(row->problem), amount(row->in_bytes, in), amount(row->out_bytes, out));
    self->scenario = scenario;
    memcpy(self->problem, row->problem, sizeof self->problem);
    self->cases++;
}

static void print_row(DryRun *self, const DryRow *row) {
    char duration[32], times[32] = "";
    print_case(self, row);
    progress_duration(isnan(row->seconds) ? 0 : row->seconds, duration);
    if (row->processes > 1) snprintf(times, sizeof times, ", %d processes", row->processes);
    printf("  %-44s ", foreign_shown(row->spec));
    if (*row->skip)
        printf("skip: %s\n", foreign_shown(row->skip));
    else if (row->emulated)
        printf("verified in the emulator, not timed\n");
    else
        printf("%s about %s%s\n", row->timed ? "timed," : "verified, not timed,", duration, times);
    const size_t processes = (size_t)row->processes;
    self->rows += processes;
    self->timed += row->timed ? processes : 0;
    self->emulated += row->emulated && !*row->skip;
    self->skipped += *row->skip ? processes : 0;
    self->seconds += isnan(row->seconds) ? 0 : row->seconds;
}

static void print_totals(const DryRun *self) {
    char duration[32];
    progress_duration(self->seconds, duration);
    printf("\n%zu case%s, %zu row%s: %zu timed, %zu in the emulator, %zu skipped\n", self->cases, self->cases == 1 ? "" : "s",
           self->rows, self->rows == 1 ? "" : "s", self->timed, self->emulated, self->skipped);
    printf("about %s on an H200 and its host, emulated rows not included\n", duration);
}

/* ---- The whole. */

static Status make_rows(DryRun *self, Plan *plan, bool *any) {
    DryRow row;
    plan_measure(plan);
    for (int i = 0; i < plan->item_count; i++)
        for (int v = 0; v < plan->items[i].variant_count; v++, *any = true) {
            TRY(make_row(self, &plan->items[i], &plan->items[i].variants[v], &row));
            if (self->json)
                TRY(add_json(self->json, &row));
            else
                print_row(self, &row);
        }
    return memory_check();
}

int dry_run(Plan *plan, const RunOptions *options, bool as_json) {
    DryRun self = {.options = options, .json = as_json ? json_array() : NULL, .scenario = ""};
    bool any = false;
    self.has_gpu = gpu_there(options->device, self.no_gpu_reason, sizeof self.no_gpu_reason);
    Status status = make_rows(&self, plan, &any);
    supports_close();
    char *text = status == STATUS_OK && as_json ? json_dumps(self.json, JSON_INDENT(2) | JSON_SORT_KEYS) : NULL;
    if (status == STATUS_OK) status = memory_check();
    if (status == STATUS_OK && as_json) puts(text);
    if (status == STATUS_OK && !as_json && any) print_totals(&self);
    memory_free(text);
    json_decref(self.json);
    if (status != STATUS_OK) return cli_fail(status);
    return any ? EXIT_GOOD : EXIT_NOTHING;
}
