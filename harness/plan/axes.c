/* The cases of one suite. */
#include "plan/build.h"
#include "plan/case.h"

#include <jansson.h>

enum { LEVELS_MAX = PARAMS_MAX + 4 };

/* One digit of the odometer: an axis, or (key NULL) the tied tuples. */
typedef struct Level {
    YamlNode *key, *list;
    int index;
} Level;

typedef struct Axes {
    YamlFile *file;
    const Op *op;
    Level levels[LEVELS_MAX];
    int count;
} Axes;

Status axes_set(const YamlFile *file, const Op *op, const YamlNode *key, const YamlNode *value, Case *problem) {
    const char *name, *text;
    TRY(yamlfile_text(file, key, "a parameter's name", &name));
    TRY(yamlfile_text(file, value, name, &text));
    return yamlfile_place(file, case_has(problem, name) ? value : key, case_set(op, problem, name, text));
}

static Status apply(const Axes *axes, const Level *level, int index, Case *problem) {
    YamlNode *value = yamlfile_item(axes->file, level->list, index);
    if (level->key) return axes_set(axes->file, axes->op, level->key, value, problem);
    for (int i = 0; i < yamlfile_count(value); i++) {
        YamlNode *name, *part;
        yamlfile_pair(axes->file, value, i, &name, &part);
        TRY(axes_set(axes->file, axes->op, name, part, problem));
    }
    return STATUS_OK;
}

/* Every value is good by itself, and none is there twice, however it is written (1e8 and 100000000): none makes the same case. */
static Status check_values(const Axes *axes, const Level *level) {
    json_t *seen = json_object();
    Status status = STATUS_OK;
    for (int i = 0; i < yamlfile_count(level->list) && status == STATUS_OK; i++) {
        Case problem;
        char text[CASE_TEXT_MAX];
        status = case_init(axes->op, &problem);
        if (status == STATUS_OK) status = apply(axes, level, i, &problem);
        if (status != STATUS_OK) break;
        const json_t *first = json_object_get(seen, case_format(&problem, text, sizeof text));
        if (first)
            status = yamlfile_fail(axes->file, yamlfile_item(axes->file, level->list, i),
                                   "the same value as element %d of this list; once is allowed", (int)json_integer_value(first));
        else if (json_object_set_new(seen, text, json_integer(i + 1)) != 0)
            status = status_fail(STATUS_MEMORY, "no memory for %d values", yamlfile_count(level->list));
    }
    json_decref(seen);
    return status;
}

static Status read_axes(Axes *axes, const YamlNode *map) {
    TRY(yamlfile_map(axes->file, map, "axes", NULL));
    if (yamlfile_count(map) == 0) return yamlfile_fail(axes->file, map, "axes: empty; name: [value, ...] is expected");
    for (int i = 0; i < yamlfile_count(map); i++) {
        const char *name;
        Level level = {0};
        yamlfile_pair(axes->file, map, i, &level.key, &level.list);
        TRY(yamlfile_text(axes->file, level.key, "axes", &name));
        Case known;
        TRY(case_init(axes->op, &known));
        if (!case_has(&known, name)) return yamlfile_place(axes->file, level.key, case_set(axes->op, &known, name, ""));
        TRY(yamlfile_list(axes->file, level.list, name));
        TRY(check_values(axes, &level));
        axes->levels[axes->count++] = level;
    }
    return STATUS_OK;
}

