#include "plan/build.h"

#include "base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 100, ANCHORS_MAX = 1000, KEYS_MAX = 100 };

Status yamlfile_place(const YamlFile *file, const YamlNode *node, Status status) {
    if (status == STATUS_OK) return STATUS_OK;
    return status_prefix(status, "%s:%zu:%zu: ", file->path, node->start_mark.line + 1, node->start_mark.column + 1);
}

Status yamlfile_fail(const YamlFile *file, const YamlNode *node, const char *format, ...) {
    char message[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return yamlfile_place(file, node, status_fail(STATUS_INVALID, "%s", message));
}

/* libyaml gives reader errors (invalid UTF-8) an offset, all others a mark. */
static Status syntax_error(const YamlFile *file, const yaml_parser_t *parser) {
    if (parser->error == YAML_MEMORY_ERROR || !parser->problem)
        return status_fail(STATUS_MEMORY, "%s: no memory to read it", file->path);
    size_t line = parser->problem_mark.line + 1, column = parser->problem_mark.column + 1;
    if (parser->error == YAML_READER_ERROR) {
        line = column = 1;
        for (size_t i = 0; i < parser->problem_offset && file->text[i]; i++) {
            column = file->text[i] == '\n' ? 1 : column + 1;
            line += file->text[i] == '\n';
        }
    }
    return status_fail(STATUS_INVALID, "%s:%zu:%zu: not valid YAML: %s%s%s", file->path, line, column, parser->problem,
                       parser->context ? " " : "", parser->context ? parser->context : "");
}

static Status load(YamlFile *file, yaml_parser_t *parser) {
    if (!yaml_parser_load(parser, &file->document)) return syntax_error(file, parser);
    file->root = yaml_document_get_root_node(&file->document);
    if (!file->root) {
        yaml_document_delete(&file->document);
        return status_fail(STATUS_INVALID, "%s:1:1: the file is empty; a mapping with title and suites is expected", file->path);
    }
    yaml_document_t next;
    if (!yaml_parser_load(parser, &next)) {
        yaml_document_delete(&file->document);
        return syntax_error(file, parser);
    }
    const YamlNode *second = yaml_document_get_root_node(&next);
    const Status status = second ? yamlfile_fail(file, second, "a second document begins; one per file is allowed") : STATUS_OK;
    yaml_document_delete(&next);
    if (status != STATUS_OK) yaml_document_delete(&file->document);
    return status;
}

/* For each token libyaml looks at all open brackets, and for each anchor at all others: 100,000 take a minute. No scenario needs
 * more than a few, so that characters in texts may count as well. */
static Status check_marks(const YamlFile *file, size_t length) {
    size_t line = 1, column = 1;
    int depth = 0, anchors = 0;
    for (const char *at = file->text; at < file->text + length; at++, column++) {
        if (*at == '\n') line++, column = 0;
        if (*at == '[' || *at == '{') depth++;
        if ((*at == ']' || *at == '}') && depth > 0) depth--;
        anchors += *at == '&';
        if (depth > DEPTH_MAX || anchors > ANCHORS_MAX)
            return status_fail(STATUS_INVALID, "%s:%zu:%zu: more than %d %s", file->path, line, column,
                               depth > DEPTH_MAX ? DEPTH_MAX : ANCHORS_MAX, depth > DEPTH_MAX ? "open brackets" : "anchors");
    }
    return STATUS_OK;
}

Status yamlfile_open(const char *path, YamlFile *out) {
    size_t length;
    *out = (YamlFile){.path = path};
    const Status read = text_read_limited(path, TEXT_SOURCE_MAX, &out->text, &length);
    if (read != STATUS_OK) return read == STATUS_IO ? STATUS_INVALID : read; /* a folder, no permission: still the user's path */
    const Status marks = check_marks(out, length);
    if (marks != STATUS_OK) {
        free(out->text);
        return marks;
    }
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) {
        free(out->text);
        return status_fail(STATUS_MEMORY, "%s: no memory to read it", path);
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)out->text, length);
    const Status status = load(out, &parser);
    yaml_parser_delete(&parser);
    if (status != STATUS_OK) free(out->text);
    return status;
}

void yamlfile_close(YamlFile *file) {
    yaml_document_delete(&file->document);
    free(file->text);
}

static const char *type_name(const YamlNode *node) {
    return node->type == YAML_MAPPING_NODE ? "a mapping" : node->type == YAML_SEQUENCE_NODE ? "a list" : "a single value";
}

