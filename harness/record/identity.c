#include "record/identity.h"

#include "base/memory.h"
#include "base/output.h"
#include "base/places.h"
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { PATH_TEXT = 1024 };

static uint64_t rotate(uint64_t x, int bits) {
    return x << bits | x >> (64 - bits);
}

static void mix(uint64_t v[4], int rounds) {
    for (int i = 0; i < rounds; i++) {
        v[0] += v[1], v[1] = rotate(v[1], 13) ^ v[0], v[0] = rotate(v[0], 32);
        v[2] += v[3], v[3] = rotate(v[3], 16) ^ v[2];
        v[0] += v[3], v[3] = rotate(v[3], 21) ^ v[0];
        v[2] += v[1], v[1] = rotate(v[1], 17) ^ v[2], v[2] = rotate(v[2], 32);
    }
}

static uint64_t little_endian(const unsigned char *bytes, size_t count) {
    uint64_t word = 0;
    for (size_t i = 0; i < count; i++) word |= (uint64_t)bytes[i] << 8 * i;
    return word;
}

static void absorb(uint64_t v[4], uint64_t word) {
    v[3] ^= word;
    mix(v, 2);
    v[0] ^= word;
}

uint64_t identity_hash(const unsigned char key[IDENTITY_KEY_BYTES], const void *data, size_t bytes) {
    const unsigned char *at = data;
    const uint64_t k0 = little_endian(key, 8), k1 = little_endian(key + 8, 8);
    uint64_t v[4] = {k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d), k0 ^ UINT64_C(0x6c7967656e657261),
                     k1 ^ UINT64_C(0x7465646279746573)};
    size_t left = bytes;
    for (; left >= 8; left -= 8, at += 8) absorb(v, little_endian(at, 8));
    absorb(v, (uint64_t)bytes << 56 | little_endian(at, left));
    v[2] ^= 0xff;
    mix(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static bool key_path(char path[PATH_TEXT]) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int length = PATH_TEXT;
    if (state && *state == '/')
        length = snprintf(path, PATH_TEXT, "%s/rungs/salt", state);
    else if (home && *home == '/')
        length = snprintf(path, PATH_TEXT, "%s/.local/state/rungs/salt", home);
    return length < PATH_TEXT - 32;
}

static bool read_key(const char *path, unsigned char key[IDENTITY_KEY_BYTES]) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const bool whole = file >= 0 && read(file, key, IDENTITY_KEY_BYTES) == IDENTITY_KEY_BYTES;
    if (file >= 0) close(file);
    return whole;
}

/* Under a name of its own first: of several processes that begin at once, one makes the key and all use it. */
static void make_key(char *path) {
    unsigned char key[IDENTITY_KEY_BYTES];
    char draft[PATH_TEXT + 16];
    snprintf(draft, sizeof draft, "%.*s", (int)(strrchr(path, '/') - path), path);
    (void)output_make_folder(draft, 0700);
    snprintf(draft, sizeof draft, "%s-%d", path, (int)getpid());
    const int file = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) return;
    const bool written =
        getrandom(key, sizeof key, 0) == (ssize_t)sizeof key && write(file, key, sizeof key) == (ssize_t)sizeof key;
    if (close(file) == 0 && written && link(draft, path) != 0 && errno != EEXIST) rename(draft, path);
    unlink(draft);
}

static bool find_key(unsigned char key[IDENTITY_KEY_BYTES]) {
    char path[PATH_TEXT];
    if (!key_path(path)) return false;
    if (read_key(path, key)) return true;
    make_key(path);
    return read_key(path, key);
}

json_t *identity_hidden(const char *id) {
    unsigned char key[IDENTITY_KEY_BYTES];
    if (!find_key(key)) return json_null();
    return json_sprintf("salted-%016" PRIx64, identity_hash(key, id, strlen(id)));
}

/* The length of a UUID as the driver and CUDA_VISIBLE_DEVICES have it: GPU-, MIG- or MIG-GPU-, then hexadecimal digits, also fewer
 * than all; 0: another word, such as GPU-accelerated. */
