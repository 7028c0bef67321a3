/* A family is a table of patterns for names, of which each class draws one, and a table of visibilities; see families.h. */
#include "families.h"

#include "base/rng.h"

#include <string.h>

/* In a pattern: F, L: letters as many as first and last names have; W: 1 to 9; K: about 500; M: about 50000; 1 .. 4: a UTF-8
 * character of so many bytes; ?: one of any width. Everything else stands for itself. */
typedef struct Table {
    const char *const *texts; /* each as likely */
    uint32_t count;
} Table;

typedef struct RedactFamily {
    const char *name;
    Table patterns, visibilities;
} RedactFamily;

#define SEVEN_TIMES(text) text, text, text, text, text, text, text
static const char *const MIXED[] = {SEVEN_TIMES("public"), "private", "private", "private"};
static const char *const PUBLIC[] = {"public"};
static const char *const PRIVATE[] = {"private"};
static const char *const PUBLIC_OR_EMPTY[] = {SEVEN_TIMES("public"), "private", "private", ""};
static const char *const CONTAINING[] = {"public",  "public",  "publication", "not public", "Public", "public ",
                                         " public", "private", "pub lic",     "publi",      ""};

static const char *const PERSONS[] = {"F L"};
static const char *const LONG_1K[] = {"K K"};
static const char *const LONG_100K[] = {"M M"};
static const char *const UTF8[] = {"???? ?????", "?? ???", "?????? ????????", "? ?",      "?",      "??????",  "??? ??? ???",
                                   "F ????",     "???? L", "111 1",           "222 22",   "33 333", "4444 44", "1234 4321",
                                   "2341 3",     "4 1",    "???????? ?? ",    " ????? ??"};
static const char *const EMPTY[] = {"", "", "", "", "F L", "F L", "F L", "F", "F ", " "};
static const char *const NO_SPACE[] = {"F", "L", "FL", "F-L", "?F", "W", "F L"};
static const char *const SPACES[] = {" F L",    "F  L",     "F L ",   "F ",    " F",    " ",          "  ",     "F W L",
                                     "W W W W", "F\tL",     "F\nL W", "F\rL",  "\tF L", "F \tL",      "F\x01L", "F\x1f W",
                                     "\v\f",    "F\x7fL W", "  F  L", "F L\n", "\nF\t", "F \xc2\xa0L"};
static const char *const INVALID[] = {"F \xc3",          "F \xe2\x82",   "F \xf0\x9f\x98", "F \xe2",    "F \xf0", "\xc3",
                                      "\xe2\x82",        "\xf0\x9f\x98", "\x80W L",        "F \x80W",   "F \xbf", "F \xffW",
                                      "\xfe\xff F",      "F \xc3 L",     "F \xe2 W L",     "F \xf0 L",  "\xe2 F", "\xf0 \xf0 L",
                                      "F \xed\xa0\x80W", "\xc0\xaf W",   "\xf8W W",        "F \xc3\tL", "\xf4 ",  "F\xe2\x82 L"};

#define TABLE(texts)                                                                                                               \
    { texts, sizeof(texts) / sizeof *(texts) }
static const RedactFamily FAMILIES[] = {
    {"names", TABLE(PERSONS), TABLE(MIXED)},         {"public", TABLE(PERSONS), TABLE(PUBLIC)},
    {"private", TABLE(PERSONS), TABLE(PRIVATE)},     {"long1k", TABLE(LONG_1K), TABLE(MIXED)},
    {"long100k", TABLE(LONG_100K), TABLE(MIXED)},    {"utf8", TABLE(UTF8), TABLE(MIXED)},
    {"empty", TABLE(EMPTY), TABLE(PUBLIC_OR_EMPTY)}, {"nospace", TABLE(NO_SPACE), TABLE(PUBLIC)},
    {"spaces", TABLE(SPACES), TABLE(MIXED)},         {"invalid", TABLE(INVALID), TABLE(MIXED)},
    {"contains", TABLE(PERSONS), TABLE(CONTAINING)},
};
enum { FAMILY_COUNT = sizeof FAMILIES / sizeof *FAMILIES };
const char *const REDACT_FAMILY_NAMES[] = {"names", "public",  "private", "long1k",  "long100k", "utf8",
                                           "empty", "nospace", "spaces",  "invalid", "contains", NULL};

