/* commit.c - a step of the build: writes the header with the commit of a project's checkout, and touches it only when that changes.
 *
 *     rungs-commit FOLDER HEADER
 */
#include "base/text.h"
#include "record/checkout.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Status header_of(const char *folder, Text *header) {
    char *commit = checkout_commit(folder), *changes = commit ? checkout_changes(folder) : NULL;
    const char *const quote = commit ? "\"" : "";
    Status status = text_append(header, "#define PROGRAM_COMMIT %s%.40s%s\n", quote, commit ? commit : "NULL", quote);
    if (status == STATUS_OK)
        status = text_append(header, "#define PROGRAM_DIRTY %s\n", !changes ? "NULL" : *changes ? "\"yes\"" : "\"no\"");
    free(commit);
    free(changes);
    return status;
}

static bool holds(const char *path, const char *text) {
    char *old = NULL;
    const bool same = text_read_file(path, &old, NULL) == STATUS_OK && strcmp(old, text) == 0;
    free(old);
    return same;
}

static bool write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    const bool good = file && fputs(text, file) >= 0;
    return file && fclose(file) == 0 && good;
}

int main(int argc, char **argv) {
    Text header = {0};
    if (argc != 3) {
        fprintf(stderr, "usage: rungs-commit FOLDER HEADER\n");
        return 2;
    }
    Status status = header_of(argv[1], &header);
    if (status == STATUS_OK && !holds(argv[2], header.text) && !write_text(argv[2], header.text))
        status = status_fail(STATUS_IO, "%s cannot be written", argv[2]);
    if (status != STATUS_OK) fprintf(stderr, "rungs-commit: %s\n", status_message());
    text_free(&header);
    return status == STATUS_OK ? 0 : 4;
}
