/* command.c - runs a program and records its output, or why it failed. */
#include "base/process.h"
#include "record/facts.h"

#include <stdio.h>

enum { ANSWER_MAX = 1 << 20 };

char *facts_command(const char *const argv[], double seconds, char *why, size_t why_size) {
    const ProcessLimits limits = {.seconds = seconds, .bytes = ANSWER_MAX, .quiet_errors = true};
    Text answer = {0};
    int exit_code = 0;
    Status status = process_capture(argv, &limits, &answer, &exit_code);
    while (answer.length > 0 && answer.text[answer.length - 1] == '\n') answer.text[--answer.length] = '\0';
    if (status == STATUS_OK && exit_code != 0)
        status = status_fail(STATUS_IO, "%s failed: %.160s", argv[0], answer.length ? answer.text : "no output");
    if (status == STATUS_OK && answer.length == 0) status = text_append(&answer, "%s", "");
    if (status == STATUS_OK) return answer.text;
    snprintf(why, why_size, "%s", status_message());
    text_free(&answer);
    return NULL;
}
