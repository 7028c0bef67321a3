/* The input families of `redact`: what the rows of a column look like, whatever the seed. A family is a table of patterns for
 * names, of which each class draws one, and a table of visibilities.
 *
 * Row i of a case is of class (i + shift) mod rows, where the seed chooses the shift; a class fixes every length, the seed and the
 * row fix the letters. Classes repeat with a prime period. So the bytes of a column are known from the case alone, and the seed
 * changes every offset and every letter, but no total. */
#include "redact.h"

#include "reference/vector.h"

#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

enum { PERIOD = 65521, PIECES_MAX = 24 };

typedef enum PieceKind {
    LETTERS,   /* `bytes` ASCII letters, the first a capital */
    CHARACTER, /* one UTF-8 character of `bytes` bytes */
    THIS_BYTE  /* this very byte */
} PieceKind;

typedef struct Piece {
    PieceKind kind;
    unsigned char byte;
    size_t bytes;
} Piece;

/* A row without its letters. A null row may own bytes. */
typedef struct Class {
    Piece piece[PIECES_MAX];
    int pieces;
    size_t name_bytes, visibility_bytes;
    const char *visibility;
    bool name_null, visibility_null;
} Class;

/* In a pattern: F, L: letters as many as first and last names have; W: 1 to 9; K: about 500; M: about 50000; 1 .. 4: a UTF-8
 * character of so many bytes; ?: one of any width. Everything else stands for itself. */
typedef struct Table {
    const char *const *texts; /* each as likely */
    uint32_t count;
} Table;

