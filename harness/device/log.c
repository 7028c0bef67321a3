#include "device/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAIL = LOG_QUOTE_MAX - 1, SEARCHED = 1 << 18 };

void log_quote(int log, off_t begin, char quote[LOG_QUOTE_MAX]) {
    static const char *const HEADLINES[] = {
        "rungs-worker: ", "rungs-emulator: ", "rungs-emulator-race: ", "ERROR: AddressSanitizer", "runtime error: "};
    quote[0] = '\0';
    char *text = calloc(1, SEARCHED + 1);
    const off_t size = lseek(log, 0, SEEK_END);
    const off_t from = size - begin > SEARCHED ? size - SEARCHED : begin;
    const ssize_t got = text && size > from ? pread(log, text, SEARCHED, from) : 0;
    const char *said = got > TAIL ? text + got - TAIL : text;
    for (size_t i = 0; got > 0 && i < sizeof HEADLINES / sizeof *HEADLINES; i++) {
        const char *headline = memmem(text, (size_t)got, HEADLINES[i], strlen(HEADLINES[i]));
        if (!headline) continue;
        said = headline;
        break;
    }
    if (got > 0) snprintf(quote, LOG_QUOTE_MAX, "%s", said);
    free(text);
    for (char *c = quote; *c; c++)
        if ((unsigned char)*c < ' ' && *c != '\n') *c = ' ';
}
