/* rungs list: ops, variants, scenarios, claims. */
#include "base/foreign.h"
#include "base/jsontext.h"
#include "base/memory.h"
#include "base/places.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "plan/registry.h"
#include "plan/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The keys that a line of text shows. */
typedef struct Listing {
    const char *what, *name, *detail, *summary;
} Listing;

enum { OPS, VARIANTS, SCENARIOS, CLAIMS };
static const Listing LISTINGS[] = {[OPS] = {"ops", "name", NULL, "summary"},
                                   [VARIANTS] = {"variants", "id", "backend", "summary"},
                                   [SCENARIOS] = {"scenarios", "name", NULL, "title"},
                                   [CLAIMS] = {"claims", "id", "expected", "statement"}};

static Status make(const Listing *listing, json_t **out) {
    const char *const scenarios = places_project("scenarios");
    if (listing == &LISTINGS[SCENARIOS]) return list_scenarios_json(scenarios, out);
    if (listing == &LISTINGS[CLAIMS]) return list_claims_json(scenarios, out);
    if (listing == &LISTINGS[VARIANTS]) TRY(modules_need_one(NULL));
    *out = listing == &LISTINGS[OPS] ? list_ops_json() : list_variants_json();
    return STATUS_OK;
}

static int print(const Listing *listing, bool as_json) {
    json_t *list = NULL;
    Status status = make(listing, &list);
    char *text = status == STATUS_OK && as_json ? json_dumps(list, JSON_INDENT(2) | JSON_SORT_KEYS) : NULL;
    if (status == STATUS_OK) status = memory_check();
    if (status != STATUS_OK) {
        memory_free(text);
        json_decref(list);
        return cli_fail(status);
    }
    if (as_json) puts(text);
    memory_free(text);
    size_t i;
    json_t *item;
    if (!as_json) {
        json_array_foreach(list, i, item)
            printf("%-36s %s%s%s\n", foreign_shown(text_of(item, listing->name)), foreign_shown(text_of(item, listing->detail)),
                   listing->detail ? "  " : "", foreign_shown(text_of(item, listing->summary)));
    }
    json_decref(list);
    return EXIT_GOOD;
}

int command_list(int argc, char **argv) {
    bool as_json = false;
    const CliOption OPTIONS[] = {{"json", NULL, CLI_FLAG, &as_json, "an array of objects"}, {0}};
    char **words;
    int count = 0;
    int code = cli_parse("list", "[ops|variants|scenarios|claims] [--json]", OPTIONS, argc, argv, &words, &count);
    const char *what = count > 0 ? words[0] : "variants";
    if (code != 0) return code;
    if (count > 1) return cli_usage("list", "expected one of ops, variants, scenarios, claims; got %d arguments", count);
    for (size_t i = 0; i < sizeof LISTINGS / sizeof *LISTINGS; i++)
        if (strcmp(what, LISTINGS[i].what) == 0) return print(&LISTINGS[i], as_json);
    return cli_usage("list", "unknown list '%s'; expected ops, variants, scenarios or claims", what);
}