int redact_family(const char *name) {
    for (int f = 0; f < FAMILY_COUNT; f++)
        if (strcmp(FAMILIES[f].name, name) == 0) return f;
    return -1;
}

static const uint64_t CLASS_KEY = UINT64_C(0x636c6173736573); /* any constant: classes know no seed */

/* Random numbers of one class, one after the other. */
typedef struct Draw {
    uint64_t key, at;
} Draw;

static Draw draw_open(size_t k) {
    return (Draw){.key = rng_at(CLASS_KEY, k % REDACT_PERIOD)};
}

static uint64_t draw_next(Draw *self) {
    return rng_at(self->key, self->at++);
}

/* Lengths from 3 letters on, in percent: 6.2 letters on average, and 5.5. */
static const unsigned char FIRST_PERCENT[] = {4, 12, 21, 24, 18, 10, 6, 3, 2}, LAST_PERCENT[] = {9, 19, 26, 21, 13, 7, 3, 2};

static size_t name_length(const unsigned char *percent, uint64_t bits) {
    size_t length = 3;
    for (unsigned left = (unsigned)(bits % 100); left >= *percent; length++) left -= *percent++;
    return length;
}

static RedactPiece piece_of(char pattern, Draw *draw) {
    switch (pattern) {
    case 'F':
        return (RedactPiece){REDACT_LETTERS, 0, name_length(FIRST_PERCENT, draw_next(draw))};
    case 'L':
        return (RedactPiece){REDACT_LETTERS, 0, name_length(LAST_PERCENT, draw_next(draw))};
    case 'W':
        return (RedactPiece){REDACT_LETTERS, 0, 1 + draw_next(draw) % 9};
    case 'K':
        return (RedactPiece){REDACT_LETTERS, 0, 250 + draw_next(draw) % 501};
    case 'M':
        return (RedactPiece){REDACT_LETTERS, 0, 25000 + draw_next(draw) % 50001};
    case '?':
        return (RedactPiece){REDACT_CHARACTER, 0, 1 + draw_next(draw) % 4};
    default:
        if (pattern >= '1' && pattern <= '4') return (RedactPiece){REDACT_CHARACTER, 0, (size_t)(pattern - '0')};
        return (RedactPiece){REDACT_BYTE, (unsigned char)pattern, 1};
    }
}

static const char *draw_text(const Table *table, uint64_t bits) {
    return table->texts[(uint32_t)bits % table->count];
}

/* The first number of a class is of its nulls. */
static uint64_t draw_nulls(Draw *draw, RedactNulls nulls, bool *name_null, bool *visibility_null) {
    const uint64_t bits = draw_next(draw);
    *name_null = redact_names_have_nulls(nulls) && (bits & 0xffffff) % 10 == 0;
    *visibility_null = redact_visibilities_have_nulls(nulls) && (bits >> 24 & 0xffffff) % 10 == 0;
    return bits >> 48;
}

void redact_class_nulls(RedactNulls nulls, size_t k, bool *name_null, bool *visibility_null) {
    Draw draw = draw_open(k);
    draw_nulls(&draw, nulls, name_null, visibility_null);
}

/* All but the pieces, which *pattern is for. */
static void draw_row(Draw *draw, int family, RedactNulls nulls, const char **pattern, RedactClass *out) {
    const uint64_t drop = draw_nulls(draw, nulls, &out->name_null, &out->visibility_null);
    *pattern = draw_text(&FAMILIES[family].patterns, draw_next(draw));
    out->visibility = draw_text(&FAMILIES[family].visibilities, draw_next(draw));
    /* Every other null row owns nothing; the others keep their bytes, which must not matter. */
    if (out->name_null && (drop & 1)) *pattern = "";
    if (out->visibility_null && (drop & 2)) out->visibility = "";
    out->visibility_bytes = strlen(out->visibility);
    out->name_bytes = 0;
    out->pieces = 0;
}

