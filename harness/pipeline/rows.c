#include "pipeline/rows.h"

#include "base/foreign.h"
#include "pipeline/code.h"
#include "plan/case.h"

#include <math.h>
#include <string.h>

/* A user's function is named by its file name and a hash. */
static void name_user_code(Row *row) {
    for (int i = 0; i < row->problem.params.count; i++) {
        ParamValue *value = &row->problem.params.values[i];
        if (strcmp(row->problem.params.specs[i].name, USERCODE_PARAM) != 0 || strcmp(value->text, "none") == 0) continue;
        usercode_name(value->text, row->user_code);
        value->text = row->user_code;
    }
}

Status row_begin(const char *run, const PlanItem *item, const Case *problem, const VariantChoice *choice, bool emulated, Row *out) {
    const CodeHash code = code_of(choice->entry, emulated);
    *out = (Row){.run = run,
                 .scenario = item->scenario,
                 .baseline = item->baseline,
                 .variant = choice->entry->id,
                 .backend = emulated ? "emulator" : backend_name(choice->entry->backend),
                 .emulated = emulated,
                 .problem = *problem,
                 .tunables = choice->tunables,
                 .work = registry_op(problem->op)->work(problem),
                 .sass_hash = code.sass,
                 .host_hash = code.host,
                 .no_hash_reason = code.reason,
                 .prepare_seconds = NAN,
                 .counts = counts_none()};
    name_user_code(out);
    case_format(&out->problem, out->text, sizeof out->text);
    variant_choice_format(choice, out->spec, sizeof out->spec);
    row_set_text(&out->counts_reason, "not counted: only variants that passed and were timed are");
    char text[CASE_TEXT_MAX];
    memcpy(text, out->text, sizeof text);
    foreign_make_utf8(text);
    if (strcmp(text, out->text) == 0) return STATUS_OK;
    row_free(out);
    return status_fail(STATUS_INVALID, "a case of %s cannot be written as JSON: its text is not UTF-8", problem->op);
}
