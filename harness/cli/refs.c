#include "cli/refs.h"

#include "base/places.h"
#include "base/process.h"
#include "cli/commands.h"
#include "record/checkout.h"
#include "record/program.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

Status refs_resolve(const char *ref, char commit[REFS_TEXT]) {
    char *found = checkout_resolve(places_project(""), ref);
    if (!found || !*found) {
        free(found);
        return status_fail(STATUS_INVALID, "'%s' is not a commit of this repository", ref);
    }
    snprintf(commit, REFS_TEXT, "%.*s", (int)strcspn(found, "\n"), found);
    free(found);
    return STATUS_OK;
}

/* cmake/build_ref.sh removes no build whose program is locked. The descriptor stays open until the process ends. */
static Status hold(const char *program) {
    const int file = open(program, O_RDONLY | O_CLOEXEC);
    if (file >= 0 && flock(file, LOCK_SH | LOCK_NB) == 0) return STATUS_OK;
    if (file >= 0) close(file);
    return status_fail(STATUS_IO, "%s has been removed by another process: try again", program);
}

/* A NEW that does not compile is a check that failed; a BASE that does not leaves nothing to compare with. */
static Status refused(int code, bool is_new, const char *message) {
    const Status status = code == EXIT_USAGE ? STATUS_INVALID : code == EXIT_CHECK && is_new ? STATUS_CHECK : STATUS_IO;
    return status_fail(status, "%s%.*s", code == EXIT_CHECK ? is_new ? "NEW: " : "BASE: " : "", 1000,
                       message ? message : "no build");
}

Status refs_build(const char *commit, bool is_new, char *program, size_t size) {
    const char *const python = places_project("build/python/bin/python");
    const char *const argv[] = {places_harness("cmake/build_ref.sh"),
                                places_project(""),
                                PROGRAM.project,
                                commit,
                                places_build("ab/builds"),
                                places_build(""),
                                NULL};
    Text output = {0};
    int code = 0;
    if (access(python, X_OK) == 0) setenv("RUNGS_PYTHON", python, 0); /* a worktree has none of its own */
    fprintf(stderr, "rungs ab: building %.12s\n", commit);
    Status status = process_capture(argv, NULL, &output, &code);
    if (status == STATUS_OK) {
        if (output.length > 0 && output.text[output.length - 1] == '\n') output.text[output.length - 1] = '\0';
        if (code != 0)
            status = refused(code, is_new, output.text);
        else
            snprintf(program, size, "%s", output.text);
    }
    text_free(&output);
    return status == STATUS_OK ? hold(program) : status;
}

void refs_tell(const char *new_ref, const char *base_program, const char *new_program) {
    char *changes = strcmp(new_ref, "HEAD") == 0 ? checkout_changes(places_project("")) : NULL;
    if (changes && *changes)
        fprintf(stderr,
                "rungs ab: warning: NEW is HEAD; uncommitted changes (%.*s%s) are in neither build. Commit "
                "them, or build both sides and name the programs\n",
                (int)strcspn(changes, "\n"), changes, strchr(changes, '\n') ? ", ..." : "");
    free(changes);
    if (strcmp(base_program, new_program) == 0)
        fprintf(stderr, "rungs ab: warning: BASE and NEW are the same commit; any difference is this machine's noise\n");
}
