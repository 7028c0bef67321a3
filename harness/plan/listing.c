
#include "plan/case.h"
#include "plan/scenario.h"

#include <string.h>

static json_t *texts_json(const char *const *texts) {
    json_t *out = json_array();
    for (; texts && *texts; texts++) json_array_append_new(out, json_string(*texts));
    return out;
}

/* Integers as integers: 100000000, not 1e+08. */
static json_t *number_json(ParamKind kind, double value) {
    return kind == PARAM_INT ? json_integer((json_int_t)value) : json_real(value);
}

static json_t *default_json(const ParamSpec *spec) {
    const ParamSpec alone[] = {*spec, {0}};
    Params params;
    if (!spec->fallback || params_init(alone, &params) != STATUS_OK) return json_null();
    if (spec->kind == PARAM_INT) return json_integer(params_int(&params, spec->name));
    if (spec->kind == PARAM_REAL) return json_real(params_real(&params, spec->name));
    return json_string(spec->fallback);
}

static json_t *specs_json(const ParamSpec *specs) {
    json_t *out = json_array();
    for (const ParamSpec *spec = specs; spec && spec->name; spec++) {
        const bool number = spec->kind == PARAM_INT || spec->kind == PARAM_REAL;
        json_array_append_new(out, json_pack("{s:s, s:s?, s:s, s:o, s:o, s:o, s:o}", "name", spec->name, "summary", spec->summary,
                                             "kind", PARAM_KINDS[spec->kind], "default", default_json(spec), "min",
                                             number ? number_json(spec->kind, spec->min) : json_null(), "max",
                                             number ? number_json(spec->kind, spec->max) : json_null(), "choices",
                                             spec->choices ? texts_json(spec->choices) : json_null()));
    }
    return out;
}

json_t *list_variants_json(void) {
    json_t *out = json_array();
    int count;
    const VariantEntry *all = registry_variants(&count);
    for (int i = 0; i < count; i++) {
        const VariantEntry *entry = &all[i];
        const VariantFacts *facts = entry->variant;
        json_array_append_new(out, json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:o, s:s?, s:s?, s:s}", "id", entry->id, "op", entry->op,
                                             "backend", backend_name(entry->backend), "summary", facts->summary, "origin",
                                             facts->origin, "tunables", specs_json(facts->tunables), "bound", facts->bound,
                                             "framework", entry->framework, "path", entry->path));
    }
    return out;
}

static void append_unique(json_t *list, const char *text) {
    size_t i;
    json_t *value;
    json_array_foreach(list, i, value) {
        if (strcmp(json_string_value(value), text) == 0) return;
    }
    json_array_append_new(list, json_string(text));
}

/* Names, ranks and dtypes of the arrays of an op's default case; an array whose dtype follows the case's has several. */
static json_t *arrays_json(const Array (*of_dtype)[OP_MAX_ARRAYS], int dtype_count, int count) {
    json_t *out = json_array();
    for (int i = 0; i < count; i++) {
        json_t *dtypes = json_array();
        for (int d = 0; d < dtype_count; d++) append_unique(dtypes, dtype_name(of_dtype[d][i].dtype));
        const Array *array = &of_dtype[0][i];
        json_array_append_new(out, json_pack("{s:s, s:i, s:o}", "name", array->name, "rank", array->rank, "dtypes", dtypes));
    }
    return out;
}

static void add_arrays(const Op *op, json_t *item) {
    Array in[DTYPE_COUNT][OP_MAX_ARRAYS], out[DTYPE_COUNT][OP_MAX_ARRAYS];
    const DType *dtypes = case_dtypes(op);
    Status status = STATUS_OK;
    int count = 0;
    for (; dtypes[count] != DTYPE_COUNT && status == STATUS_OK; count++) {
        Case problem;
        status = case_init(op, &problem);
        problem.dtype = dtypes[count];
        if (status == STATUS_OK) status = op->shapes(&problem, in[count], out[count]);
    }
    const bool known = status == STATUS_OK;
    json_object_set_new(item, "inputs", known ? arrays_json(in, count, op->in_count) : json_null());
    json_object_set_new(item, "outputs", known ? arrays_json(out, count, op->out_count) : json_null());
}

/* NULL: none. */
static json_t *dtypes_json(const DType *dtypes) {
    json_t *out = json_array();
    for (; dtypes && *dtypes != DTYPE_COUNT; dtypes++) json_array_append_new(out, json_string(dtype_name(*dtypes)));
    return out;
}

json_t *list_ops_json(void) {
    json_t *out = json_array();
    int count;
    const Op *const *ops = registry_ops(&count);
    for (int i = 0; i < count; i++) {
        const Op *op = ops[i];
        json_t *bounds = json_array();
        for (const Bound *bound = op->bounds; bound && bound->name; bound++)
            json_array_append_new(bounds, json_pack("{s:s, s:s}", "name", bound->name, "formula", bound->formula));
        json_t *item = json_pack("{s:s, s:s?, s:o, s:o, s:o, s:o, s:o}", "name", op->name, "summary", op->summary, "params",
                                 specs_json(op->params), "dtypes", dtypes_json(case_dtypes(op)), "accumulates",
                                 dtypes_json(op->accumulates), "families", texts_json(op->families), "bounds", bounds);
        add_arrays(op, item);
        json_array_append_new(out, item);
    }
    return out;
}

static json_t *scenario_json(const Plan *plan, const ScenarioInfo *info) {
    json_t *ops = json_array();
    int cases = 0, rows = 0, claims = 0;
    for (int i = 0; i < plan->item_count; i++) {
        if (strcmp(plan->items[i].scenario, info->name) != 0) continue;
        append_unique(ops, plan->items[i].problem.op);
        cases++;
        rows += plan->items[i].variant_count;
    }
    for (int i = 0; i < plan->claim_count; i++) claims += strcmp(plan->claims[i].scenario, info->name) == 0;
    return json_pack("{s:s, s:s, s:s, s:s?, s:o, s:i, s:i, s:i}", "name", info->name, "path", info->path, "title", info->title,
                     "about", info->about, "ops", ops, "cases", cases, "rows", rows, "claims", claims);
}

Status list_scenarios_json(const char *dir, json_t **out) {
    Plan plan = {0};
    const Status status = plan_add_all(&plan, dir);
    *out = status == STATUS_OK ? json_array() : NULL;
    for (int i = 0; *out && i < plan.scenario_count; i++) json_array_append_new(*out, scenario_json(&plan, &plan.scenarios[i]));
    plan_free(&plan);
    return status;
}

Status list_claims_json(const char *dir, json_t **out) {
    Plan plan = {0};
    const Status status = plan_add_all(&plan, dir);
    *out = status == STATUS_OK ? json_array() : NULL;
    for (int i = 0; *out && i < plan.claim_count; i++) json_array_append_new(*out, claim_to_json(&plan.claims[i]));
    plan_free(&plan);
    return status;
}
