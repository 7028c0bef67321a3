#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const double INTEGER_LIMIT = 9007199254740992.0; /* 2^53: every integer up to here is a double */

bool text_real(const char *text, double *out) {
    if (*text == '\0' || strchr(" \t\n\v\f\r", *text)) return false; /* which strtod would skip */
    char *end;
    *out = strtod(text, &end);
    return *end == '\0';
}

bool text_integer(const char *text, long long *out) {
    const char *caret = strchr(text, '^');
    if (caret) {
        char base[16];
        long long b, e;
        if (caret - text >= (ptrdiff_t)sizeof base) return false;
        memcpy(base, text, (size_t)(caret - text));
        base[caret - text] = '\0';
        if (!text_integer(base, &b) || !text_integer(caret + 1, &e) || e < 0 || b < 0) return false;
        const double value = pow((double)b, (double)e);
        if (!(value < INTEGER_LIMIT)) return false;
        *out = (long long)value;
        return true;
    }
    double value;
    if (strpbrk(text, "xXpPnN") || !text_real(text, &value)) return false; /* no hexadecimal, no "nan", no "inf" */
    if (!(fabs(value) < INTEGER_LIMIT) || value != floor(value)) return false;
    *out = (long long)value;
    return true;
}

bool text_glob(const char *pattern, const char *text) {
    const char *star = NULL,
               *resume = NULL; /* behind the last *, and where in the text it gives up next: linear in pattern x text */
    for (;;) {
        if (*pattern == '*') {
            star = ++pattern;
            resume = text;
        } else if (*text && (*pattern == '?' || *pattern == *text)) {
            pattern++;
            text++;
        } else if (*text == '\0' && *pattern == '\0') {
            return true;
        } else if (star && *resume) {
            pattern = star;
            text = ++resume;
        } else {
            return false;
        }
    }
}

static size_t edit_distance(const char *a, const char *b) {
    enum { LONGEST = 64 };
    const size_t m = strlen(a), n = strlen(b);
    if (m >= LONGEST || n >= LONGEST) return LONGEST;
    size_t row[LONGEST];
    for (size_t j = 0; j <= n; j++) row[j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            const size_t substitute = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            size_t best = row[j - 1] + 1;
            if (row[j] + 1 < best) best = row[j] + 1;
            row[j] = substitute < best ? substitute : best;
        }
    }
    return row[n];
}

const char *text_nearest(const char *word, const char *const *candidates, int count) {
    const char *nearest = NULL;
    size_t least = strlen(word) / 2 + 2;
    for (int i = 0; i < count; i++) {
        const size_t distance = edit_distance(word, candidates[i]);
        if (distance >= least) continue;
        least = distance;
        nearest = candidates[i];
    }
    return nearest;
}

Status text_append(Text *self, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const int needed = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (needed < 0) {
        va_end(again);
        return status_fail(STATUS_INTERNAL, "bad format '%s'", format);
    }
    if (self->length + (size_t)needed + 1 > self->room) {
        const size_t room = 2 * (self->length + (size_t)needed + 1);
        char *grown = realloc(self->text, room);
        if (!grown) {
            va_end(again);
            return status_fail(STATUS_MEMORY, "no memory for a text of %zu bytes", room);
        }
        self->text = grown;
        self->room = room;
    }
    vsnprintf(self->text + self->length, self->room - self->length, format, again);
    va_end(again);
    self->length += (size_t)needed;
    return STATUS_OK;
}

Status text_fail_listing(const char *nearest, const char *label, const char *const *names, int count, const char *format, ...) {
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    Text list = {0};
    Status status = STATUS_OK;
    for (int i = 0; i < count && status == STATUS_OK; i++) status = text_append(&list, "%s%s", i ? ", " : "", names[i]);
    if (status == STATUS_OK)
        status = status_fail(STATUS_INVALID, "%s%s%s%s (%s: %s)", message, nearest ? "; did you mean '" : "",
                             nearest ? nearest : "", nearest ? "'?" : "", label, list.text ? list.text : "none");
    text_free(&list);
    return status;
}

void text_free(Text *self) {
    free(self->text);
    *self = (Text){0};
}

static Status read_stream(const char *path, FILE *file, size_t most, char **out, size_t *length) {
    char piece[65536];
    size_t used = 0, got, kept;
    FILE *text = open_memstream(out, length ? length : &kept);
    bool fits = text != NULL;
    while (fits && used <= most && (got = fread(piece, 1, sizeof piece, file)) > 0) {
        fits = fwrite(piece, 1, got, text) == got;
        used += got;
    }
    if (text && fclose(text) != 0) fits = false;
    const Status status = !fits ? status_fail(STATUS_MEMORY, "%s: no memory to read it", path)
                          : used > most
                              ? status_fail(STATUS_INVALID, "%s: more than %zu MiB; such a file is not read", path, most >> 20)
                          : ferror(file) ? status_fail(STATUS_IO, "%s: cannot be read: %s", path, strerror(errno))
                                         : STATUS_OK;
    if (status == STATUS_OK) return status;
    if (text) free(*out);
    *out = NULL;
    return status;
}

Status text_read_limited(const char *path, size_t most, char **out, size_t *length) {
    struct stat facts;
    FILE *file = fopen(path, "rb");
    *out = NULL;
    if (!file) {
        const Status code = errno == ENOENT ? STATUS_INVALID : errno == ENOMEM ? STATUS_MEMORY : STATUS_IO;
        return status_fail(code, "%s: cannot be opened: %s", path, strerror(errno));
    }
    if (fstat(fileno(file), &facts) == 0 && !S_ISREG(facts.st_mode)) { /* it may have no end that one could wait for */
        const size_t less = S_ISCHR(facts.st_mode) || S_ISBLK(facts.st_mode) ? TEXT_SOURCE_MAX : TEXT_PIPE_MAX;
        most = most < less ? most : less;
    }
    const Status status = read_stream(path, file, most, out, length);
    fclose(file);
    return status;
}

Status text_read_file(const char *path, char **out, size_t *length) {
    return text_read_limited(path, SIZE_MAX, out, length);
}
