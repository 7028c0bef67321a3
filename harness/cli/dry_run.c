#include "cli/dry_run.h"

#include "base/foreign.h"
#include "base/jsontext.h"
#include "base/memory.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "pipeline/session.h"
#include "plan/case.h"
#include "record/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct DryRun {
    const RunOptions *options;
    bool has_gpu;
    char no_gpu_reason[256];
    json_t *rows;
} DryRun;

/* ---- What a row would be. */

static json_t *modes_json(unsigned modes) {
    json_t *names = json_array();
    for (int m = 0; m < MODE_COUNT; m++)
        if (modes & 1u << m) json_array_append_new(names, json_string(mode_name((Mode)m)));
    return names;
}

static json_int_t bytes_of(const Array *arrays, int count) {
    json_int_t bytes = 0;
    for (int i = 0; i < count; i++) bytes += (json_int_t)array_bytes(&arrays[i]);
    return bytes;
}

/* Why the row would be a skip: by its shapes and supports(), as a run decides it. "": it would not. */
static Status find_skip(const DryRun *self, const PlanItem *item, const VariantChoice *choice, const Case *problem, bool emulated,
                        char *skip, size_t size) {
    Instance shapes;
    const Session session = {.choice = choice,
                             .item = item,
                             .problem = problem,
                             .options = self->options,
                             .emulated = emulated,
                             .no_gpu_reason = self->has_gpu ? NULL : self->no_gpu_reason};
    *skip = '\0';
    Status status = instance_shapes(problem, &shapes);
    if (status == STATUS_OK) status = session_refused(&session);
    if (status != STATUS_OK) snprintf(skip, size, "%s", status_message());
    return status == STATUS_IO || status == STATUS_MEMORY ? status : STATUS_OK;
}

static Status add_row(DryRun *self, const PlanItem *item, const VariantChoice *choice) {
    const bool emulated = is_emulated(choice, self->options->emulator, self->has_gpu);
    const Case *problem = plan_item_case(item, emulated);
    const int processes = item->processes > 1 && !emulated ? item->processes : 1;
    char text[CASE_TEXT_MAX], spec[SPEC_TEXT_MAX], skip[600];
    Instance shapes = {0};
    TRY(find_skip(self, item, choice, problem, emulated, skip, sizeof skip));
    const bool known = instance_shapes(problem, &shapes) == STATUS_OK,
               timed = !*skip && !emulated && !self->options->verify_only && strcmp(PROGRAM.build_type, "Release") == 0;
    json_t *row = json_pack("{s:s?, s:s, s:s, s:s, s:s, s:o, s:i, s:b}", "scenario", item->scenario, "case",
                            case_format(problem, text, sizeof text), "variant", choice->entry->id, "spec",
                            variant_choice_format(choice, spec, sizeof spec), "backend",
                            emulated ? "emulator" : backend_name(choice->entry->backend), "modes",
                            modes_json(timed ? item->modes : 0), "processes", processes, "timed", timed);
    if (!row) return status_fail(STATUS_INVALID, "a case of %s cannot be written as JSON: its text is not UTF-8", problem->op);
    json_object_set_new(row, "skip", *skip ? json_string(skip) : json_null());
    json_object_set_new(row, "input_bytes",
                        known ? json_integer(bytes_of(shapes.in[DATA_FIRST], shapes.op->in_count)) : json_null());
    json_object_set_new(row, "output_bytes", known ? json_integer(bytes_of(shapes.out, shapes.op->out_count)) : json_null());
    json_object_set_new(row, "seconds", *skip || emulated ? json_null() : json_real(plan_row_seconds(item, choice) * processes));
    json_array_append_new(self->rows, row);
    return memory_check();
}

static Status add_rows(DryRun *self, Plan *plan) {
    self->rows = json_array();
    plan_measure(plan);
    for (int i = 0; i < plan->item_count; i++)
        for (int v = 0; v < plan->items[i].variant_count; v++) TRY(add_row(self, &plan->items[i], &plan->items[i].variants[v]));
    return memory_check();
}

/* ---- Text. */