static size_t uuid_length(const char *at) {
    enum { LEAST = 4 };
    size_t start = 0, digits = 0;
    if (strncmp(at, "MIG-", 4) == 0) start = 4;
    if (strncmp(at + start, "GPU-", 4) == 0) start += 4;
    if (start == 0) return 0;
    size_t length = start;
    for (; isxdigit((unsigned char)at[length]) || at[length] == '-' || at[length] == '/'; length++)
        digits += isdigit((unsigned char)at[length]) != 0;
    return length - start >= LEAST && digits > 0 && !isalnum((unsigned char)at[length]) ? length : 0;
}

/* With every UUID of a GPU in it hidden. */
static json_t *without_uuids(const char *text) {
    Text clean = {0};
    Status status = text_append(&clean, "%s", "");
    while (*text && status == STATUS_OK) {
        char id[256];
        const size_t length = uuid_length(text);
        if (length == 0 || length >= sizeof id) {
            status = text_append(&clean, "%c", *text++);
            continue;
        }
        snprintf(id, sizeof id, "%.*s", (int)length, text);
        json_t *hidden = identity_hidden(id);
        status = text_append(&clean, "%s", json_is_string(hidden) ? json_string_value(hidden) : "hidden");
        json_decref(hidden);
        text += length;
    }
    if (status != STATUS_OK) memory_missed();
    json_t *result = status == STATUS_OK ? json_string(clean.text) : NULL;
    text_free(&clean);
    return result;
}

/* ---- Paths, which name people and projects. */

/* A path begins where no word goes on, and ends before one of these. */
static const char *const PATH_BREAKS = " \t\n\r,;:='\"`()[]{}<>|";

static bool continues_word(char c) {
    return isalnum((unsigned char)c) || strchr("._-~/+@%", c) != NULL;
}

/* "-I/usr/include": the path begins behind the letter. */
static bool is_behind_option(const char *text, const char *at) {
    return at - text >= 2 && isalpha((unsigned char)at[-1]) && at[-2] == '-' && (at - text == 2 || !continues_word(at[-3]));
}

static bool path_begins(const char *text, const char *at) {
    if (at[0] == '/' && (at[1] == '\0' || at[1] == ' ')) return false;
    if (*at != '/' && !(at[0] == '.' && at[1] == '.' && at[2] == '/') && *at != '~') return false;
    return at == text || !continues_word(at[-1]) || is_behind_option(text, at);
}

/* A home folder itself: its last word is a person. */
static bool is_home(const char *at, size_t length) {
    const char *home = getenv("HOME");
    while (length > 1 && at[length - 1] == '/') length--;
    if (home && strlen(home) == length && strncmp(at, home, length) == 0) return true;
    return strncmp(at, "/home/", 6) == 0 && length > 6 && !memchr(at + 6, '/', length - 6);
}

/* What of the path [at, at+length) may be kept: the part below the source folder, else its last word. */
static size_t harmless_part(const char *at, size_t length) {
    const char *const project = places_project("");
    const size_t source = strlen(project);
    if (length > source && strncmp(at, project, source) == 0 && at[source] == '/') return source + 1;
    size_t keep = length;
    while (keep > 0 && at[keep - 1] == '/') keep--;
    while (keep > 0 && at[keep - 1] != '/') keep--;
    return keep;
}

json_t *facts_without_folders(const char *text) {
    char *clean = malloc(strlen(text) + 1);
    if (!clean) {
        memory_missed();
        return NULL;
    }
    size_t used = 0;
    for (const char *at = text; *at;) {
        if (!path_begins(text, at)) {
            clean[used++] = *at++;
            continue;
        }
        const size_t length = strcspn(at, PATH_BREAKS);
        const bool home = is_home(at, length);
        const size_t skip = home ? length - 1 : harmless_part(at, length);
        memcpy(clean + used, home ? "~" : at + skip, length - skip);
        used += length - skip;
        at += length;
    }
    clean[used] = '\0';
    json_t *result = without_uuids(clean);
    if (!result) result = json_string("(not UTF-8)");
    free(clean);
    return result;
}
