/* build.h - how the files of this module add to a plan; not for others. */
#pragma once

#include "plan/scenario.h"

#include <yaml.h>

/* A copy of the text that lives as long as the plan; NULL stays NULL. */
Status plan_keep(Plan *plan, const char *text, const char **out);
/* A copy of a case that lives as long as the plan. */
Status plan_keep_case(Plan *plan, const Case *problem, const Case **out);
/* Append copies; the item's variants are copied too. */
Status plan_append_item(Plan *plan, const PlanItem *item);
Status plan_append_claim(Plan *plan, const Claim *claim);
Status plan_append_scenario(Plan *plan, const ScenarioInfo *info);
/* In a plan with `left_out`: notes that `what` was refused with the present message. */
Status plan_leave_out(Plan *plan, const char *what);
/* Forgets what was appended since the plan had these counts. */
void plan_rewind(Plan *plan, const Plan *before);

/* "threads=64,128": a tunable and its values, still with their commas. */
typedef struct Assignment {
    const char *name, *values;
    size_t column;
} Assignment;

/* "cuda_* threads=64,128": variants, and what their tunables are set to. Points into the text it was read from. */
typedef struct Request {
    const char *pattern;
    size_t column;
    bool removes; /* in a filter: "-cuda_*" takes away */
    Assignment assignments[PARAMS_MAX];
    int count;
} Request;

/* Takes `line` apart in place; errors count columns from `begin`, where the text it is a part of begins. */
Status request_read(const char *begin, char *line, Request *out);
/* A form of a joined variant (base/joined.h) has the name of before, unless the request says by the tunable which form it means. */
bool request_names(const Request *request, const VariantChoice *choice);
/* With some values of its tunables. */
bool request_may_name(const Request *request, const VariantEntry *entry);

/* Marks the op's variants that the pattern may name, for modules_need(). */
void variants_want(const Op *op, const char *pattern);

/* Does the text name CUDA variants in a build that has none? */
bool variant_not_built(const char *text);

/* ---- yamlfile.c: a YAML file; every error names path:line:column. libyaml reads it into a document, so that each node still knows
 * where it stood; anchors and aliases work as in any YAML. */

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
Status yamlfile_fail(const YamlFile *file, const YamlNode *node, const char *format, ...) __attribute__((format(printf, 3, 4)));
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

/* ---- What of it becomes part of a plan. */

/* One variant with its tunables -> its canonical spec, which lives as long as the plan. */
Status scenario_spec(YamlFile *file, const YamlNode *node, const char *key, const Op *op, Plan *plan, const char **out);
/* The number of cases that the suite's axes and tied tuples make, without making them; STATUS_INVALID above YAML_LIST_MAX. */
Status axes_count(YamlFile *file, const YamlNode *suite, long long *out);
/* Visits the cases of one suite: axes in file order, the first varying slowest, then the tied tuples. Ends at the first error. */
typedef Status CaseVisit(void *context, const Case *problem);
Status axes_expand(YamlFile *file, const Op *op, const YamlNode *suite, CaseVisit *visit, void *context);
/* Sets one parameter of a case from a key and a scalar, errors with their place. */
Status axes_set(const YamlFile *file, const Op *op, const YamlNode *key, const YamlNode *value, Case *problem);

/* Reads the claims section; the scenario's items are those from `first_item` on, `op` is the suites' common op or NULL. */
Status scenario_claims(YamlFile *file, const YamlNode *list, Plan *plan, int first_item, const Op *op, const char *scenario);
