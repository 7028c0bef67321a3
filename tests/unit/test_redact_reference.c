/* The oracles of `redact`: every sentence of the definition by hand, and a naive second implementation over every family. */
#include "redact_support.h"

#include <omp.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef struct Known {
    const char *name, *visibility; /* NULL: null */
    const char *exact, *api;       /* NULL: null */
} Known;

static const Known KNOWN[] = {
    /* the first character of what follows the first space, a space, what precedes it */
    {"John Lee", "public", "L John", "L John"},
    {"John Ronald Tolkien", "public", "R John", "R John"},
    {"J L", "public", "L J", "L J"},
    {"John ", "public", " John", NULL},
    {" Lee", "public", "L ", NULL},
    {" John Lee", "public", "J ", "L John"},
    {"John  Lee", "public", "  John", "L John"},
    {"John Lee ", "public", "L John", "L John"},
    {" ", "public", " ", NULL},
    {"  ", "public", "  ", NULL},
    /* no space: first character, a space, the whole name; nothing at all: a space */
    {"Madonna", "public", "M Madonna", NULL},
    {"M", "public", "M M", NULL},
    {"", "public", " ", NULL},
    /* only U+0020 is a space; the tokens of `api` end at any byte up to it */
    {"John\tLee", "public", "J John\tLee", "L John"},
    {"John\nLee X", "public", "X John\nLee", "L John"},
    {"\x1fJohn\x01Lee", "public", "\x1f \x1fJohn\x01Lee", "L John"},
    {"John\xc2\xa0Lee", "public", "J John\xc2\xa0Lee", NULL},
    {"John\xe3\x80\x80Lee Ono", "public", "O John\xe3\x80\x80Lee", "O John\xe3\x80\x80Lee"},
    {"John\x7fLee Ono", "public", "O John\x7fLee", "O John\x7fLee"},
    /* characters of 1 to 4 bytes, whole */
    {"J\xc3\xbcrgen \xc3\x96zt\xc3\xbcrk", "public", "\xc3\x96 J\xc3\xbcrgen", "\xc3\x96 J\xc3\xbcrgen"},
    {"\xe6\x9d\x8e \xe5\xb0\x8f\xe9\xbe\x99", "public", "\xe5\xb0\x8f \xe6\x9d\x8e", "\xe5\xb0\x8f \xe6\x9d\x8e"},
    {"A \xf0\x9f\x98\x80z", "public", "\xf0\x9f\x98\x80 A", "\xf0\x9f\x98\x80 A"},
    {"\xc3\xa9zu", "public", "\xc3\xa9 \xc3\xa9zu", NULL},
    {"\xf0\x9f\x98\x80", "public", "\xf0\x9f\x98\x80 \xf0\x9f\x98\x80", NULL},
    /* invalid UTF-8 goes through byte by byte; a truncated character ends with its row, whatever the next one begins with */
    {"A \xc3", "public", "\xc3 A", "\xc3 A"},
    {"\x80\x80\x80 B", "public", "B \x80\x80\x80", "B \x80\x80\x80"},
    {"A \xe2\x82", "public", "\xe2\x82 A", "\xe2\x82 A"},
    {"\x80 B", "public", "B \x80", "B \x80"},
    {"A \xf0\x9f\x98", "public", "\xf0\x9f\x98 A", "\xf0\x9f\x98 A"},
    {"\x80\x80\x80", "public", "\x80 \x80\x80\x80", NULL},
    {"\xf0\x9f", "public", "\xf0\x9f \xf0\x9f", NULL},
    {"A \x80W", "public", "\x80 A", "\x80 A"},
    {"A \xbf\xbf", "public", "\xbf A", "\xbf A"},
    {"A \xf8\x88\x80\x80\x80", "public", "\xf8 A", "\xf8 A"},
    {"A \xff\xff", "public", "\xff A", "\xff A"},
    {"A \xc0\xafZ", "public", "\xc0\xaf A", "\xc0\xaf A"},
    {"A \xed\xa0\x80Z", "public", "\xed\xa0\x80 A", "\xed\xa0\x80 A"},
    {"A \xf7\xbf\xbf\xbfZ", "public", "\xf7\xbf\xbf\xbf A", "\xf7\xbf\xbf\xbf A"},
    /* a lead byte takes what follows it in the row, a space too; not beyond the token, where there are tokens */
    {"A \xc3 B", "public", "\xc3  A", "\xc3 A"},
    {"A \xe2\tB", "public", "\xe2\tB A", "\xe2 A"},
    {"\xe2 A", "public", "A \xe2", "A \xe2"},
    /* who is public */
    {"John Lee", "private", "X X", "X X"},
    {"Madonna", "private", "X X", "X X"},
    {"", "private", "X X", "X X"},
    {"John Lee", "", "X X", "X X"},
    {"John Lee", "Public", "X X", "X X"},
    {"John Lee", "publi", "X X", "X X"},
    {"John Lee", "pub lic", "X X", "X X"},
    {"John Lee", "public ", "X X", "L John"},
    {"John Lee", "publication", "X X", "L John"},
    {"John Lee", "not public", "X X", "L John"},
    {"Madonna", "not public", "X X", NULL},
    /* nulls */
    {NULL, "public", NULL, NULL},
    {NULL, "private", NULL, "X X"},
    {"John Lee", NULL, NULL, "X X"},
    {"Madonna", NULL, NULL, "X X"},
    {NULL, NULL, NULL, "X X"},
};

