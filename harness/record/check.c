#include "record/row.h"

#include "base/memory.h"

#include <errno.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

extern const char ROW_SCHEMA[]; /* row.schema.json; the build makes it */

enum { PATH_TEXT = 400, PATTERNS_MAX = 32, SHOWN = 40 };

/* What the schema does not allow: the value at `path`, or that the object there lacks a key. */
typedef struct Fault {
    char path[PATH_TEXT];
    const char *lacks; /* NULL: `value` is wrong */
    const json_t *value, *schema;
} Fault;

static const json_t *definitions; /* of row.schema.json, by name */

/* types: one name or an array of them; NULL: any. */
static bool is_type(const json_t *types, const json_t *value) {
    static const char *const NAMES[] = {
        [JSON_OBJECT] = "object", [JSON_ARRAY] = "array",  [JSON_STRING] = "string", [JSON_INTEGER] = "integer",
        [JSON_REAL] = "number",   [JSON_TRUE] = "boolean", [JSON_FALSE] = "boolean", [JSON_NULL] = "null"};
    const char *name = json_string_value(types);
    bool any = !types || (name && strcmp(name, NAMES[json_typeof(value)]) == 0) ||
               (name && json_is_integer(value) && strcmp(name, "number") == 0);
    for (size_t i = 0; i < json_array_size(types) && !any; i++) any = is_type(json_array_get(types, i), value);
    return any;
}

/* Compiled once for each pattern of the schema. Without memory nothing is said of the text: for glibc that is no match, too. */
static bool matches(const json_t *pattern, const char *text) {
    static struct {
        const json_t *pattern;
        regex_t compiled;
    } known[PATTERNS_MAX];
    int i = 0;
    while (i < PATTERNS_MAX && known[i].pattern && known[i].pattern != pattern) i++;
    if (i == PATTERNS_MAX) return true;
    if (!known[i].pattern && regcomp(&known[i].compiled, json_string_value(pattern), REG_EXTENDED | REG_NOSUB) != 0) return true;
    known[i].pattern = pattern;
    errno = 0;
    return regexec(&known[i].compiled, text, 0, NULL, 0) == 0 || errno == ENOMEM;
}

static bool within(const json_t *schema, const json_t *value) {
    const bool array = json_is_array(value);
    const double number = array ? (double)json_array_size(value) : json_number_value(value);
    const json_t *least = json_object_get(schema, array ? "minItems" : "minimum"),
                 *most = json_object_get(schema, array ? "maxItems" : "maximum"),
                 *above = array ? NULL : json_object_get(schema, "exclusiveMinimum"), *pattern = json_object_get(schema, "pattern");
    if (json_is_string(value))
        return (!pattern || matches(pattern, json_string_value(value))) &&
               (!json_object_get(schema, "minLength") || json_string_length(value) > 0);
    return (!array && !json_is_number(value)) ||
           ((!least || number >= json_number_value(least)) && (!most || number <= json_number_value(most)) &&
            (!above || number > json_number_value(above)));
}

static bool is_allowed(const json_t *schema, const json_t *value) {
    const json_t *allowed = json_object_get(schema, "enum"), *only = json_object_get(schema, "const");
    bool listed = !allowed && (!only || json_equal(only, value));
    for (size_t i = 0; i < json_array_size(allowed) && !listed; i++) listed = json_equal(json_array_get(allowed, i), value);
    return listed && is_type(json_object_get(schema, "type"), value) && within(schema, value);
}

static bool find_fault(const json_t *schema, const json_t *value, Fault *fault) {
    const char *reference = json_string_value(json_object_get(schema, "$ref")), *key;
    const size_t used = strlen(fault->path);
    const json_t *others;
    json_t *part;
    size_t i;
    if (reference) schema = json_object_get(definitions, strrchr(reference, '/') + 1);
    fault->schema = schema, fault->value = value;
    if (!is_allowed(schema, value)) return true;
    others = json_object_get(schema, "additionalProperties");
    json_array_foreach(json_object_get(schema, "needed"), i, part) {
        fault->lacks = json_string_value(part);
        if (json_is_null(json_object_get(value, fault->lacks)) || !json_object_get(value, fault->lacks)) return true;
    }
    fault->lacks = NULL;
    json_object_foreach((json_t *)value, key, part) {
        const json_t *its = json_object_get(json_object_get(schema, "properties"), key);
        if (!its) its = others;
        snprintf(fault->path + used, PATH_TEXT - used, "%s%s", used ? "." : "", key);
        if (json_is_object(its) && !json_is_null(part) && find_fault(its, part, fault)) return true;
    }
    others = json_object_get(schema, "items");
    json_array_foreach((json_t *)value, i, part) {
        snprintf(fault->path + used, PATH_TEXT - used, "%s%zu", used ? "." : "", i);
        if (others && find_fault(others, part, fault)) return true;
    }
    fault->path[used] = '\0';
    return false;
}

/* The keywords of the schema say what is expected, without what they say of inner values. */
static Status refuse(const char *place, const Fault *fault) {
    static const char *const KEYWORDS[] = {"type",    "enum",     "const",    "minimum",   "exclusiveMinimum",
                                           "maximum", "minItems", "maxItems", "minLength", "pattern"};
    const bool inner = *fault->path != '\0';
    if (fault->lacks)
        return status_fail(STATUS_INVALID, "%s: %s%s'%s' is missing", place, fault->path, inner ? ": " : "", fault->lacks);
    json_t *rule = json_object();
    for (size_t i = 0; i < sizeof KEYWORDS / sizeof *KEYWORDS; i++)
        if (json_object_get(fault->schema, KEYWORDS[i]))
            json_object_set(rule, KEYWORDS[i], json_object_get(fault->schema, KEYWORDS[i]));
    char *value = json_dumps(fault->value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII), *expected = json_dumps(rule, 0);
    const Status status = status_fail(STATUS_INVALID, "%s: %s%s%.*s; expected %s", place, fault->path, inner ? " is " : "", SHOWN,
                                      value ? value : "", expected ? expected : "");
    memory_free(value);
    memory_free(expected);
    json_decref(rule);
    return status;
}

Status check_line(const char *place, const json_t *line) {
    static json_t *schema; /* lives as long as the program */
    Fault fault = {.path = ""};
    if (!schema) schema = json_loads(ROW_SCHEMA, 0, NULL);
    if (!schema) return status_fail(STATUS_MEMORY, "%s: no memory to check it", place);
    definitions = json_object_get(schema, "$defs");
    if (find_fault(schema, line, &fault)) return refuse(place, &fault);
    const char *kind = json_string_value(json_object_get(line, "kind"));
    return find_fault(json_object_get(definitions, kind), line, &fault) ? refuse(place, &fault) : STATUS_OK;
}
