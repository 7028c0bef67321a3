#include "record/check.h"

#include "base/memory.h"

#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char ROW_SCHEMA[]; /* row.schema.json; the build makes it */

enum { DEPTH_MAX = 16, EXPECTED_MAX = 600, PATTERNS_MAX = 32, SHOWN = 40 };

/* The types of JSON Schema: their names, what messages call them, a bit for each json_type. */
static const struct {
    const char *name, *words;
    unsigned bits;
} TYPES[] = {
    {"string", "a text", 1u << JSON_STRING},
    {"integer", "a whole number", 1u << JSON_INTEGER},
    {"number", "a number", 1u << JSON_INTEGER | 1u << JSON_REAL},
    {"boolean", "true or false", 1u << JSON_TRUE | 1u << JSON_FALSE},
    {"null", "null", 1u << JSON_NULL},
    {"object", "an object", 1u << JSON_OBJECT},
    {"array", "an array", 1u << JSON_ARRAY},
};
enum { TYPE_COUNT = sizeof TYPES / sizeof *TYPES };

/* A key of an object, or an element of an array (key NULL). */
typedef struct Step {
    const char *key;
    size_t index;
} Step;

/* The path to a value that the schema does not allow, and what it expects there. */
typedef struct Fault {
    Step path[DEPTH_MAX];
    int depth;
    char expected[EXPECTED_MAX];
} Fault;

static const json_t *definitions(void) {
    static json_t *schema; /* lives as long as the program */
    if (!schema) schema = json_loads(ROW_SCHEMA, 0, NULL);
    return json_object_get(schema, "$defs");
}

static const json_t *resolved(const json_t *schema) {
    const char *name = json_string_value(json_object_get(schema, "$ref"));
    return name ? json_object_get(definitions(), strrchr(name, '/') + 1) : schema;
}

/* ---- What a schema expects, for messages. */

static void add(char text[EXPECTED_MAX], const char *before, const char *word) {
    const size_t used = strlen(text);
    snprintf(text + used, EXPECTED_MAX - used, "%s%s", used ? before : "", word);
}

static void add_value(char text[EXPECTED_MAX], const char *before, const char *after, const json_t *value) {
    char *word = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY), piece[200];
    const char *pattern = *before == ',' ? json_string_value(value) : NULL; /* as it is written */
    snprintf(piece, sizeof piece, "%s%s%s", before, pattern ? pattern : word ? word : "", after);
    add(text, "", piece);
    memory_free(word);
}

/* types: one name or an array of them. */
static void add_types(char text[EXPECTED_MAX], const json_t *types) {
    size_t i;
    json_t *type;
    for (size_t k = 0; json_is_string(types) && k < TYPE_COUNT; k++)
        if (strcmp(json_string_value(types), TYPES[k].name) == 0) add(text, " or ", TYPES[k].words);
    json_array_foreach((json_t *)types, i, type) add_types(text, type);
}

static void expectation(const json_t *schema, char text[EXPECTED_MAX]) {
    static const char *const LIMITS[][3] = {{"minimum", ", at least ", ""},  {"exclusiveMinimum", ", above ", ""},
                                            {"maximum", ", at most ", ""},   {"minItems", ", ", " or more"},
                                            {"maxItems", ", ", " or fewer"}, {"pattern", ", like ", ""}};
    const json_t *allowed = json_object_get(schema, "enum"), *only = json_object_get(schema, "const");
    size_t i;
    json_t *value;
    *text = '\0';
    if (only) add_value(text, "", "", only);
    json_array_foreach((json_t *)allowed, i, value) add_value(text, i ? " or " : "", "", value);
    if (only || allowed) return;
    add_types(text, json_object_get(schema, "type"));
    for (size_t k = 0; k < sizeof LIMITS / sizeof *LIMITS; k++)
        if (json_object_get(schema, LIMITS[k][0]))
            add_value(text, LIMITS[k][1], LIMITS[k][2], json_object_get(schema, LIMITS[k][0]));
    if (json_object_get(schema, "minLength")) add(text, "", ", not empty");
}

/* ---- Is a value allowed? */

static bool is_type(const json_t *types, const json_t *value) {
    size_t i;
    json_t *type;
    for (size_t k = 0; json_is_string(types) && k < TYPE_COUNT; k++)
        if (strcmp(json_string_value(types), TYPES[k].name) == 0) return TYPES[k].bits >> json_typeof(value) & 1;
    json_array_foreach((json_t *)types, i, type) {
        if (is_type(type, value)) return true;
    }
    return false;
}

static bool exhausted; /* no memory for a pattern: that nothing matched says nothing */