/* Row by row, and that the rows fill the output without a gap. */
static void check_known(Redact *self, const Known *known, size_t count, int oracle) {
    redact_answer(self, oracle);
    assert_int_equal(self->out[OFFSETS].shape[0], count + 1);
    assert_int_equal(column_offset(self->out, 0), 0);
    for (size_t row = 0; row < count; row++) {
        const char *expected = oracle == API ? known[row].api : known[row].exact;
        const size_t bytes = column_bytes(self->out, row);
        if (column_valid(self->out, row) != (expected != NULL) || bytes != (expected ? strlen(expected) : 0) ||
            (expected && memcmp(column_text(self->out, row), expected, bytes) != 0))
            fail_msg("%s, row %zu, '%s' '%s': %s '%.*s', not '%s'", rungs_op_redact.bounds[oracle].name, row, known[row].name,
                     known[row].visibility, column_valid(self->out, row) ? "valid" : "null", (int)bytes,
                     (const char *)column_text(self->out, row), expected ? expected : "(null)");
    }
    assert_int_equal(column_offset(self->out, count), self->out[CHARS].shape[0]);
}

static void rows_of(const Known *known, size_t count, RedactRow *rows) {
    for (size_t i = 0; i < count; i++) rows[i] = (RedactRow){known[i].name, known[i].visibility};
}

static void hand_computed_rows(void **state) {
    (void)state;
    RedactRow rows[COUNT(KNOWN)];
    rows_of(KNOWN, COUNT(KNOWN), rows);
    for (int oracle = 0; oracle < ORACLES; oracle++)
        for (int slice = 0; slice < 2; slice++)
            for (int wide = 0; wide < 2; wide++) {
                Redact self = redact_own(wide ? DTYPE_I64 : DTYPE_I32, rows, COUNT(KNOWN), slice ? 17 : 0, slice ? 4 : 0);
                check_known(&self, KNOWN, COUNT(KNOWN), oracle);
                redact_close(&self);
            }
}

/* Each row alone: nothing comes from its neighbours, and there is nothing beside it to read. */
static void one_row_alone(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(KNOWN); i++)
        for (int oracle = 0; oracle < ORACLES; oracle++) {
            const RedactRow row = {KNOWN[i].name, KNOWN[i].visibility};
            Redact self = redact_own(DTYPE_I32, &row, 1, 0, 0);
            check_known(&self, &KNOWN[i], 1, oracle);
            redact_close(&self);
        }
}