/* A tuple must set what the first one sets, and nothing that is an axis. */
static Status check_tuple(const Axes *axes, const YamlNode *axes_map, YamlNode *first, YamlNode *tuple) {
    TRY(yamlfile_map(axes->file, tuple, "a tied tuple", NULL));
    if (yamlfile_count(tuple) != yamlfile_count(first) || yamlfile_count(tuple) == 0)
        return yamlfile_fail(axes->file, tuple,
                             "tied: every tuple must set the same parameters, at least one; this one sets %d, the first %d",
                             yamlfile_count(tuple), yamlfile_count(first));
    for (int i = 0; i < yamlfile_count(tuple); i++) {
        YamlNode *key, *value;
        const char *name;
        yamlfile_pair(axes->file, tuple, i, &key, &value);
        TRY(yamlfile_text(axes->file, key, "tied", &name));
        if (!yamlfile_get(axes->file, first, name))
            return yamlfile_fail(axes->file, key, "tied: '%s' is not in the first tuple", name);
        if (axes_map && yamlfile_get(axes->file, axes_map, name))
            return yamlfile_fail(axes->file, key, "'%s' is an axis and in a tied tuple; one of them is allowed", name);
    }
    return STATUS_OK;
}

static Status read_tied(Axes *axes, const YamlNode *axes_map, YamlNode *list) {
    TRY(yamlfile_list(axes->file, list, "tied"));
    YamlNode *first = yamlfile_item(axes->file, list, 0);
    for (int i = 0; i < yamlfile_count(list); i++) TRY(check_tuple(axes, axes_map, first, yamlfile_item(axes->file, list, i)));
    const Level level = {.list = list};
    TRY(check_values(axes, &level));
    axes->levels[axes->count++] = level;
    return STATUS_OK;
}

/* The case at the present position of the odometer; the op has the last word on parameters that must fit together. */
static Status make_case(const Axes *axes, const YamlNode *suite, Case *out) {
    TRY(case_init(axes->op, out));
    for (int i = 0; i < axes->count; i++) TRY(apply(axes, &axes->levels[i], axes->levels[i].index, out));
    TRY(yamlfile_place(axes->file, suite, case_complete(axes->op, out)));
    Array in[OP_MAX_ARRAYS], arrays[OP_MAX_ARRAYS];
    const Status status = axes->op->shapes(out, in, arrays);
    if (status == STATUS_OK) return STATUS_OK;
    char text[CASE_TEXT_MAX];
    return yamlfile_place(axes->file, suite, status_prefix(status, "'%s': ", case_format(out, text, sizeof text)));
}

/* The last digit turns fastest. */
static void advance(Axes *axes) {
    for (int i = axes->count - 1; i >= 0; i--) {
        if (++axes->levels[i].index < yamlfile_count(axes->levels[i].list)) return;
        axes->levels[i].index = 0;
    }
}

Status axes_count(YamlFile *file, const YamlNode *suite, long long *out) {
    YamlNode *map = yamlfile_get(file, suite, "axes"), *tied = yamlfile_get(file, suite, "tied");
    *out = 1;
    for (int i = 0; map && i < yamlfile_count(map) && map->type == YAML_MAPPING_NODE; i++) {
        YamlNode *key, *list;
        yamlfile_pair(file, map, i, &key, &list);
        if (list->type != YAML_SEQUENCE_NODE) continue;
        const char *name;
        TRY(yamlfile_text(file, key, "axes", &name));
        if (yamlfile_count(list) > YAML_LIST_MAX) return yamlfile_list(file, list, name);
        *out *= yamlfile_count(list);
        if (*out > YAML_LIST_MAX) break;
    }
    if (tied && *out <= YAML_LIST_MAX) *out *= yamlfile_count(tied);
    if (*out <= YAML_LIST_MAX) return STATUS_OK;
    return yamlfile_fail(file, suite, "the suite expands to more than %d cases", YAML_LIST_MAX);
}

Status axes_expand(YamlFile *file, const Op *op, const YamlNode *suite, CaseVisit *visit, void *context) {
    Axes axes = {.file = file, .op = op};
    YamlNode *map = yamlfile_get(file, suite, "axes"), *tied = yamlfile_get(file, suite, "tied");
    if (map) TRY(read_axes(&axes, map));
    if (tied) TRY(read_tied(&axes, map, tied));
    long long total;
    TRY(axes_count(file, suite, &total));
    for (long long i = 0; i < total; i++, advance(&axes)) {
        Case problem;
        TRY(make_case(&axes, suite, &problem));
        TRY(visit(context, &problem));
    }
    return STATUS_OK;
}
