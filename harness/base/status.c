#include "base/status.h"

#include "base/foreign.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_MAX = 4096 };

static _Thread_local char last_message[MESSAGE_MAX];

Status status_fail(Status code, const char *format, ...) {
    char text[MESSAGE_MAX]; /* the arguments may point into last_message */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    foreign_make_utf8(text);
    foreign_text(text, true, last_message, sizeof last_message);
    return code == STATUS_OK ? STATUS_INTERNAL : code;
}

Status status_prefix(Status code, const char *format, ...) {
    if (code == STATUS_OK) return code;
    char text[MESSAGE_MAX];
    va_list arguments;
    va_start(arguments, format);
    const int used = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (used < 0 || (size_t)used >= sizeof text) return code;
    const size_t room = sizeof text - (size_t)used - 1;
    const size_t length = strlen(last_message) < room ? strlen(last_message) : room;
    memcpy(text + used, last_message, length);
    text[(size_t)used + length] = '\0';
    foreign_make_utf8(text);
    foreign_text(text, true, last_message, sizeof last_message);
    return code;
}

const char *status_message(void) {
    return last_message;
}

const char *status_word(Status code) {
    static const char *const words[] = {"ok", "invalid", "unsupported", "io", "memory", "device", "check", "internal"};
    return (size_t)code < sizeof words / sizeof *words ? words[code] : "unknown";
}
