#include "record/trace.h"

#include "base/memory.h"
#include "base/output.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RANGES_ROW = 0 }; /* ranges above the streams, whose numbers begin at 1 */

static json_t *name_row(const char *what, json_int_t process, json_int_t row, const char *name) {
    return json_pack("{s:s, s:s, s:I, s:I, s:{s:s}}", "ph", "M", "name", what, "pid", process, "tid", row, "args", "name", name);
}

/* A range that was never closed has no end: it is shown as a beginning only. */
static json_t *event_of(const json_t *event, json_int_t process) {
    static const char *const ARGUMENTS[] = {"registers", "shared_bytes", "grid", "block", "bytes", "stream"};
    const char *kind = json_string_value(json_object_get(event, "kind"));
    const bool range = kind && strcmp(kind, "range") == 0;
    const double begin = json_number_value(json_object_get(event, "begin"));
    const json_t *end = json_object_get(event, "end");
    json_t *arguments = json_object();
    for (size_t i = 0; i < sizeof ARGUMENTS / sizeof *ARGUMENTS; i++)
        if (json_object_get(event, ARGUMENTS[i])) json_object_set(arguments, ARGUMENTS[i], json_object_get(event, ARGUMENTS[i]));
    json_t *out =
        json_pack("{s:O, s:s, s:s, s:f, s:I, s:I, s:o}", "name", json_object_get(event, "name"), "cat", kind ? kind : "", "ph",
                  json_is_number(end) ? "X" : "B", "ts", begin, "pid", process, "tid",
                  range ? (json_int_t)RANGES_ROW : json_integer_value(json_object_get(event, "stream")), "args", arguments);
    if (json_is_number(end)) json_object_set_new(out, "dur", json_real(json_number_value(end) - begin));
    return out;
}

static void name_streams(json_t *all, json_int_t process, const json_t *events) {
    json_t *named = json_object(), *event;
    size_t i;
    json_array_foreach((json_t *)events, i, event) {
        const char *kind = json_string_value(json_object_get(event, "kind"));
        const json_int_t stream = json_integer_value(json_object_get(event, "stream"));
        char name[64];
        snprintf(name, sizeof name, "stream %lld", (long long)stream);
        if (!kind || strcmp(kind, "range") == 0 || json_object_get(named, name)) continue;
        json_object_set_new(named, name, json_true());
        json_array_append_new(all, name_row("thread_name", process, stream, name));
    }
    json_decref(named);
}

static const char HEAD[] = "{\n \"traceEvents\"";

Status trace_begin(const char *path) {
    char head[sizeof HEAD] = "";
    struct stat facts;
    if (stat(path, &facts) != 0) { /* can it be made? */
        Output probe;
        TRY(output_open(path, &probe));
        (void)output_close(&probe, STATUS_CHECK);
        return STATUS_OK;
    }
    if (!S_ISREG(facts.st_mode))
        return status_fail(STATUS_INVALID, "%s: a timeline is written call by call: a regular file is expected", path);
    FILE *file = fopen(path, "r+");
    if (!file) return status_fail(STATUS_IO, "%s: the timeline cannot be written: %s", path, strerror(errno));
    const size_t got = fread(head, 1, sizeof HEAD - 1, file);
    Status status = got > 0 && strcmp(head, HEAD) != 0
                        ? status_fail(STATUS_INVALID, "%s: not a timeline; left unchanged. Name another file", path)
                        : STATUS_OK;
    if (status == STATUS_OK && ftruncate(fileno(file), 0) != 0)
        status = status_fail(STATUS_IO, "%s: the timeline cannot be written: %s", path, strerror(errno));
    fclose(file);
    return status;
}

static Status write_trace(const char *path, const json_t *trace) {
    Output file;
    char *text = json_dumps(trace, JSON_INDENT(1));
    if (!text) return status_fail(STATUS_MEMORY, "%s: no memory for the timeline", path);
    Status status = output_open(path, &file);
    if (status == STATUS_OK) status = output_close(&file, output_write(&file, text, strlen(text)));
    memory_free(text);
    return status;
}

Status trace_append(const char *path, const char *title, const json_t *events) {
    json_error_t error;
    json_t *trace = NULL;
    struct stat facts;
    if (stat(path, &facts) == 0 && facts.st_size > 0) {
        trace = json_load_file(path, 0, &error);
        if (!trace) return status_fail(STATUS_INVALID, "%s:%d: no timeline to add to: %s", path, error.line, error.text);
    } else {
        trace = json_pack("{s:[], s:s}", "traceEvents", "displayTimeUnit", "ns");
    }
    json_t *all = json_object_get(trace, "traceEvents"), *event;
    size_t i = json_array_size(all);
    const json_int_t process = json_integer_value(json_object_get(json_array_get(all, i - 1), "pid")) + 1; /* the last one's + 1 */
    json_array_append_new(all, name_row("process_name", process, RANGES_ROW, title));
    json_array_append_new(all, name_row("thread_name", process, RANGES_ROW, "ranges (host)"));
    name_streams(all, process, events);
    json_array_foreach((json_t *)events, i, event) json_array_append_new(all, event_of(event, process));
    const Status status =
        json_is_array(all) ? write_trace(path, trace) : status_fail(STATUS_INVALID, "%s: no timeline to add to", path);
    json_decref(trace);
    return status;
}