/* Compiled once for each pattern of the schema, which lives as long as the program. */
static bool matches(const json_t *pattern, const char *text) {
    static struct {
        const json_t *pattern;
        regex_t compiled;
    } known[PATTERNS_MAX];
    for (int i = 0; i < PATTERNS_MAX; i++) {
        if (!known[i].pattern && regcomp(&known[i].compiled, json_string_value(pattern), REG_EXTENDED | REG_NOSUB) == 0)
            known[i].pattern = pattern;
        if (known[i].pattern != pattern) continue;
        errno = 0;
        if (regexec(&known[i].compiled, text, 0, NULL, 0) == 0) return true;
        exhausted = exhausted || errno == ENOMEM; /* for glibc that is no match, too */
        return false;
    }
    exhausted = true;
    return false;
}

static bool within(const json_t *schema, const json_t *value) {
    const json_t *least = json_object_get(schema, "minimum"), *above = json_object_get(schema, "exclusiveMinimum"),
                 *most = json_object_get(schema, "maximum"), *pattern = json_object_get(schema, "pattern"),
                 *fewest = json_object_get(schema, "minItems"), *largest = json_object_get(schema, "maxItems");
    const double number = json_number_value(value);
    if (json_is_number(value))
        return (!least || number >= json_number_value(least)) && (!above || number > json_number_value(above)) &&
               (!most || number <= json_number_value(most));
    if (json_is_string(value))
        return (!pattern || matches(pattern, json_string_value(value))) &&
               (!json_object_get(schema, "minLength") || json_string_length(value) > 0);
    const json_int_t count = (json_int_t)json_array_size(value);
    return !json_is_array(value) ||
           ((!fewest || count >= json_integer_value(fewest)) && (!largest || count <= json_integer_value(largest)));
}

static bool is_allowed(const json_t *schema, const json_t *value) {
    const json_t *allowed = json_object_get(schema, "enum"), *only = json_object_get(schema, "const"),
                 *types = json_object_get(schema, "type");
    size_t i;
    json_t *some;
    if (only) return json_equal(only, value);
    json_array_foreach((json_t *)allowed, i, some) {
        if (json_equal(some, value)) return true;
    }
    return !allowed && (!types || is_type(types, value)) && within(schema, value);
}

static bool find_fault(const json_t *schema, const json_t *value, Fault *fault);

/* find_fault() for a value inside of another. */
static bool find_inner(const json_t *schema, const json_t *value, Step step, Fault *fault) {
    if (!json_is_object(schema) || fault->depth == DEPTH_MAX) return false;
    fault->path[fault->depth++] = step;
    if (find_fault(schema, value, fault)) return true;
    fault->depth--;
    return false;
}

static bool find_in_parts(const json_t *schema, const json_t *value, Fault *fault) {
    const json_t *properties = json_object_get(schema, "properties"), *others = json_object_get(schema, "additionalProperties"),
                 *items = json_object_get(schema, "items");
    const char *key;
    size_t i;
    json_t *part;
    json_array_foreach(json_object_get(schema, "needed"), i, part) {
        const json_t *held = json_object_get(value, json_string_value(part));
        if (!json_is_object(value) || (held && !json_is_null(held))) continue;
        snprintf(fault->expected, EXPECTED_MAX, "an object with '%s'", json_string_value(part));
        return true;
    }
    json_object_foreach((json_t *)value, key, part) {
        const json_t *its = json_object_get(properties, key);
        if (!json_is_null(part) && find_inner(its ? its : others, part, (Step){.key = key}, fault)) return true;
    }
    json_array_foreach((json_t *)value, i, part) {
        if (find_inner(items, part, (Step){.index = i}, fault)) return true;
    }
    return false;
}

/* If no alternative allows the value: the deepest fault of all; if that is the value itself, what each alternative expects. */
static bool find_in_alternatives(const json_t *alternatives, const json_t *value, Fault *fault) {
    const int own = fault->depth;
    Fault deepest = *fault;
    char all[2 * EXPECTED_MAX] = "";
    size_t i;
    json_t *some;
    json_array_foreach((json_t *)alternatives, i, some) {
        Fault found = *fault;
        if (!find_fault(some, value, &found)) return false;
        if (found.depth > deepest.depth) deepest = found;
        const size_t used = strlen(all);
        if (strcmp(all, found.expected) != 0) snprintf(all + used, sizeof all - used, "%s%s", used ? " or " : "", found.expected);
    }
    *fault = deepest;
    if (deepest.depth == own) memcpy(fault->expected, all, EXPECTED_MAX - 1);
    return true;
}

static bool find_fault(const json_t *schema, const json_t *value, Fault *fault) {
    schema = resolved(schema);
    *fault->expected = '\0';
    if (json_object_get(schema, "oneOf")) return find_in_alternatives(json_object_get(schema, "oneOf"), value, fault);
    if (find_in_parts(schema, value, fault)) return true;
    if (is_allowed(schema, value)) return false;
    expectation(schema, fault->expected);
    return true;
}

