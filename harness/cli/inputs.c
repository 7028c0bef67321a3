#include "cli/inputs.h"

#include "base/output.h"
#include "base/places.h"
#include "cli/commands.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Devices may be read and written at once. */
static bool is_file(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
}

Status inputs_spare(const char *option, const char *out, const char *const *inputs) {
    for (; *inputs; inputs++)
        if (is_file(out) && output_same(out, *inputs))
            return status_fail(STATUS_INVALID, "%s %s: this would replace the input %s; name another file", option, out, *inputs);
    return STATUS_OK;
}

Status inputs_spare_column(const char *option, const char *out, const char *input) {
    char path[OUTPUT_PATH_MAX];
    struct stat facts;
    if (snprintf(path, sizeof path, "%s", input) >= (int)sizeof path) return STATUS_OK;
    for (char *colon; stat(path, &facts) != 0 && (colon = strrchr(path, ':'));) *colon = '\0';
    return inputs_spare(option, out, (const char *const[]){path, NULL});
}

int inputs_campaign(const char *verb, glob_t *files) {
    return glob(places_project("results/[0-9]*.jsonl"), 0, NULL, files) == 0
               ? EXIT_GOOD
               : cli_usage(verb, "no file DATE-DEVICE-COMMIT.jsonl in results/; name the files with the rows");
}
