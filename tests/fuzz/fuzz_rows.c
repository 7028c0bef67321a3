/* Whatever a results file holds: it is read or refused with its path; a file that is refused for writing stays as it was; one that
 * is appended to keeps its rows and can be read; --resume runs what has no row, and nothing twice. */
#include "base/jsontext.h"
#include "fuzz.h"
#include "pipeline/run.h"
#include "record/row.h"

#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void require_same_bytes(int fd, const uint8_t *bytes, size_t size) {
    uint8_t *now = malloc(size + 1);
    REQUIRE(now && pread(fd, now, size + 1, 0) == (ssize_t)size && memcmp(now, bytes, size) == 0);
    free(now);
}

static void append(RowFile *file, const char *path, const json_t *before) {
    json_t *row = json_pack("{s:s, s:i}", "kind", "ceilings", "schema", ROW_SCHEMA_VERSION), *after = NULL;
    REQUIRE(rowfile_append(file, row) == STATUS_OK);
    REQUIRE(rowfile_read(path, &after) == STATUS_OK);
    const size_t last = json_array_size(after) - 1;
    REQUIRE(json_equal(json_array_get(after, last), row));
    if (before) {
        json_array_remove(after, last);
        REQUIRE(json_equal(after, before));
    }
    json_decref(after);
    json_decref(row);
}

/* Another file with the same lines. */
static void replace(const json_t *lines) {
    const char *folder = getenv("TMPDIR");
    char path[512];
    json_t *again = NULL;
    snprintf(path, sizeof path, "%.400s/rungs-fuzz-%d.jsonl", folder ? folder : "/tmp", (int)getpid());
    REQUIRE(rowfile_replace(path, lines) == STATUS_OK && rowfile_read(path, &again) == STATUS_OK && json_equal(again, lines));
    json_decref(again);
    unlink(path);
}

/* What no content of a file leads to: a FIFO, which only takes rows, a missing folder, a number that JSON has not, a file that is
 * removed while it is written. Once. */
static void check_others(void) {
    static bool done;
    const char *folder = getenv("TMPDIR");
    char path[512], got[64] = "";
    RowFile *file = NULL;
    bool cut;
    json_t *row = json_pack("{s:o}", "x", json_number_or_null(NAN));
    if (!done) {
        snprintf(path, sizeof path, "%.400s/rungs-fuzz-%d.fifo", folder ? folder : "/tmp", (int)getpid());
        REQUIRE(mkfifo(path, 0600) == 0);
        const int reader = open(path, O_RDONLY | O_NONBLOCK);
        REQUIRE(rowfile_open(path, &file, &cut) == STATUS_OK && !rowfile_can_be_read(file) &&
                rowfile_append(file, row) == STATUS_OK);
        REQUIRE(read(reader, got, sizeof got - 1) > 0 && strcmp(got, "{\"x\":null}\n") == 0);
        rowfile_close(file);
        close(reader);
        unlink(path);
        REQUIRE(fuzz_refused(rowfile_open("/no/such/folder/rows", &file, &cut), "/no/such/folder/rows"));
        REQUIRE(rowfile_open(path, &file, &cut) == STATUS_OK && unlink(path) == 0 && rowfile_append(file, row) == STATUS_IO);
        const char *saved = strstr(status_message(), ".saved-");
        REQUIRE(saved && strlen(saved) == sizeof ".saved-XXXXXX" - 1);
        strcat(path, saved);
        REQUIRE(unlink(path) == 0);
        rowfile_close(file);
    }
    done = true;
    json_decref(row);
}

void fuzz_rows(const uint8_t *bytes, size_t size) {
    char path[FUZZ_PATH_MAX];
    const int fd = fuzz_file(bytes, size, path);
    json_t *before = NULL;
    RowFile *file = NULL;
    bool cut = false;
    check_others();
    const Status status = rowfile_read(path, &before);
    REQUIRE(status == STATUS_OK || (fuzz_refused(status, path) && !before));
    if (before && size % 16 == 0) replace(before); /* files are slow: not for each */
    if (rowfile_open(path, &file, &cut) == STATUS_OK) {
        append(file, path, before);
        rowfile_close(file);
    } else {
        REQUIRE(strstr(status_message(), path));
        require_same_bytes(fd, bytes, size);
    }
    json_decref(before);
    close(fd);
}

/* Reasons are not looked at here. */
json_t *facts_without_folders(const char *text) {
    return json_string(text);
}

static bool is_emulated(const json_t *row) {
    return strcmp(text_of(row, "backend"), "emulator") == 0;
}

static bool is_same(const json_t *a, const json_t *b) {
    return is_emulated(a) == is_emulated(b) && strcmp(text_of(a, "case"), text_of(b, "case")) == 0 &&
           strcmp(text_of(a, "spec"), text_of(b, "spec")) == 0;
}

/* A row of the device stands for one row of the plan, an emulated one for all that shrink to it; an error stands for none. */
static ResumeAnswer expected(const json_t *rows, size_t index) {
    const json_t *row = json_array_get(rows, index);
    long there = 0;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *other = json_array_get(rows, i);
        if (strcmp(text_of(other, "kind"), "row") != 0 || !is_same(row, other)) continue;
        there += strcmp(text_of(other, "verdict"), "error") != 0;
        if (i < index && !is_emulated(row)) there--; /* asked before */
    }
    return there > 0 ? RESUME_DONE : RESUME_RUN;
}

/* The line as the pipeline has it; its counts are those of every row. */
static Row row_of(const json_t *line) {
    Row row = {.emulated = is_emulated(line), .seconds_spent = json_number_value(json_object_get(line, "seconds_spent"))};
    snprintf(row.text, sizeof row.text, "%s", text_of(line, "case"));
    snprintf(row.spec, sizeof row.spec, "%s", text_of(line, "spec"));
    row.counts = counts_none();
    row.counts.any = true;
    row.counts.copies = 7;
    return row;
}

void fuzz_resume(const uint8_t *bytes, size_t size) {
    char path[FUZZ_PATH_MAX];
    const int fd = fuzz_file(bytes, size, path);
    json_t *rows = NULL;
    Resume done;
    const Status read = rowfile_read(path, &rows), opened = resume_open(path, &done);
    REQUIRE(read == opened);
    for (size_t i = 0; opened == STATUS_OK && i < json_array_size(rows); i++) {
        json_t *row = json_array_get(rows, i);
        if (strcmp(text_of(row, "kind"), "row") != 0) continue;
        Row asked = row_of(row);
        ResumeAnswer answer;
        REQUIRE(resume_ask(&done, &asked, &answer) == STATUS_OK && answer == expected(rows, i));
        REQUIRE(resume_seconds(&done, &asked) >= asked.seconds_spent);
        row_free(&asked);
    }
    for (size_t i = 0; opened == STATUS_OK && i < json_array_size(rows); i++) {
        json_t *row = json_array_get(rows, i);
        Row ran = row_of(row), further = row_of(row);
        ResumeAnswer answer;
        REQUIRE(resume_took(&done, &ran) == STATUS_OK);
        REQUIRE(resume_ask(&done, &ran, &answer) == STATUS_OK && (answer == RESUME_REPEATED) == ran.emulated);
        resume_counted(&done, &ran);
        further.counts = counts_none();
        REQUIRE(resume_counts(&done, &further) && further.counts.copies == 7);
        row_free(&ran), row_free(&further);
    }
    resume_close(&done);
    json_decref(rows);
    close(fd);
}