static const char *amount(const json_t *bytes, char text[32]) {
    static const char *const UNITS[] = {"B", "kB", "MB", "GB", "TB"};
    double value = json_number_value(bytes);
    size_t unit = 0;
    for (; value >= 1000 && unit + 1 < sizeof UNITS / sizeof *UNITS; unit++) value /= 1000;
    snprintf(text, 32, json_is_null(bytes) ? "unknown" : "%.3g %s", value, UNITS[unit]);
    return text;
}

static void print_case(const json_t *row) {
    char in[32], out[32];
    printf("%s  (inputs %s, outputs %s)\n", foreign_shown(text_of(row, "case")), amount(json_object_get(row, "input_bytes"), in),
           amount(json_object_get(row, "output_bytes"), out));
}

static void print_row(const json_t *row) {
    const int processes = (int)json_integer_value(json_object_get(row, "processes"));
    char duration[32], times[32] = "";
    progress_duration(json_number_value(json_object_get(row, "seconds")), duration);
    if (processes > 1) snprintf(times, sizeof times, ", %d processes", processes);
    printf("  %-44s ", foreign_shown(text_of(row, "spec")));
    if (*text_of(row, "skip"))
        printf("skip: %s\n", foreign_shown(text_of(row, "skip")));
    else if (strcmp(text_of(row, "backend"), "emulator") == 0)
        printf("verified in the emulator, not timed\n");
    else
        printf("%s about %s%s\n", json_is_true(json_object_get(row, "timed")) ? "timed," : "verified, not timed,", duration, times);
}

static void print_totals(const json_t *rows, size_t cases) {
    size_t i, all = 0, timed = 0, emulated = 0, skipped = 0;
    double seconds = 0;
    char duration[32];
    json_t *row;
    json_array_foreach((json_t *)(uintptr_t)rows, i, row) {
        const size_t processes = (size_t)json_integer_value(json_object_get(row, "processes"));
        const bool skip = *text_of(row, "skip");
        all += processes;
        timed += json_is_true(json_object_get(row, "timed")) ? processes : 0;
        emulated += !skip && strcmp(text_of(row, "backend"), "emulator") == 0;
        skipped += skip ? processes : 0;
        seconds += json_number_value(json_object_get(row, "seconds"));
    }
    progress_duration(seconds, duration);
    printf("\n%zu case%s, %zu row%s: %zu timed, %zu in the emulator, %zu skipped\n", cases, cases == 1 ? "" : "s", all,
           all == 1 ? "" : "s", timed, emulated, skipped);
    printf("about %s on an H200 and its host, emulated rows not included\n", duration);
}

static void print_text(const json_t *rows) {
    size_t i, cases = 0;
    json_t *row;
    const char *scenario = "", *problem = "";
    json_array_foreach((json_t *)(uintptr_t)rows, i, row) {
        const bool other = strcmp(text_of(row, "scenario"), scenario) != 0;
        scenario = text_of(row, "scenario");
        if (other && *scenario) printf("%s%s\n", i > 0 ? "\n" : "", foreign_shown(scenario));
        if (other || strcmp(text_of(row, "case"), problem) != 0) print_case(row), cases++;
        problem = text_of(row, "case");
        print_row(row);
    }
    print_totals(rows, cases);
}

int dry_run(Plan *plan, const RunOptions *options, bool as_json) {
    DryRun self = {.options = options};
    self.has_gpu = gpu_there(options->device, self.no_gpu_reason, sizeof self.no_gpu_reason);
    Status status = add_rows(&self, plan);
    supports_close();
    char *text = status == STATUS_OK && as_json ? json_dumps(self.rows, JSON_INDENT(2) | JSON_SORT_KEYS) : NULL;
    if (status == STATUS_OK) status = memory_check();
    const bool any = json_array_size(self.rows) > 0;
    if (status == STATUS_OK && as_json) puts(text);
    if (status == STATUS_OK && !as_json && any) print_text(self.rows);
    memory_free(text);
    json_decref(self.rows);
    if (status != STATUS_OK) return cli_fail(status);
    return any ? EXIT_GOOD : EXIT_NOTHING;
}