Status yamlfile_text(const YamlFile *file, const YamlNode *node, const char *what, const char **out) {
    if (node->type != YAML_SCALAR_NODE)
        return yamlfile_fail(file, node, "%s: a single value is expected, not %s", what, type_name(node));
    const char *text = (const char *)node->data.scalar.value;
    if (*text == '\0') return yamlfile_fail(file, node, "%s: the value is empty", what);
    if (strlen(text) != node->data.scalar.length) return yamlfile_fail(file, node, "%s: a NUL character is not allowed", what);
    *out = text;
    return STATUS_OK;
}

Status yamlfile_number(const YamlFile *file, const YamlNode *node, const char *what, double *out) {
    const char *text = NULL;
    long long integer;
    TRY(yamlfile_text(file, node, what, &text));
    if (text_integer(text, &integer))
        *out = (double)integer;
    else if (!text_real(text, out) || !isfinite(*out))
        return yamlfile_fail(file, node, "%s: '%.80s' is not a number", what, text);
    return STATUS_OK;
}

Status yamlfile_list(const YamlFile *file, const YamlNode *node, const char *what) {
    if (node->type != YAML_SEQUENCE_NODE)
        return yamlfile_fail(file, node, "%s: a list is expected, [a, b], not %s", what, type_name(node));
    if (yamlfile_count(node) == 0) return yamlfile_fail(file, node, "%s: the list is empty; at least one value is needed", what);
    if (yamlfile_count(node) > YAML_LIST_MAX)
        return yamlfile_fail(file, node, "%s: %d values; at most %d are allowed", what, yamlfile_count(node), YAML_LIST_MAX);
    return STATUS_OK;
}

static Status unknown_key(const YamlFile *file, const YamlNode *key, const char *word, const char *what, const char *const *keys) {
    int count = 0;
    while (keys[count]) count++;
    return yamlfile_place(
        file, key,
        text_fail_listing(text_nearest(word, keys, count), "allowed", keys, count, "unknown key '%.80s' in %s", word, what));
}

static bool among(const char *word, const char *const *keys) {
    for (; *keys; keys++)
        if (strcmp(*keys, word) == 0) return true;
    return false;
}

Status yamlfile_map(YamlFile *file, const YamlNode *node, const char *what, const char *const *keys) {
    if (node->type != YAML_MAPPING_NODE)
        return yamlfile_fail(file, node, "%s: a mapping is expected, key: value, not %s", what, type_name(node));
    if (yamlfile_count(node) > KEYS_MAX)
        return yamlfile_fail(file, node, "%s: %d keys; at most %d are allowed", what, yamlfile_count(node), KEYS_MAX);
    for (int i = 0; i < yamlfile_count(node); i++) {
        YamlNode *key, *value, *other;
        const char *word = NULL, *earlier = NULL;
        yamlfile_pair(file, node, i, &key, &value);
        TRY(yamlfile_text(file, key, what, &word));
        if (keys && !among(word, keys)) return unknown_key(file, key, word, what, keys);
        for (int j = 0; j < i; j++) {
            yamlfile_pair(file, node, j, &other, &value);
            TRY(yamlfile_text(file, other, what, &earlier));
            if (strcmp(word, earlier) == 0)
                return yamlfile_fail(file, key, "'%.80s' is given twice in %s, first in line %zu", word, what,
                                     other->start_mark.line + 1);
        }
    }
    return STATUS_OK;
}

YamlNode *yamlfile_get(YamlFile *file, const YamlNode *map, const char *key) {
    if (map->type != YAML_MAPPING_NODE) return NULL;
    for (int i = 0; i < yamlfile_count(map); i++) {
        YamlNode *name, *value;
        yamlfile_pair(file, map, i, &name, &value);
        if (name->type == YAML_SCALAR_NODE && strcmp((const char *)name->data.scalar.value, key) == 0) return value;
    }
    return NULL;
}

Status yamlfile_require(YamlFile *file, const YamlNode *map, const char *key, const char *what, YamlNode **out) {
    *out = yamlfile_get(file, map, key);
    return *out ? STATUS_OK : yamlfile_fail(file, map, "'%s' is missing: %s", key, what);
}

int yamlfile_count(const YamlNode *node) {
    if (node->type == YAML_SEQUENCE_NODE) return (int)(node->data.sequence.items.top - node->data.sequence.items.start);
    if (node->type == YAML_MAPPING_NODE) return (int)(node->data.mapping.pairs.top - node->data.mapping.pairs.start);
    return 0;
}

YamlNode *yamlfile_item(YamlFile *file, const YamlNode *list, int index) {
    return yaml_document_get_node(&file->document, list->data.sequence.items.start[index]);
}

void yamlfile_pair(YamlFile *file, const YamlNode *map, int index, YamlNode **key, YamlNode **value) {
    const yaml_node_pair_t *pair = &map->data.mapping.pairs.start[index];
    *key = yaml_document_get_node(&file->document, pair->key);
    *value = yaml_document_get_node(&file->document, pair->value);
}
