#include "cli/cases.h"

#include "base/places.h"
#include "base/text.h"
#include "base/usercode.h"
#include "cli/commands.h"
#include "cli/options.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool is_case(const char *word) {
    return strpbrk(word, " =") != NULL;
}

static bool is_parameter(const char *word) {
    return strchr(word, '=') && !strchr(word, ' ');
}

static bool is_scenario(const char *word) {
    char path[1024];
    struct stat info;
    static const char *const ENDINGS[] = {".yaml", ""};
    if (stat(word, &info) == 0 && S_ISREG(info.st_mode)) return true;
    for (size_t i = 0; i < sizeof ENDINGS / sizeof *ENDINGS; i++)
        if (snprintf(path, sizeof path, "%s/%s%s", places_project("scenarios"), word, ENDINGS[i]) < (int)sizeof path &&
            stat(path, &info) == 0)
            return true;
    return false;
}

/* With the case as it should be written: the op with the parameters that follow it; alone, with its first one as an example. */
static Status refuse(const char *command, const Op *op, char *const *words, int count) {
    Text given = {0};
    Status status = text_append(&given, "%s", op->name);
    for (int i = 1; i < count && is_parameter(words[i]) && status == STATUS_OK; i++) status = text_append(&given, " %s", words[i]);
    const ParamSpec *first = strchr(given.text ? given.text : "", ' ') ? NULL : op->params;
    if (status == STATUS_OK && first && first->name && first->fallback)
        status = text_append(&given, " %s=%s", first->name, first->fallback);
    if (status == STATUS_OK)
        status = status_fail(STATUS_INVALID, "%s is an op; quote the case: %s '%s'", op->name, command, given.text);
    text_free(&given);
    return status;
}

Status cases_check(const char *command, char *const *words, int count) {
    for (int i = 0; i < count; i++) {
        if (is_case(words[i]) || is_scenario(words[i])) continue;
        const Op *op = registry_op(words[i]);
        if (!op && i + 1 < count && is_parameter(words[i + 1])) TRY(registry_require_op(words[i], &op));
        if (op) return refuse(command, op, words + i, count - i);
    }
    return STATUS_OK;
}

Status case_check_function(const Case *problem) {
    if (!params_has(&problem->params, USERCODE_PARAM)) return STATUS_OK;
    const char *path = params_text(&problem->params, USERCODE_PARAM);
    return strcmp(path, "none") == 0 ? STATUS_OK : usercode_check(path);
}

/* A word is a case if it holds a blank or an '=', else a scenario: a path, or a name or folder below scenarios/. */
Status cases_plan(Plan *plan, const char *command, char *const *words, int count) {
    TRY(cases_check(command, words, count));
    for (int i = 0; i < count; i++)
        TRY(is_case(words[i]) ? plan_add_case(plan, words[i], NULL) : plan_add_named(plan, places_project("scenarios"), words[i]));
    /* A function that does not exist is a usage error, not a result of a variant. */
    for (int i = 0; i < plan->item_count; i++) TRY(case_check_function(&plan->items[i].problem));
    return STATUS_OK;
}

bool cases_devices_fit(const char *verb, RunOptions *options) {
    int devices[DEVICES_MAX], count = 0;
    if (!options->devices) return true;
    if (!devices_parse(options->devices, devices, &count) || options->device != 0) {
        (void)cli_usage(verb, "--devices '%s': GPUs in ascending order, such as 0,1, or all, without --device", options->devices);
        return false;
    }
    options->device = count > 0 ? devices[0] : 0;
    return true;
}
