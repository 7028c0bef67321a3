#include "cli/exec_case.h"

#include "base/joined.h"
#include "base/npy.h"
#include "base/output.h"
#include "base/text.h"
#include "cli/cases.h"
#include "cli/inputs.h"
#include "plan/modules.h"

#include <stdio.h>
#include <string.h>

static Status known_array(const char *option, const char *name, const Array *arrays, int count, int *index) {
    const char *names[OP_MAX_ARRAYS];
    for (int i = 0; i < count; i++) {
        names[i] = arrays[i].name;
        if (strcmp(arrays[i].name, name) != 0) continue;
        *index = i;
        return STATUS_OK;
    }
    return text_fail_listing(text_nearest(name, names, count), "known", names, count, "--%s %s=...: there is no such array", option,
                             name);
}

static bool is_one_of(DType dtype, const DType *dtypes) {
    while (*dtypes != DTYPE_COUNT && *dtypes != dtype) dtypes++;
    return *dtypes == dtype;
}

/* The dtypes of an op, by NumPy's names: "float32 or float64". */
static char *list_dtypes(const DType *dtypes, char text[64]) {
    static const char *const WORDS[DTYPE_COUNT] = {
        [DTYPE_F32] = "float32", [DTYPE_F64] = "float64", [DTYPE_I32] = "int32", [DTYPE_I64] = "int64", [DTYPE_U8] = "uint8"};
    text[0] = '\0';
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
        if (is_one_of((DType)dtype, dtypes))
            snprintf(text + strlen(text), 64 - strlen(text), "%s%s", text[0] ? " or " : "", WORDS[dtype]);
    return text;
}

/* The name that the user gave: parts of a column lie in temporary files. */
static const char *told_name(const Exec *e, const Pairs *pairs, int k) {
    return columns_own(&e->columns, pairs->values[k]) ? pairs->names[k] : pairs->values[k];
}

static Status read_inputs(Exec *e) {
    for (int i = 0; i < OP_MAX_ARRAYS; i++) e->own[i].rank = -1;
    const char *decided_by = NULL;
    const DType *dtypes = case_dtypes(e->op);
    char expected[64];
    for (int k = 0; k < e->in.count; k++) {
        int i = 0;
        TRY(known_array("in", e->in.names[k], e->in_shapes, e->op->in_count, &i));
        if (e->own[i].rank >= 0) return status_fail(STATUS_INVALID, "--in %s: given twice", e->in.names[k]);
        const char *file = told_name(e, &e->in, k);
        TRY(npy_read(e->in.values[k], &e->own[i]));
        memcpy(e->own[i].name, e->in_shapes[i].name, sizeof e->own[i].name);
        const DType dtype = e->own[i].dtype;
        if (e->in_shapes[i].dtype != dtypes[0]) { /* a mask or characters, say: of one dtype in every case */
            if (dtype == e->in_shapes[i].dtype) continue;
            return status_fail(STATUS_INVALID, "%s: dtype %s; %s is expected of '%s'", file, dtype_name(dtype),
                               dtype_name(e->in_shapes[i].dtype), e->in_shapes[i].name);
        }
        if (!is_one_of(dtype, dtypes))
            return status_fail(STATUS_INVALID, "%s: dtype %s; %s is expected", file, dtype_name(dtype),
                               list_dtypes(dtypes, expected));
        if (decided_by && dtype != e->problem.dtype)
            return status_fail(STATUS_INVALID, "%s: dtype %s, but %s is %s; all inputs must be of one dtype", file,
                               dtype_name(dtype), decided_by, dtype_name(e->problem.dtype));
        e->problem.dtype = dtype;
        decided_by = file;
    }
    if (e->dtype && decided_by && strcmp(e->dtype, dtype_name(e->problem.dtype)) != 0)
        return status_fail(STATUS_INVALID, "--set dtype=%s, but %s is %s", e->dtype, decided_by, dtype_name(e->problem.dtype));
    return STATUS_OK;
}

static Status check_outputs(const Exec *e) {
    for (int k = 0; k < e->out.count; k++) {
        int i = 0;
        TRY(known_array("out", e->out.names[k], e->out_shapes, e->op->out_count, &i));
        if (!registry_gives(e->choice.entry, e->out.names[k]))
            return status_fail(STATUS_INVALID, "--out %s=...: %s has no such output", e->out.names[k], e->choice.entry->id);
        for (int j = 0; j < k; j++)
            if (output_same(e->out.values[j], e->out.values[k]))
                return status_fail(STATUS_INVALID, "--out %s=%s and --out %s=%s: each output needs its own file", e->out.names[j],
                                   e->out.values[j], e->out.names[k], e->out.values[k]);
    }
    return STATUS_OK;
}

