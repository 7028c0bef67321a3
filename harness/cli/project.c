/* rungs new and rungs build: a project of one's own. */
#include "base/places.h"
#include "base/process.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/python.h"
#include "record/program.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int command_new(int argc, char **argv) {
    const char *op = "axpy", *peer = NULL;
    const CliOption OPTIONS[] = {
        {"op", "NAME", CLI_TEXT, &op, "the first op (default axpy); it computes a x + y until you change it"},
        {"peer", "triton|torch", CLI_TEXT, &peer, "with a variant in Triton or PyTorch, too"},
        {0},
    };
    char **given;
    int count = 0, code = cli_parse("new", "FOLDER [--op NAME] [--peer triton|torch]", OPTIONS, argc, argv, &given, &count);
    if (code == 0 && count != 1) code = cli_usage("new", "expected one folder, which gets the project; got %d", count);
    if (code != 0) return code;
    Words words = {0};
    Text output = {0};
    words_options(&words, OPTIONS);
    words_add(&words, "--template=%s", places_harness("template"));
    words_add(&words, "--program=%s", places_beside(PROGRAM.project));
    words_add(&words, "--");
    words_add(&words, "%s", given[0]);
    const Status status = python_run(places_harness("harness/cli/new.py"), &words, &output, &code);
    words_free(&words);
    if (status == STATUS_OK) fprintf(code == 0 ? stdout : stderr, "%s", output.text ? output.text : "");
    text_free(&output);
    return status == STATUS_OK ? code : cli_fail(status);
}

static int build(const char *folder) {
    char named[PATH_MAX], config[PATH_MAX];
    Text output = {0};
    int code = 0;
    if (snprintf(named, sizeof named, "%s/../../lib/cmake/rungs", places_harness("")) >= PATH_MAX || !realpath(named, config))
        memcpy(config, named, sizeof config); /* not there: the script says so */
    /* Of a program that lies in its build folder: what is installed from there into a prefix beside it. */
    const char *const own = access(places_build("cmake_install.cmake"), F_OK) == 0 ? places_build("") : NULL;
    const char *const argv[] = {places_harness("cmake/build_project.sh"), folder, config, own, NULL};
    fprintf(stderr, "rungs build: building %s/build/release\n", folder);
    const Status status = process_capture(argv, NULL, &output, &code);
    if (status == STATUS_OK && code == 0) printf("built: %s/build/release/bin\n", folder);
    if (status == STATUS_OK && code != 0) fprintf(stderr, "rungs build: %s", output.text ? output.text : "failed\n");
    text_free(&output);
    return status == STATUS_OK ? code : cli_fail(status);
}

int command_build(int argc, char **argv) {
    const CliOption OPTIONS[] = {{0}};
    char **given, folder[PATH_MAX];
    int count = 0;
    int code = cli_parse("build", "[FOLDER]", OPTIONS, argc, argv, &given, &count);
    if (code == 0 && count > 1) code = cli_usage("build", "expected one folder of a project; got %d", count);
    if (code == 0 && !realpath(count ? given[0] : ".", folder)) code = cli_usage("build", "%s: no such folder", given[0]);
    if (code == 0) code = build(folder);
    return code;
}