/* ---- Where the value is in the text of the line, which is JSON. */

static const char *after_blanks(const char *at) {
    return at + strspn(at, " \t\r\n,:");
}

static const char *after_text(const char *at) {
    for (at++; *at && *at != '"'; at++) at += *at == '\\' && at[1];
    return *at ? at + 1 : at;
}

static const char *after_value(const char *at) {
    if (*at == '"') return after_text(at);
    if (*at != '{' && *at != '[') return at + strcspn(at, ",]} \t\r\n");
    int depth = 0;
    do {
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        at = *at == '"' ? after_text(at) : at + 1;
    } while (depth > 0 && *at);
    return at;
}

/* Is the text at `at` this key? It may have escapes, such as \u0061. */
static bool is_key(const char *at, const char *key) {
    json_t *text = json_loadb(at, (size_t)(after_text(at) - at), JSON_DECODE_ANY, NULL);
    const bool same = text && strcmp(json_string_value(text), key) == 0;
    json_decref(text);
    return same;
}

/* From the beginning of an object or an array to that of a value in it. */
static const char *step_into(const char *at, const Step *step) {
    const bool object = *at == '{';
    at = after_blanks(at + 1);
    for (size_t i = 0; *at && *at != '}' && *at != ']'; i++) {
        const bool found = step->key ? is_key(at, step->key) : i == step->index;
        if (object) at = after_blanks(after_text(at));
        if (found) return at;
        at = after_blanks(after_value(at));
    }
    return at;
}

static size_t characters(const char *from, const char *to) {
    size_t count = 0;
    for (; from < to; from++) count += ((unsigned char)*from & 0xc0) != 0x80;
    return count;
}

static Status refuse(const char *place, const char *text, const Fault *fault) {
    char name[400] = "", step[200];
    const char *at = after_blanks(text), *end;
    for (int i = 0; i < fault->depth; i++) {
        if (fault->path[i].key)
            snprintf(step, sizeof step, "%s", fault->path[i].key);
        else
            snprintf(step, sizeof step, "%zu", fault->path[i].index);
        const size_t used = strlen(name);
        snprintf(name + used, sizeof name - used, "%s%s", i ? "." : "", step);
        at = step_into(at, &fault->path[i]);
    }
    end = *at == '{' || *at == '[' ? at + strlen(at) : after_value(at);
    while (end > at && (isspace((unsigned char)end[-1]) || characters(at, end) > SHOWN)) end--;
    return status_fail(STATUS_INVALID, "%s:%zu: %s%s%.*s; expected %s", place, characters(text, at) + 1, name, *name ? " is " : "",
                       (int)(end - at), at, fault->expected);
}

/* The definition of a line of this kind; NULL: there is none. */
static const json_t *definition_of(const char *kind, const json_t *line) {
    static const char *const KINDS[] = {"environment", "ceilings", "row", "claim"};
    const bool claim = strcmp(kind, "claim") == 0;
    if (claim && json_object_get(line, "at_least")) return json_object_get(definitions(), "claim_by_limits");
    if (claim && json_object_get(line, "verdict")) return json_object_get(definitions(), "claim_with_verdict");
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (strcmp(kind, KINDS[i]) == 0) return json_object_get(definitions(), kind);
    return NULL;
}

static bool find_in_line(const json_t *line, Fault *fault) {
    const json_t *kind = json_object_get(line, "kind"), *schema = json_object_get(line, "schema");
    *fault = (Fault){.expected = "an object with 'kind'"};
    if (!kind || json_is_null(kind)) return true;
    if (!json_is_integer(schema) || json_integer_value(schema) != ROW_SCHEMA_VERSION) {
        *fault = (Fault){.path = {{.key = "schema"}}, .depth = schema != NULL};
        snprintf(fault->expected, EXPECTED_MAX, "schema %d, which this rungs reads and writes", ROW_SCHEMA_VERSION);
        return true;
    }
    const json_t *definition = json_is_string(kind) ? definition_of(json_string_value(kind), line) : NULL;
    if (definition) return find_fault(definition, line, fault);
    *fault = (Fault){.path = {{.key = "kind"}}, .depth = 1, .expected = "\"environment\" or \"ceilings\" or \"row\" or \"claim\""};
    return true;
}

Status check_line(const char *place, const char *text, size_t length, const json_t *line) {
    Fault fault;
    exhausted = !definitions();
    if (!exhausted && !find_in_line(line, &fault)) return STATUS_OK;
    if (exhausted) return status_fail(STATUS_MEMORY, "%s: no memory to check it", place);
    char *copy = strndup(text, length);
    if (!copy) return status_fail(STATUS_MEMORY, "%s: no memory to refuse it", place);
    const Status status = refuse(place, copy, &fault);
    free(copy);
    return status;
}
