/* yamlfile.h - a YAML file; every error names path:line:column. libyaml reads it into a document, so that each node still
 * knows where it stood; anchors and aliases work as in any YAML. */
#ifndef RUNGS_PLAN_YAMLFILE_H
#define RUNGS_PLAN_YAMLFILE_H

#include "base/status.h"

#include <stdbool.h>
#include <yaml.h>

typedef yaml_node_t YamlNode;

enum { YAML_LIST_MAX = 20000 }; /* values of a list, cases of a suite */

typedef struct YamlFile {
    const char *path; /* borrowed */
    char *text;
    yaml_document_t document;
    YamlNode *root;
} YamlFile;

/* STATUS_INVALID for a file that is missing, unreadable or too large, too many open brackets, a syntax error, an empty file,
 * several documents. */
Status yamlfile_open(const char *path, YamlFile *out);
void yamlfile_close(YamlFile *file);

/* STATUS_INVALID with "path:line:column: " and the message. */
Status yamlfile_fail(const YamlFile *file, const YamlNode *node, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;
/* Puts the node's place in front of the recorded message; STATUS_OK stays as it is. */
Status yamlfile_place(const YamlFile *file, const YamlNode *node, Status status);

/* Is it a mapping whose keys are words, each once, and all among `keys` (NULL-terminated; NULL: any)? */
Status yamlfile_map(YamlFile *file, const YamlNode *node, const char *what, const char *const *keys);
/* Is it a list of 1 to YAML_LIST_MAX elements? */
Status yamlfile_list(const YamlFile *file, const YamlNode *node, const char *what);
/* The text of a scalar; borrowed from the file. */
Status yamlfile_text(const YamlFile *file, const YamlNode *node, const char *what, const char **out);
Status yamlfile_number(const YamlFile *file, const YamlNode *node, const char *what, double *out);

/* Value of a key; NULL if it is not there, or there is no mapping. */
YamlNode *yamlfile_get(YamlFile *file, const YamlNode *map, const char *key);
/* As above, but a missing key is an error that says what it is for. */
Status yamlfile_require(YamlFile *file, const YamlNode *map, const char *key, const char *what, YamlNode **out);
/* Elements of a list, pairs of a mapping. */
int yamlfile_count(const YamlNode *node);
YamlNode *yamlfile_item(YamlFile *file, const YamlNode *list, int index);
void yamlfile_pair(YamlFile *file, const YamlNode *map, int index, YamlNode **key, YamlNode **value);

#endif
