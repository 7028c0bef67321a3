#include "base/foreign.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN_MAX = 2000, BUFFERS = 16 };

/* Bytes of the UTF-8 sequence at `at`, 0 if it is none (RFC 3629: shortest form, no surrogates, up to U+10FFFF). */
static size_t utf8_length(const unsigned char *at) {
    const unsigned char lead = at[0];
    if (lead < 0x80) return 1;
    const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4) return 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80) return 0; /* the terminating zero is caught here too */
    if (lead == 0xe0 && at[1] < 0xa0) return 0;
    if (lead == 0xed && at[1] >= 0xa0) return 0;
    if (lead == 0xf0 && at[1] < 0x90) return 0;
    return lead == 0xf4 && at[1] >= 0x90 ? 0 : length;
}

/* The next character and its length in bytes; a byte that begins no character counts as one. */
static unsigned next(const char *text, int *length) {
    const unsigned char *at = (const unsigned char *)text;
    const size_t bytes = utf8_length(at);
    *length = bytes ? (int)bytes : 1;
    return bytes < 2    ? at[0]
           : bytes == 2 ? (at[0] & 0x1fu) << 6 | (at[1] & 0x3fu)
           : bytes == 3 ? (at[0] & 0x0fu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu)
                        : 0x10000;
}

static bool steers(unsigned letter) {
    return letter < 0x20 || (letter >= 0x7f && letter < 0xa0) || letter == 0x61c || letter == 0x200e || letter == 0x200f ||
           (letter >= 0x2028 && letter <= 0x202e) || (letter >= 0x2066 && letter <= 0x2069);
}

void foreign_text(const char *text, bool lines, char *out, size_t size) {
    size_t used = 0;
    bool begins = true; /* only blanks since the line began */
    *out = '\0';
    for (int length; *text; text += length) {
        char word[12];
        const unsigned letter = next(text, &length);
        if (letter == '\r' && text[1] == '\n') continue;
        const bool blank = letter == ' ' || letter == '\t' || letter == '\n',
                   command = (begins && strncmp(text, "::", 2) == 0) || strncmp(text, "##[", 3) == 0;
        if (blank)
            snprintf(word, sizeof word, "%c", lines ? (char)letter : ' ');
        else if (command || steers(letter))
            snprintf(word, sizeof word, letter < 0x100 ? "\\x%02x" : "\\u%04x", letter);
        else
            snprintf(word, sizeof word, "%.*s", length, text);
        begins = (lines && letter == '\n') || (begins && blank);
        if (used + strlen(word) >= size) return;
        strcpy(out + used, word);
        used += strlen(word);
    }
}

const char *foreign_shown(const char *text) {
    static _Thread_local char buffers[BUFFERS][SHOWN_MAX];
    static _Thread_local unsigned turn;
    char *out = buffers[turn++ % BUFFERS];
    foreign_text(text, false, out, SHOWN_MAX);
    return out;
}

void foreign_make_utf8(char *text) {
    while (*text) {
        const size_t length = utf8_length((const unsigned char *)text);
        if (length == 0) *text = '?';
        text += length ? length : 1;
    }
}
