/* rungs --version: what was built, from which commit, by which compilers. */
#include "base/jsontext.h"
#include "cli/commands.h"
#include "record/environment.h"
#include "record/program.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void print_version(void) {
    json_t *environment = environment_program();
    const json_t *build = json_object_get(environment, "build");
    const char *commit = json_string_value(json_object_get(environment, "commit"));
    const bool own = strcmp(PROGRAM.project, "rungs") == 0;
    printf("%s%s%s", PROGRAM.project, own ? " " : "", own ? RUNGS_VERSION : "");
    if (commit)
        printf(" (commit %.12s%s)", commit,
               json_is_true(json_object_get(environment, "dirty")) ? ", with uncommitted changes" : "");
    if (!own) printf(" with rungs %s", RUNGS_VERSION);
    const char *const cuda = text_of(build, "cuda_compiler");
    printf("\nbuild: %s\ncompiler: %s\nCUDA compiler: %s\n", text_of(build, "type"), text_of(build, "compiler"),
           *cuda ? cuda : "none");
    json_decref(environment);
}
