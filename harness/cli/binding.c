#include "cli/binding.h"

#include "base/places.h"
#include "base/process.h"
#include "base/text.h"
#include "plan/case.h"
#include "plan/registry.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool binding_is_cuda(const char *path) {
    const char *ending = strrchr(path, '.');
    return ending && (strcmp(ending, ".cu") == 0 || strcmp(ending, ".cuh") == 0);
}

int binding_flags(Binding *binding, int argc, char **argv) {
    static const char *const WITH_VALUE[] = {"-I", "-D", "-U", "-isystem", "-include", "-std", "-arch", "-gencode", "-Xcompiler"};
    int kept = 0, open = 0;
    for (int i = 0; i < argc; i++) {
        const bool flag = argv[i][0] == '-' && argv[i][1] != '-' && argv[i][1] != '\0';
        if ((!flag && open == 0) || binding->flag_count == BINDING_FLAGS_MAX) {
            argv[kept++] = argv[i];
            continue;
        }
        binding->flags[binding->flag_count++] = argv[i];
        open = 0;
        for (size_t k = 0; flag && k < sizeof WITH_VALUE / sizeof *WITH_VALUE; k++)
            if (strcmp(argv[i], WITH_VALUE[k]) == 0) open = 1;
    }
    return kept;
}

static bool has(const char *path, const char *word) {
    struct stat facts;
    FILE *file = stat(path, &facts) == 0 && S_ISREG(facts.st_mode) ? fopen(path, "r") : NULL; /* a pipe would wait */
    char line[4096];
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) found = strstr(line, word) != NULL;
    if (file) fclose(file);
    return found;
}

bool binding_wanted(const Binding *binding, const char *path) {
    return binding->call || binding->launch || has(path, "rungs: --");
}

const char *binding_advice(const Binding *binding, const char *path) {
    if (!binding_is_cuda(path) || binding_wanted(binding, path) || has(path, "RUNGS_VARIANT")) return "";
    return "; it has no RUNGS_VARIANT: --call 'FUNCTION(...)' or --launch 'KERNEL<<<...>>>(...)' says how it is called";
}

/* {"f32": ["f32", "f32"], ...}: of each dtype of the op those of its arrays. */
static Status add_dtypes(const Op *op, json_t *facts) {
    json_t *names = json_array(), *dtypes = json_object(), *values = json_pack("{s:i}", "none", (int)DTYPE_COUNT);
    json_object_set_new(facts, "arrays", names);
    json_object_set_new(facts, "dtypes", dtypes);
    json_object_set_new(facts, "values", values);
    Case problem;
    TRY(case_init(op, &problem));
    for (const DType *dtype = case_dtypes(op); *dtype != DTYPE_COUNT; dtype++) {
        Array arrays[2 * OP_MAX_ARRAYS] = {{{0}, 0, 0, {0}, NULL}};
        problem.dtype = *dtype;
        TRY(op->shapes(&problem, arrays, arrays + op->in_count));
        json_t *types = json_array();
        json_array_clear(names);
        for (int i = 0; i < op->in_count + op->out_count; i++) {
            if (i >= op->in_count && array_updated(&arrays[i], arrays, op->in_count) >= 0) continue;
            json_array_append_new(types, json_string(dtype_name(arrays[i].dtype)));
            json_array_append_new(names, json_string(arrays[i].name));
        }
        json_object_set_new(dtypes, dtype_name(*dtype), types);
        json_object_set_new(values, dtype_name(*dtype), json_integer((json_int_t)*dtype));
    }
    return STATUS_OK;
}

static Status facts_of(const Binding *binding, const Op *op, const char *path, json_t *facts) {
    json_t *numbers = json_array(), *flags = json_array();
    for (const ParamSpec *spec = op->params; spec && spec->name; spec++)
        json_array_append_new(numbers, json_pack("[s, s]", spec->name, PARAM_KINDS[spec->kind]));
    for (int i = 0; i < binding->flag_count; i++) json_array_append_new(flags, json_string(binding->flags[i]));
    json_object_set_new(facts, "op", json_string(op->name));
    json_object_set_new(facts, "file", json_string(path));
    json_object_set_new(facts, "numbers", numbers);
    json_object_set_new(facts, "flags", flags);
    json_object_set_new(facts, "form", json_string(binding->call ? "call" : binding->launch ? "launch" : ""));
    json_object_set_new(facts, "text", json_string(binding->call ? binding->call : binding->launch ? binding->launch : ""));
    return add_dtypes(op, facts);
}

Status binding_make(const Binding *binding, const Op *op, const char *path, char made[PATH_MAX]) {
    if (op->sized_by_data)
        return status_fail(STATUS_INVALID,
                           "%s: the sizes of its outputs depend on the data: only a file that follows variant.h can "
                           "allocate them",
                           op->name);
    if (!binding_is_cuda(path)) return status_fail(STATUS_INVALID, "%s: a file that is bound ends in .cu or .cuh", path);
    json_t *facts = json_object();
    Status status = facts_of(binding, op, path, facts);
    char *text = json_dumps(facts, JSON_COMPACT);
    json_decref(facts);
    Text output = {0};
    int code = 0;
    char tried[PATH_MAX];
    snprintf(tried, sizeof tried, "%s", modules_tried());
    const char *const argv[] = {modules_settings()->python, places_harness("cmake/bound.py"), tried, text, NULL};
    if (status == STATUS_OK) status = process_capture(argv, &(ProcessLimits){.own_errors = true}, &output, &code);
    if (status == STATUS_OK && code != 0)
        status = status_fail(STATUS_CHECK, "%s", output.text ? output.text : "cmake/bound.py failed");
    if (status == STATUS_OK) snprintf(made, PATH_MAX, "%s", output.text ? output.text : "");
    free(text);
    text_free(&output);
    return status;
}