/* Before columns replace the user's file names by temporary ones. A file may also be the value of a parameter. */
static Status spare_inputs(const Exec *e) {
    for (int k = 0; k < e->out.count; k++) {
        for (int i = 0; i < e->in.count; i++) TRY(inputs_spare_column("--out", e->out.values[k], e->in.values[i]));
        for (int i = 0; i < e->set.count; i++) TRY(inputs_spare_column("--out", e->out.values[k], e->set.values[i]));
    }
    return STATUS_OK;
}

static Status set_dtype(Exec *e, const char *word) {
    DType dtype;
    char expected[64];
    if (!dtype_parse(word, &dtype) || !is_one_of(dtype, case_dtypes(e->op)))
        return status_fail(STATUS_INVALID, "--set dtype=%s: %s is expected", word, list_dtypes(case_dtypes(e->op), expected));
    e->dtype = dtype_name(dtype);
    return STATUS_OK;
}

/* Each --set is a parameter of the op, a tunable of the variant, or the dtype of the inputs. */
static Status set_parameters(Exec *e) {
    for (int k = 0; k < e->set.count; k++) {
        const char *name = e->set.names[k];
        if (strcmp(name, "dtype") == 0) {
            TRY(set_dtype(e, e->set.values[k]));
            continue;
        }
        const bool tunable = params_has(&e->choice.tunables, name) && !params_has(&e->problem.params, name);
        TRY(params_set(tunable ? &e->choice.tunables : &e->problem.params, name, e->set.values[k]));
    }
    return STATUS_OK;
}

/* Lets the arrays decide the sizes; a size given with --set must agree. */
static Status adopt(Exec *e) {
    Case adopted = e->problem;
    const Status status = e->op->adopt(e->own, &adopted);
    if (status != STATUS_OK)
        return e->in.count == 1 && e->own[0].rank >= 0 ? status_prefix(status, "%s: ", e->in.values[0]) : status;
    for (int k = 0; k < e->set.count; k++) {
        const char *name = e->set.names[k];
        if (!params_has(&adopted.params, name)) continue;
        for (int i = 0; i < e->in.count; i++)
            if (strcmp(e->in.names[i], name) == 0)
                return status_fail(STATUS_INVALID, "--set %s=%s and --in %s=%s: give only one of the two", name, e->set.values[k],
                                   name, e->in.values[i]);
        if (strcmp(params_text(&adopted.params, name), params_text(&e->problem.params, name)) != 0)
            return status_fail(STATUS_INVALID, "--set %s=%s, but the inputs say %s=%s", name, e->set.values[k], name,
                               params_text(&adopted.params, name));
    }
    e->problem = adopted;
    return params_complete(&e->problem.params);
}

Status exec_prepare(Exec *e, const char *id) {
    const JoinedVariant *joined = joined_find(id);
    TRY(registry_require_variant(joined ? joined->today : id, &e->choice.entry));
    TRY(registry_require_op(e->choice.entry->op, &e->op));
    TRY(modules_need_one(e->choice.entry));
    if (e->choice.entry->variant->error) return status_fail(STATUS_INVALID, "%s", e->choice.entry->variant->error);
    TRY(params_init(e->choice.entry->variant->tunables, &e->choice.tunables));
    if (joined) TRY(params_set(&e->choice.tunables, joined->tunable, joined->value));
    TRY(case_init(e->op, &e->problem));
    snprintf(e->problem.input, sizeof e->problem.input, "own");
    TRY(spare_inputs(e));
    TRY(set_parameters(e));
    TRY(case_check_function(&e->problem));
    TRY(e->op->shapes(&e->problem, e->in_shapes, e->out_shapes)); /* for the names */
    TRY(columns_open(&e->columns, (ColumnSide){e->in_shapes, e->op->in_count, &e->in},
                     (ColumnSide){e->out_shapes, e->op->out_count, &e->out}, e->dtype));
    TRY(read_inputs(e));
    TRY(check_outputs(e));
    return adopt(e);
}