void redact_class_visibility(int family, RedactNulls nulls, size_t k, RedactClass *out) {
    Draw draw = draw_open(k);
    const char *pattern;
    draw_row(&draw, family, nulls, &pattern, out);
}

void redact_class(int family, RedactNulls nulls, size_t k, RedactClass *out) {
    Draw draw = draw_open(k);
    const char *pattern;
    draw_row(&draw, family, nulls, &pattern, out);
    for (; *pattern && out->pieces < REDACT_MAX_PIECES; pattern++) {
        const RedactPiece piece = piece_of(*pattern, &draw);
        out->piece[out->pieces++] = piece;
        out->name_bytes += piece.bytes;
    }
}

static size_t piece_width(const RedactPiece *piece) {
    return piece->kind == REDACT_LETTERS ? 1 : piece->kind == REDACT_CHARACTER ? piece->bytes : redact_width(piece->byte);
}

static bool piece_is_blank(const RedactPiece *piece) {
    return piece->kind == REDACT_BYTE && piece->byte <= 0x20;
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* The definitions of the oracles once more, over pieces: these rows may be long, and there are 65521 of them to add up. */
static size_t exact_bytes(const RedactClass *class) {
    if (class->name_null || class->visibility_null) return 0;
    if (strcmp(class->visibility, "public") != 0) return 3;
    if (class->pieces == 0) return 1;
    size_t before = 0;
    int p = 0;
    while (p < class->pieces && !(class->piece[p].kind == REDACT_BYTE && class->piece[p].byte == ' '))
        before += class->piece[p++].bytes;
    if (p == class->pieces) return least(piece_width(&class->piece[0]), class->name_bytes) + 1 + before;
    const size_t after = class->name_bytes - before - 1;
    return (after ? least(piece_width(&class->piece[p + 1]), after) : 0) + 1 + before;
}

/* The bytes of the token that starts at or after piece *p; *p comes to its end, *first to its first piece. */
static size_t token_bytes(const RedactClass *class, int *p, int *first) {
    while (*p < class->pieces && piece_is_blank(&class->piece[*p])) ++*p;
    *first = *p;
    size_t bytes = 0;
    while (*p < class->pieces && !piece_is_blank(&class->piece[*p])) bytes += class->piece[(*p)++].bytes;
    return bytes;
}

static size_t api_bytes(const RedactClass *class) {
    if (class->visibility_null || !strstr(class->visibility, "public")) return 3;
    if (class->name_null) return 0;
    int p = 0, first;
    const size_t one = token_bytes(class, &p, &first), two = token_bytes(class, &p, &first);
    return two ? least(piece_width(&class->piece[first]), two) + 1 + one : 0;
}

RedactSizes redact_class_sizes(const RedactClass *class) {
    return (RedactSizes){.names = class->name_bytes,
                         .visibilities = class->visibility_bytes,
                         .redacted = {[REDACT_EXACT] = exact_bytes(class), [REDACT_API] = api_bytes(class)}};
}

RedactSizes redact_family_sizes(int family, RedactNulls nulls, size_t rows) {
    RedactSizes total = {0};
    const size_t periods = rows / REDACT_PERIOD, rest = rows % REDACT_PERIOD;
    for (size_t k = 0; k < (periods ? REDACT_PERIOD : rest); k++) {
        RedactClass class;
        redact_class(family, nulls, k, &class);
        const RedactSizes sizes = redact_class_sizes(&class);
        const size_t times = periods + (k < rest ? 1 : 0);
        total.names += times * sizes.names;
        total.visibilities += times * sizes.visibilities;
        for (int b = 0; b < REDACT_BOUND_COUNT; b++) total.redacted[b] += times * sizes.redacted[b];
    }
    return total;
}
