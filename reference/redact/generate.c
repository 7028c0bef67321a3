/* Fills the columns of a case from (seed, row) alone: any row by itself, on all cores. See families.h. */
#include "families.h"

#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

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

static void put_name(const RedactClass *class, Letters *letters, unsigned char *to) {
    for (int p = 0; p < class->pieces; p++) {
        const RedactPiece *piece = &class->piece[p];
        if (piece->kind == REDACT_LETTERS)
            put_word(letters, to, piece->bytes);
        else if (piece->kind == REDACT_CHARACTER)
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
    size_t before, after;             /* bytes that no row owns */
    size_t prefix[REDACT_PERIOD + 1]; /* bytes of the classes 0 .. k - 1 */
} Column;

/* The class as far as its column needs it. */
static void column_draw(const Column *self, size_t k, RedactClass *out) {
    (self->names ? redact_class : redact_class_visibility)(self->family, self->nulls, k, out);
}

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
    for (size_t k = 0; k < REDACT_PERIOD && k < rows; k++) {
        RedactClass class;
        column_draw(self, k, &class);
        self->prefix[k + 1] = self->prefix[k] + (names ? class.name_bytes : class.visibility_bytes);
    }
    return self;
}

static size_t column_class(const Column *self, size_t row) {
    return row < self->rows - self->shift ? row + self->shift : row - (self->rows - self->shift);
}

/* Bytes of the classes 0 .. k - 1, for any k. */
static size_t column_bytes_below(const Column *self, size_t k) {
    return k / REDACT_PERIOD * self->prefix[REDACT_PERIOD] + self->prefix[k % REDACT_PERIOD];
}

/* Where row `row` begins, from 0 to rows, both included. */
static size_t column_offset(const Column *self, size_t row) {
    const size_t to_end = self->rows - self->shift, start = column_bytes_below(self, self->shift);
    if (row <= to_end) return self->before + column_bytes_below(self, self->shift + row) - start;
    return self->before + column_bytes_below(self, self->rows) - start + column_bytes_below(self, row - to_end);
}

static void fill_offsets(const Column *column, Array *in) {
    int32_t *i32 = in->dtype == DTYPE_I32 ? in->data : NULL;
    int64_t *i64 = in->dtype == DTYPE_I64 ? in->data : NULL;
#pragma omp parallel for schedule(static)
    for (size_t row = 0; row <= column->rows; row++) {
        const size_t offset = column_offset(column, row);
        if (i32)
            i32[row] = (int32_t)offset;
        else
            i64[row] = (int64_t)offset;
    }
}

static void fill_chars(const Column *column, uint64_t seed, Array *in) {
    unsigned char *chars = in->data;
    const uint64_t key = rng_at(seed, UINT64_C(0x6c657474657273));
    memset(chars, REDACT_UNOWNED_BYTE, column->before);
    memset(chars + in->shape[0] - column->after, REDACT_UNOWNED_BYTE, column->after);
#pragma omp parallel for schedule(static)
    for (size_t row = 0; row < column->rows; row++) {
        RedactClass class;
        column_draw(column, column_class(column, row), &class);
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
            redact_class_nulls(column->nulls, column_class(column, row), &name_null, &visibility_null);
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