typedef struct Family {
    const char *name;
    Table patterns, visibilities;
} Family;

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
static const Family FAMILIES[] = {
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
    return (Draw){.key = rng_at(CLASS_KEY, k % PERIOD)};
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

static Piece piece_of(char pattern, Draw *draw) {
    switch (pattern) {
    case 'F':
        return (Piece){LETTERS, 0, name_length(FIRST_PERCENT, draw_next(draw))};
    case 'L':
        return (Piece){LETTERS, 0, name_length(LAST_PERCENT, draw_next(draw))};
    case 'W':
        return (Piece){LETTERS, 0, 1 + draw_next(draw) % 9};
    case 'K':
        return (Piece){LETTERS, 0, 250 + draw_next(draw) % 501};
    case 'M':
        return (Piece){LETTERS, 0, 25000 + draw_next(draw) % 50001};
    case '?':
        return (Piece){CHARACTER, 0, 1 + draw_next(draw) % 4};
    default:
        if (pattern >= '1' && pattern <= '4') return (Piece){CHARACTER, 0, (size_t)(pattern - '0')};
        return (Piece){THIS_BYTE, (unsigned char)pattern, 1};
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

/* names: with the name's pieces and bytes, which a column of visibilities does without. */
static void class_draw(int family, RedactNulls nulls, size_t k, bool names, Class *out) {
    Draw draw = draw_open(k);
    const uint64_t drop = draw_nulls(&draw, nulls, &out->name_null, &out->visibility_null);
    const char *pattern = draw_text(&FAMILIES[family].patterns, draw_next(&draw));
    out->visibility = draw_text(&FAMILIES[family].visibilities, draw_next(&draw));
    /* Every other null row owns nothing; the others keep their bytes, which must not matter. */
    if (out->name_null && (drop & 1)) pattern = "";
    if (out->visibility_null && (drop & 2)) out->visibility = "";
    out->visibility_bytes = strlen(out->visibility);
    out->name_bytes = 0;
    out->pieces = 0;
    for (; names && *pattern && out->pieces < PIECES_MAX; pattern++) {
        const Piece piece = piece_of(*pattern, &draw);
        out->piece[out->pieces++] = piece;
        out->name_bytes += piece.bytes;
    }
}

static size_t piece_width(const Piece *piece) {
    return piece->kind == LETTERS ? 1 : piece->kind == CHARACTER ? piece->bytes : redact_width(piece->byte);
}

static bool piece_is_blank(const Piece *piece) {
    return piece->kind == THIS_BYTE && piece->byte <= 0x20;
}

/* The definitions of the oracles once more, over pieces: these rows may be long, and there are 65521 of them to add up. */
static size_t exact_bytes(const Class *class) {
    if (class->name_null || class->visibility_null) return 0;
    if (strcmp(class->visibility, "public") != 0) return 3;
    if (class->pieces == 0) return 1;
    size_t before = 0;
    int p = 0;
    while (p < class->pieces && !(class->piece[p].kind == THIS_BYTE && class->piece[p].byte == ' '))
        before += class->piece[p++].bytes;
    if (p == class->pieces) return fewer(piece_width(&class->piece[0]), class->name_bytes) + 1 + before;
    const size_t after = class->name_bytes - before - 1;
    return (after ? fewer(piece_width(&class->piece[p + 1]), after) : 0) + 1 + before;
}

/* The bytes of the token that starts at or after piece *p; *p comes to its end, *first to its first piece. */
static size_t token_bytes(const Class *class, int *p, int *first) {
    while (*p < class->pieces && piece_is_blank(&class->piece[*p])) ++*p;
    *first = *p;
    size_t bytes = 0;
    while (*p < class->pieces && !piece_is_blank(&class->piece[*p])) bytes += class->piece[(*p)++].bytes;
    return bytes;
}

static size_t api_bytes(const Class *class) {
    if (class->visibility_null || !strstr(class->visibility, "public")) return 3;
    if (class->name_null) return 0;
    int p = 0, first;
    const size_t one = token_bytes(class, &p, &first), two = token_bytes(class, &p, &first);
    return two ? fewer(piece_width(&class->piece[first]), two) + 1 + one : 0;
}

static RedactSizes class_sizes(const Class *class) {
    return (RedactSizes){.names = class->name_bytes,
                         .visibilities = class->visibility_bytes,
                         .redacted = {[REDACT_EXACT] = exact_bytes(class), [REDACT_API] = api_bytes(class)}};
}

RedactSizes redact_family_sizes(int family, RedactNulls nulls, size_t rows) {
    RedactSizes total = {0};
    const size_t periods = rows / PERIOD, rest = rows % PERIOD;
    for (size_t k = 0; k < (periods ? PERIOD : rest); k++) {
        Class class;
        class_draw(family, nulls, k, true, &class);
        const RedactSizes sizes = class_sizes(&class);
        const size_t times = periods + (k < rest ? 1 : 0);
        total.names += times * sizes.names;
        total.visibilities += times * sizes.visibilities;
        for (int b = 0; b < REDACT_BOUND_COUNT; b++) total.redacted[b] += times * sizes.redacted[b];
    }
    return total;
}

/* ---- Fills the columns of a case from (seed, row) alone: any row by itself, on all cores. */

/* Four consonants to one vowel and four vowels to one consonant would not be read aloud; these alternate. */
static const char CONSONANTS[] = "bcdfghjklmnprstvzbdlmnrstlnrstnr", VOWELS[] = "aeiouaeioaeiaeiyaeiouaeioaeiaeia";

/* Random letters of one row. */
typedef struct Letters {
    uint64_t key, at, bits;
    int left; /* fives of bits */
} Letters;

static unsigned letters_five(Letters *self) {
    if (self->left == 0) {
        self->bits = rng_at(self->key, self->at++);
        self->left = 12;
    }
    const unsigned five = (unsigned)(self->bits & 31);
    self->bits >>= 5;
    self->left--;
    return five;
}

static void put_word(Letters *letters, unsigned char *to, size_t bytes) {
    for (size_t j = 0; j < bytes; j++) to[j] = (unsigned char)(j % 2 ? VOWELS : CONSONANTS)[letters_five(letters)];
    to[0] = (unsigned char)(to[0] - 'a' + 'A');
}

/* A valid character of so many bytes; never a blank, never a surrogate. */
static void put_character(Letters *letters, unsigned char *to, size_t bytes) {
    const uint64_t bits = rng_at(letters->key, letters->at++);
    uint32_t point;
    switch (bytes) {
    case 1:
        to[0] = (unsigned char)('a' + bits % 26);
        return;
    case 2:
        point = 0xc0 + (uint32_t)(bits % (0x800 - 0xc0));
        to[0] = (unsigned char)(0xc0 | point >> 6);
        break;
    case 3:
        point = 0x800 + (uint32_t)(bits % (0x10000 - 0x800 - 0x800));
        if (point >= 0xd800) point += 0x800;
        to[0] = (unsigned char)(0xe0 | point >> 12);
        break;
    default:
        point = 0x10000 + (uint32_t)(bits % 0x100000);
        to[0] = (unsigned char)(0xf0 | point >> 18);
    }
    for (size_t j = 1; j < bytes; j++) to[j] = (unsigned char)(0x80 | (point >> 6 * (bytes - 1 - j) & 0x3f));
}

static void put_name(const Class *class, Letters *letters, unsigned char *to) {
    for (int p = 0; p < class->pieces; p++) {
        const Piece *piece = &class->piece[p];
        if (piece->kind == LETTERS)
            put_word(letters, to, piece->bytes);
        else if (piece->kind == CHARACTER)
            put_character(letters, to, piece->bytes);
        else
            *to = piece->byte;
        to += piece->bytes;
    }
}

/* One of the two columns, to be filled. */
typedef struct Column {
    int family;
    RedactNulls nulls;
    size_t rows, shift;
    bool names;
    size_t before, after;      /* bytes that no row owns */
    size_t prefix[PERIOD + 1]; /* bytes of the classes 0 .. k - 1 */
} Column;

static Column *column_open(const Case *problem, bool names) {
    Column *self = calloc(1, sizeof *self);
    if (!self) return NULL;
    const bool slice = params_choice(&problem->params, "slice") != 0;
    const size_t rows = (size_t)params_int(&problem->params, "rows");
    self->family = redact_family(problem->input);
    self->nulls = (RedactNulls)params_choice(&problem->params, "nulls");
    self->rows = rows;
    self->shift = rows ? rng_at(problem->seed, UINT64_C(0x7368696674)) % rows : 0;
    self->names = names;
    self->before = !slice ? 0 : names ? REDACT_NAMES_BEFORE : REDACT_VISIBILITIES_BEFORE;
    self->after = !slice ? 0 : names ? REDACT_NAMES_AFTER : REDACT_VISIBILITIES_AFTER;
    for (size_t k = 0; k < PERIOD && k < rows; k++) {
        Class class;
        class_draw(self->family, self->nulls, k, names, &class);
        self->prefix[k + 1] = self->prefix[k] + (names ? class.name_bytes : class.visibility_bytes);
    }
    return self;
}

static size_t column_class(const Column *self, size_t row) {
    return row < self->rows - self->shift ? row + self->shift : row - (self->rows - self->shift);
}

/* Bytes of the classes 0 .. k - 1, for any k. */
static size_t column_bytes_below(const Column *self, size_t k) {
    return k / PERIOD * self->prefix[PERIOD] + self->prefix[k % PERIOD];
}

/* Where row `row` begins, from 0 to rows, both included. */
static size_t column_offset(const Column *self, size_t row) {
    const size_t to_end = self->rows - self->shift, start = column_bytes_below(self, self->shift);
    if (row <= to_end) return self->before + column_bytes_below(self, self->shift + row) - start;
    return self->before + column_bytes_below(self, self->rows) - start + column_bytes_below(self, row - to_end);
}

static void fill_offsets(const Column *column, Array *in) {
#pragma omp parallel for schedule(static)
    for (size_t row = 0; row <= column->rows; row++) redact_put_offset(in, row, column_offset(column, row));
}

static void fill_chars(const Column *column, uint64_t seed, Array *in) {
    unsigned char *chars = in->data;
    const uint64_t key = rng_at(seed, UINT64_C(0x6c657474657273));
    memset(chars, REDACT_UNOWNED_BYTE, column->before);
    memset(chars + in->shape[0] - column->after, REDACT_UNOWNED_BYTE, column->after);
#pragma omp parallel for schedule(static)
    for (size_t row = 0; row < column->rows; row++) {
        Class class;
        class_draw(column->family, column->nulls, column_class(column, row), column->names, &class);
        unsigned char *to = chars + column_offset(column, row);
        if (column->names) {
            Letters letters = {.key = rng_at(key, row)};
            put_name(&class, &letters, to);
        } else {
            memcpy(to, class.visibility, class.visibility_bytes);
        }
    }
}

static void fill_validity(const Column *column, Array *in) {
    unsigned char *validity = in->data;
    const size_t bytes = in->shape[0];
#pragma omp parallel for schedule(static)
    for (size_t b = 0; b < bytes; b++) {
        unsigned valid = 0;
        for (size_t row = 8 * b; row < 8 * b + 8 && row < column->rows; row++) {
            bool name_null, visibility_null;
            Draw draw = draw_open(column_class(column, row));
            draw_nulls(&draw, column->nulls, &name_null, &visibility_null);
            valid |= !(column->names ? name_null : visibility_null) ? 1u << (row - 8 * b) : 0;
        }
        validity[b] = (unsigned char)valid;
    }
}

/* Beside a user's own data only a validity may be missing: all of its rows are valid. */
static Status complete_own(const Case *problem, int index, Array *in) {
    if (index != REDACT_NAMES_VALIDITY && index != REDACT_VISIBILITIES_VALIDITY)
        return status_fail(STATUS_INVALID, "%s: data of your own is expected with input=%s", in->name, problem->input);
    const size_t rows = (size_t)params_int(&problem->params, "rows"), bytes = in->shape[0];
    if (bytes == 0) return STATUS_OK;
    unsigned char *validity = in->data;
    memset(validity, 0xff, bytes);
    if (rows % 8) validity[bytes - 1] = (unsigned char)((1u << rows % 8) - 1);
    return STATUS_OK;
}

Status redact_generate(const Case *problem, int index, Array *in) {
    if (redact_is_own(problem)) return complete_own(problem, index, in);
    if (array_bytes(in) == 0) return STATUS_OK;
    Column *column = column_open(problem, index < REDACT_VISIBILITIES_OFFSETS);
    if (!column) return status_fail(STATUS_MEMORY, "no memory for the classes of %s: %zu bytes", in->name, sizeof *column);
    switch (index % REDACT_VISIBILITIES_OFFSETS) {
    case REDACT_NAMES_OFFSETS:
        fill_offsets(column, in);
        break;
    case REDACT_NAMES_CHARS:
        fill_chars(column, problem->seed, in);
        break;
    default:
        fill_validity(column, in);
    }
    free(column);
    return STATUS_OK;
}
