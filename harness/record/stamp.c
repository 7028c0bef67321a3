#include "record/stamp.h"

#include "base/memory.h"
#include "base/output.h"
#include "base/text.h"
#include "record/facts.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

void stamp_new_session(char id[STAMP_ID_TEXT]) {
    char date[FACTS_DATE_TEXT];
    facts_date_and_id(date, id);
}

static json_t *as_json(const Stamp *stamp) {
    return json_pack("{s:s, s:i, s:s, s:i, s:i, s:i, s:i, s:o, s:o, s:i}", "session", stamp->session, "seed", stamp->seed, "side",
                     stamp->side, "process", stamp->process, "of", stamp->of, "stage", stamp->stage, "stages", stamp->stages,
                     "cpus", facts_cpus(), "cpu_quota", facts_cpu_quota(), "threads", facts_threads());
}

/* The line with the stamp, as JSON; NULL: not an environment line. */
static char *stamped(const char *line, size_t length, const Stamp *stamp) {
    json_t *parsed = json_loadb(line, length, 0, NULL);
    const char *kind = json_string_value(json_object_get(parsed, "kind"));
    char *text = NULL;
    if (kind && strcmp(kind, "environment") == 0 && json_object_set_new(parsed, "ab", as_json(stamp)) == 0)
        text = json_dumps(parsed, JSON_COMPACT);
    json_decref(parsed);
    return text;
}

static Status write_stamped(Output *out, const char *text, size_t length, const Stamp *stamp) {
    while (length > 0) {
        const char *newline = memchr(text, '\n', length);
        const size_t line = newline ? (size_t)(newline - text) : length;
        char *with = stamped(text, line, stamp);
        const Status status = with ? output_write(out, with, strlen(with)) : output_write(out, text, line);
        memory_free(with);
        TRY(status);
        if (newline) TRY(output_write(out, "\n", 1));
        text += line + (newline != NULL), length -= line + (newline != NULL);
    }
    return STATUS_OK;
}

Status stamp_lines(const char *path, off_t from, const Stamp *stamp) {
    char *text;
    size_t length;
    Output out;
    TRY(text_read_file(path, &text, &length));
    const size_t before = (size_t)from < length ? (size_t)from : length;
    Status status = output_open(path, &out);
    if (status == STATUS_OK) {
        status = output_write(&out, text, before);
        if (status == STATUS_OK) status = write_stamped(&out, text + before, length - before, stamp);
        status = output_close(&out, status);
    }
    free(text);
    return status;
}