static void validity_is_least_significant_bit_first(void **state) {
    (void)state;
    RedactRow rows[11];
    for (size_t i = 0; i < COUNT(rows); i++) rows[i] = (RedactRow){i == 0 || i == 9 ? NULL : "John Lee", i == 3 ? NULL : "public"};
    Redact self = redact_own(DTYPE_I32, rows, COUNT(rows), 0, 0);
    redact_answer(&self, EXACT);
    const unsigned char *validity = self.out[VALIDITY].data;
    assert_int_equal(self.out[VALIDITY].shape[0], 2);
    assert_int_equal(validity[0], 0xff - 1 - 8);
    assert_int_equal(validity[1], 1 + 4); /* rows 8 and 10; bits 3 to 7 belong to no row */
    assert_int_equal(self.out[CHARS].shape[0], 8 * strlen("L John"));
    redact_close(&self);
    /* One column's nulls are enough; without any there is no bitmap under `exact`, and one under `api`. */
    const RedactRow half[] = {{NULL, "public"}, {"John Lee", "public"}}, whole[] = {{"Madonna", "public"}, {"John Lee", "public"}};
    self = redact_own(DTYPE_I64, half, 2, 0, 0);
    assert_string_equal(params_text(&self.problem.params, "nulls"), "names");
    redact_answer(&self, EXACT);
    assert_int_equal(self.out[VALIDITY].shape[0], 1);
    assert_int_equal(((unsigned char *)self.out[VALIDITY].data)[0], 2);
    redact_close(&self);
    self = redact_own(DTYPE_I64, whole, 2, 0, 0);
    redact_answer(&self, EXACT);
    assert_int_equal(self.out[VALIDITY].shape[0], 0);
    redact_answer(&self, API);
    assert_int_equal(self.out[VALIDITY].shape[0], 1);
    assert_int_equal(((unsigned char *)self.out[VALIDITY].data)[0], 2);
    redact_close(&self);
}

static void no_rows(void **state) {
    (void)state;
    for (int oracle = 0; oracle < ORACLES; oracle++)
        for (int slice = 0; slice < 2; slice++) {
            Redact self = redact_own(slice ? DTYPE_I32 : DTYPE_I64, NULL, 0, slice ? 17 : 0, slice ? 4 : 0);
            check_known(&self, NULL, 0, oracle);
            assert_int_equal(self.out[VALIDITY].shape[0], 0);
            redact_close(&self);
        }
}

/* The same definitions in other words, one byte at a time into `to`; -1 for null. */
static size_t naive_width(unsigned char lead) {
    int ones = 0;
    while (ones < 8 && (lead << ones & 0x80)) ones++;
    return ones >= 2 && ones <= 4 ? (size_t)ones : 1;
}

static long naive_exact(const Redact *self, size_t row, unsigned char *to) {
    const Array *names = &self->in[NAMES], *visibilities = &self->in[VISIBILITIES];
    if (!column_valid(names, row) || !column_valid(visibilities, row)) return -1;
    const unsigned char *name = column_text(names, row);
    const size_t bytes = column_bytes(names, row);
    if (column_bytes(visibilities, row) != 6 || memcmp(column_text(visibilities, row), "public", 6) != 0)
        return (void)memcpy(to, "X X", 3), 3;
    size_t space = 0, used = 0;
    while (space < bytes && name[space] != 0x20) space++;
    const size_t first = space < bytes ? space + 1 : 0;
    for (size_t i = first; i < bytes && i < first + naive_width(name[first]); i++) to[used++] = name[i];
    to[used++] = ' ';
    for (size_t i = 0; i < space; i++) to[used++] = name[i];
    return (long)used;
}

