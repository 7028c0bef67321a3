#include "cli/columns.h"

#include "base/output.h"
#include "base/places.h"
#include "cli/python.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const PARTS[COLUMN_PARTS] = {"offsets", "chars", "validity"};

/* Has the op all parts of a column of this name? */
static bool is_column(const char *name, const Array *arrays, int count) {
    for (int p = 0; p < COLUMN_PARTS; p++) {
        char part[PAIR_NAME_MAX + 16];
        snprintf(part, sizeof part, "%s.%s", name, PARTS[p]);
        if (!array_find(arrays, count, part)) return false;
    }
    return true;
}

/* The columns' parts, as files of ours, join the pairs; there: those that are there, as a column without nulls has no validity. */
static Status add_parts(Columns *self, const Pairs *columns, bool there, Pairs *pairs) {
    for (int k = 0; k < columns->count; k++)
        for (int p = 0; p < COLUMN_PARTS; p++) {
            words_add(&self->paths, "%s/%s.%s.npy", self->folder.path, columns->names[k], PARTS[p]);
            TRY(self->paths.status);
            const char *path = self->paths.words[self->paths.count - 1];
            if (there && access(path, F_OK) != 0) continue;
            char part[PAIR_NAME_MAX + 16];
            const int length = snprintf(part, sizeof part, "%s.%s", columns->names[k], PARTS[p]);
            if (!pairs_add(pairs, part, (size_t)length, path))
                return status_fail(STATUS_INVALID, "%s: too many arrays are given", columns->names[k]);
        }
    return STATUS_OK;
}

/* Moves the columns among `pairs` to `columns`. */
static void take_columns(const Array *arrays, int count, Pairs *pairs, Pairs *columns) {
    Pairs rest = {0};
    for (int k = 0; k < pairs->count; k++) {
        const char *const name = pairs->names[k];
        pairs_add(is_column(name, arrays, count) ? columns : &rest, name, strlen(name), pairs->values[k]);
    }
    *pairs = rest;
}

static Status given_once(const char *option, const Pairs *columns) {
    for (int k = 0; k < columns->count; k++)
        for (int j = 0; j < k; j++)
            if (strcmp(columns->names[j], columns->names[k]) == 0)
                return status_fail(STATUS_INVALID, "--%s %s: given twice", option, columns->names[k]);
    return STATUS_OK;
}

/* Said before anything is computed. */
static Status arrow_expected(const Pairs *columns) {
    static const char *const ENDINGS[] = {".arrow", ".ipc", ".feather"};
    for (int k = 0; k < columns->count; k++) {
        const char *ending = strrchr(columns->values[k], '.');
        bool known = false;
        for (int i = 0; i < 3 && ending; i++) known = known || strcmp(ending, ENDINGS[i]) == 0;
        if (!known)
            return status_fail(STATUS_INVALID, "--out %s=%s: a column of strings goes to a file named .arrow, .ipc or .feather",
                               columns->names[k], columns->values[k]);
    }
    return STATUS_OK;
}

/* What the script says when it fails is the message. */
static Status call_script(const Columns *self, const char *what, const char *dtype, const Pairs *columns, Text *output) {
    Words words = {0};
    int code = 0;
    words_add(&words, "%s", what);
    words_add(&words, "%s", self->folder.path);
    if (dtype) words_add(&words, "--dtype=%s", dtype);
    for (int k = 0; k < columns->count; k++) words_add(&words, "%s=%s", columns->names[k], columns->values[k]);
    const Status status = python_run(places_harness("harness/cli/columns.py"), &words, output, &code);
    words_free(&words);
    if (status != STATUS_OK || code == 0) return status;
    while (output->length > 0 && output->text[output->length - 1] == '\n') output->text[--output->length] = '\0';
    static const Status CODES[] = {[2] = STATUS_INVALID, [4] = STATUS_UNSUPPORTED, [5] = STATUS_IO};
    const bool known = code < (int)(sizeof CODES / sizeof *CODES) && CODES[code] != STATUS_OK;
    return status_fail(known ? CODES[code] : STATUS_INTERNAL, "%s",
                       output->text ? output->text : "columns.py failed without a message");
}

Status columns_open(Columns *self, ColumnSide in, ColumnSide out, const char *dtype) {
    Pairs inputs = {0};
    take_columns(in.arrays, in.count, in.given, &inputs);
    take_columns(out.arrays, out.count, out.given, &self->out);
    TRY(given_once("in", &inputs));
    TRY(given_once("out", &self->out));
    TRY(arrow_expected(&self->out));
    if (inputs.count + self->out.count == 0) return STATUS_OK;
    TRY(temporary_folder(&self->folder));
    if (inputs.count > 0) {
        Text output = {0};
        const Status status = call_script(self, "read", dtype, &inputs, &output);
        text_free(&output);
        TRY(status);
    }
    TRY(add_parts(self, &inputs, true, in.given));
    return add_parts(self, &self->out, false, out.given);
}

bool columns_own(const Columns *self, const char *path) {
    for (int k = 0; k < self->paths.count; k++)
        if (path == self->paths.words[k]) return true;
    return false;
}

/* The script writes to files that are opened here, so that they go the way of every output. */
static Status open_outputs(const Pairs *columns, Output *files, char (*texts)[OUTPUT_PATH_MAX + 16], Pairs *handed) {
    for (int k = 0; k < columns->count; k++) {
        TRY(output_open(columns->values[k], &files[k]));
        if (fcntl(files[k].descriptor, F_SETFD, 0) != 0)
            return status_fail(STATUS_IO, "%s: %s", columns->values[k], strerror(errno));
        snprintf(texts[k], sizeof texts[k], "%d:%s", files[k].descriptor, columns->values[k]);
        pairs_add(handed, columns->names[k], strlen(columns->names[k]), texts[k]);
    }
    return STATUS_OK;
}

Status columns_write(Columns *self) {
    if (self->out.count == 0) return STATUS_OK;
    Output files[OP_MAX_ARRAYS];
    char texts[OP_MAX_ARRAYS][OUTPUT_PATH_MAX + 16];
    Pairs handed = {0};
    Text output = {0};
    for (int k = 0; k < OP_MAX_ARRAYS; k++) files[k].descriptor = -1;
    Status status = open_outputs(&self->out, files, texts, &handed);
    if (status == STATUS_OK) status = call_script(self, "write", NULL, &handed, &output);
    for (int k = 0; k < self->out.count; k++) status = output_close(&files[k], status);
    if (status == STATUS_OK && output.text) fputs(output.text, stdout);
    text_free(&output);
    return status;
}

void columns_close(Columns *self) {
    words_free(&self->paths);
    if (self->folder.path[0]) temporary_folder_remove(&self->folder);
}
