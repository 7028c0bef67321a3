/* listing.h - ops, variants, scenarios and claims as JSON: the arrays that `rungs list` prints. New references; NULL only without
 * memory. */
#ifndef RUNGS_PLAN_LISTING_H
#define RUNGS_PLAN_LISTING_H

#include "base/status.h"

#include <jansson.h>

/* id, op, backend ("cpu", "cuda", "peer"), summary, origin, tunables, bound, framework, path. */
json_t *list_variants_json(void);
/* name, summary, params, dtypes (the default first), families, bounds, inputs, outputs: the arrays by name, with rank and the
 * dtypes they can have. Parameters and tunables: name, summary, kind ("int", "real", "choice", "text"), default, min, max, choices.
 */
json_t *list_ops_json(void);
/* name, path, title, about, ops, cases, rows (cases x variants), claims (how many). STATUS_INVALID if a file cannot be loaded. */
Status list_scenarios_json(const char *dir, json_t **out);
/* Every claim of every scenario below dir. */
Status list_claims_json(const char *dir, json_t **out);

#endif