static long naive_api(const Redact *self, size_t row, unsigned char *to) {
    const Array *names = &self->in[NAMES], *visibilities = &self->in[VISIBILITIES];
    bool public = false;
    if (column_valid(visibilities, row))
        for (size_t i = 0; i + 6 <= column_bytes(visibilities, row); i++)
            if (memcmp(column_text(visibilities, row) + i, "public", 6) == 0) public = true;
    if (public && !column_valid(names, row)) return -1;
    const unsigned char *text = public ? column_text(names, row) : (const unsigned char *)"X X";
    const size_t bytes = public ? column_bytes(names, row) : 3;
    size_t tokens = 0, starts[2] = {0, 0}, ends[2] = {0, 0};
    for (size_t i = 0; i < bytes && tokens <= 2; i++) {
        if (text[i] <= 0x20) continue;
        if (i == 0 || text[i - 1] <= 0x20) {
            if (tokens < 2) starts[tokens] = i;
            tokens++;
        }
        if (tokens <= 2) ends[tokens - 1] = i + 1;
    }
    if (tokens < 2) return -1;
    size_t used = 0;
    for (size_t i = starts[1]; i < ends[1] && i < starts[1] + naive_width(text[starts[1]]); i++) to[used++] = text[i];
    to[used++] = ' ';
    for (size_t i = starts[0]; i < ends[0]; i++) to[used++] = text[i];
    return (long)used;
}

static void check_naive(Redact *self, int oracle) {
    redact_answer(self, oracle);
    unsigned char *expected = malloc(400000);
    size_t at = 0;
    for (size_t row = 0; row < self->rows; row++) {
        const long bytes = oracle == API ? naive_api(self, row, expected) : naive_exact(self, row, expected);
        if (column_offset(self->out, row) != at) fail_msg("%s: row %zu begins elsewhere", self->text, row);
        if (column_valid(self->out, row) != (bytes >= 0)) fail_msg("%s: row %zu: validity", self->text, row);
        at += bytes < 0 ? 0 : (size_t)bytes;
        if (column_offset(self->out, row + 1) != at) fail_msg("%s: row %zu ends elsewhere", self->text, row);
        if (bytes > 0 && memcmp(column_text(self->out, row), expected, (size_t)bytes) != 0)
            fail_msg("%s: row %zu: bytes", self->text, row);
    }
    assert_int_equal(at, self->out[CHARS].shape[0]);
    if (self->out[VALIDITY].shape[0] && self->rows % 8)
        assert_int_equal(((unsigned char *)self->out[VALIDITY].data)[self->rows / 8] >> self->rows % 8, 0);
    free(expected);
}

static void every_family_agrees_with_the_naive_definition(void **state) {
    (void)state;
    static const char *const nulls[] = {"none", "some", "names", "visibilities"};
    for (const char *const *family = rungs_op_redact.families; *family; family++)
        for (int k = 0; k < 16; k++) {
            const size_t rows = strcmp(*family, "long100k") == 0 ? 40 : strcmp(*family, "long1k") == 0 ? 501 : 10007;
            Redact self = redact_open("redact rows=%zu nulls=%s slice=%s dtype=%s input=%s seed=%d", rows, nulls[k / 4],
                                      k & 1 ? "head" : "none", k & 2 ? "i64" : "i32", *family, k);
            for (int oracle = 0; oracle < ORACLES; oracle++) check_naive(&self, oracle);
            redact_close(&self);
        }
}

static void any_number_of_threads_gives_the_same_bytes(void **state) {
    (void)state;
    const int before = omp_get_max_threads();
    for (int oracle = 0; oracle < ORACLES; oracle++) {
        Redact one = redact_open("redact rows=100003 nulls=some input=utf8"), many = redact_open("%s", one.text);
        omp_set_num_threads(1);
        redact_answer(&one, oracle);
        omp_set_num_threads(5);
        redact_answer(&many, oracle);
        for (int i = 0; i < OUTPUTS; i++) {
            assert_int_equal(array_bytes(&one.out[i]), array_bytes(&many.out[i]));
            assert_memory_equal(one.out[i].data, many.out[i].data, array_bytes(&one.out[i]));
        }
        redact_close(&one);
        redact_close(&many);
    }
    omp_set_num_threads(before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hand_computed_rows),
        cmocka_unit_test(one_row_alone),
        cmocka_unit_test(validity_is_least_significant_bit_first),
        cmocka_unit_test(no_rows),
        cmocka_unit_test(every_family_agrees_with_the_naive_definition),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
