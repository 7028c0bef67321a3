
#include "plan/case.h"
#include "plan/scenario.h"

#include <string.h>

static json_t *text_or_null(const char *text) {
    return text ? json_string(text) : json_null();
}

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
        json_t *item = json_object();
        json_object_set_new(item, "name", json_string(spec->name));
        json_object_set_new(item, "summary", text_or_null(spec->summary));
        json_object_set_new(item, "kind", json_string(PARAM_KINDS[spec->kind]));
        json_object_set_new(item, "default", default_json(spec));
        json_object_set_new(item, "min", number ? number_json(spec->kind, spec->min) : json_null());
        json_object_set_new(item, "max", number ? number_json(spec->kind, spec->max) : json_null());
        json_object_set_new(item, "choices", spec->kind == PARAM_CHOICE ? texts_json(spec->choices) : json_null());
        json_array_append_new(out, item);
    }
    return out;
}

json_t *list_variants_json(void) {
    json_t *out = json_array();
    int count;
    const VariantEntry *all = registry_variants(&count);
    for (int i = 0; i < count; i++) {
        const VariantEntry *entry = &all[i];
        json_t *item = json_object();
        json_object_set_new(item, "id", json_string(entry->id));
        json_object_set_new(item, "op", json_string(entry->op));
        json_object_set_new(item, "backend", json_string(backend_name(entry->backend)));
        json_object_set_new(item, "summary", text_or_null(entry->variant->summary));
        json_object_set_new(item, "origin", text_or_null(entry->variant->origin));
        json_object_set_new(item, "tunables", specs_json(entry->variant->tunables));
        json_object_set_new(item, "bound", text_or_null(entry->variant->bound));
        json_object_set_new(item, "framework", text_or_null(entry->framework));
        json_object_set_new(item, "path", json_string(entry->path));
        json_array_append_new(out, item);
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

json_t *list_ops_json(void) {
    json_t *out = json_array();
    int count;
    const Op *const *ops = registry_ops(&count);
    for (int i = 0; i < count; i++) {
        const Op *op = ops[i];
        json_t *item = json_object(), *bounds = json_array();
        for (const Bound *bound = op->bounds; bound && bound->name; bound++)
            json_array_append_new(bounds, json_pack("{s:s, s:s}", "name", bound->name, "formula", bound->formula));
        json_object_set_new(item, "name", json_string(op->name));
        json_object_set_new(item, "summary", text_or_null(op->summary));
        json_object_set_new(item, "params", specs_json(op->params));
        json_t *dtypes = json_array();
        for (const DType *dtype = case_dtypes(op); *dtype != DTYPE_COUNT; dtype++)
            json_array_append_new(dtypes, json_string(dtype_name(*dtype)));
        json_object_set_new(item, "dtypes", dtypes);
        json_object_set_new(item, "families", texts_json(op->families));
        json_object_set_new(item, "bounds", bounds);
        add_arrays(op, item);
        json_array_append_new(out, item);
    }
    return out;
}

static json_t *scenario_json(const Plan *plan, const ScenarioInfo *info) {
    json_t *out = json_object(), *ops = json_array();
    int cases = 0, rows = 0, claims = 0;
    for (int i = 0; i < plan->item_count; i++) {
        if (strcmp(plan->items[i].scenario, info->name) != 0) continue;
        append_unique(ops, plan->items[i].problem.op);
        cases++;
        rows += plan->items[i].variant_count;
    }
    for (int i = 0; i < plan->claim_count; i++) claims += strcmp(plan->claims[i].scenario, info->name) == 0;
    json_object_set_new(out, "name", json_string(info->name));
    json_object_set_new(out, "path", json_string(info->path));
    json_object_set_new(out, "title", json_string(info->title));
    json_object_set_new(out, "about", text_or_null(info->about));
    json_object_set_new(out, "ops", ops);
    json_object_set_new(out, "cases", json_integer(cases));
    json_object_set_new(out, "rows", json_integer(rows));
    json_object_set_new(out, "claims", json_integer(claims));
    return out;
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
