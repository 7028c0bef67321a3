/* The generated columns of `redact`: what they look like, that the seed changes no total. */
#include "redact_support.h"

#include <omp.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Few enough bytes for a test. */
static size_t few_rows(const char *family) {
    return strcmp(family, "long100k") == 0 ? 50 : strcmp(family, "long1k") == 0 ? 2003 : 70001; /* past the period of classes */
}

static bool is_text(const Array *column, size_t row, const char *text) {
    return column_bytes(column, row) == strlen(text) && memcmp(column_text(column, row), text, strlen(text)) == 0;
}

static double own_bytes(const Redact *self, int column) {
    return (double)(column_offset(&self->in[column], self->rows) - column_offset(&self->in[column], 0));
}

/* The published data: 37.9 bytes a row with three int32 offsets, names of 12 to 13 bytes, 70% public. */
static void names_are_like_the_published_ones(void **state) {
    (void)state;
    for (int seed = 1; seed < 4; seed++) {
        Redact self = redact_open("redact rows=600000 seed=%d", seed);
        redact_answer(&self, EXACT);
        const double rows = (double)self.rows, output = (double)self.out[CHARS].shape[0];
        size_t public = 0;
        for (size_t row = 0; row < self.rows; row++) {
            public += is_text(&self.in[VISIBILITIES], row, "public");
            if (!is_text(&self.in[VISIBILITIES], row, "public")) assert_true(is_text(&self.in[VISIBILITIES], row, "private"));
            const unsigned char *name = column_text(&self.in[NAMES], row);
            const size_t bytes = column_bytes(&self.in[NAMES], row);
            const unsigned char *space = memchr(name, ' ', bytes);
            assert_true(space >= name + 3 && space < name + bytes - 3 &&
                        !memchr(space + 1, ' ', (size_t)(name + bytes - space - 1)));
            for (size_t i = 0; i < bytes; i++) {
                const bool capital = i == 0 || name + i == space + 1;
                if (name + i != space && !(name[i] >= (capital ? 'A' : 'a') && name[i] <= (capital ? 'Z' : 'z')))
                    fail_msg("row %zu: '%.*s'", row, (int)bytes, (const char *)name);
            }
        }
        const double names = own_bytes(&self, NAMES) / rows, share = (double)public / rows;
        const double least = (own_bytes(&self, NAMES) + own_bytes(&self, VISIBILITIES) + output) / rows + 3 * 4;
        if (!(names >= 12 && names <= 13 && share >= 0.69 && share <= 0.71 && least >= 36.9 && least <= 38.9))
            fail_msg("%g bytes a name, %g public, %g bytes a row", names, share, least);
        redact_close(&self);
    }
}

/* What is valid UTF-8, by the table of the Unicode Standard (3-7). */
static bool is_utf8(const unsigned char *text, size_t bytes) {
    for (size_t i = 0; i < bytes;) {
        const unsigned char lead = text[i];
        const size_t more = lead < 0x80 ? 0 : lead >= 0xc2 && lead < 0xe0 ? 1 : lead >= 0xe0 && lead < 0xf0 ? 2 : 3;
        if ((lead >= 0x80 && lead < 0xc2) || lead > 0xf4 || more >= bytes - i) return false;
        for (size_t j = 1; j <= more; j++) {
            const unsigned char low = j > 1 ? 0x80 : lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
            const unsigned char high = j > 1 ? 0xbf : lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
            if (text[i + j] < low || text[i + j] > high) return false;
        }
        i += more + 1;
    }
    return true;
}

/* Counts over one family. */
typedef struct Survey {
    size_t rows, public, empty, spaceless, invalid, leading, doubled, trailing, blanks, longer, first[5], shortest, longest;
    size_t public_words; /* visibilities that contain "public" and are not it */
    bool one_word;       /* all visibilities are the same */
} Survey;

static Survey survey(const char *family) {
    Redact self = redact_open("redact rows=%zu input=%s", few_rows(family), family);
    redact_answer(&self, EXACT);
    Survey out = {.rows = self.rows, .shortest = (size_t)-1};
    for (size_t row = 0; row < self.rows; row++) {
        const unsigned char *name = column_text(&self.in[NAMES], row);
        const size_t bytes = column_bytes(&self.in[NAMES], row);
        const unsigned char *space = bytes ? memchr(name, ' ', bytes) : NULL, *end = name + bytes;
        char visibility[32] = "";
        memcpy(visibility, column_text(&self.in[VISIBILITIES], row), column_bytes(&self.in[VISIBILITIES], row));
        out.public += strcmp(visibility, "public") == 0;
        out.public_words += strcmp(visibility, "public") != 0 && strstr(visibility, "public") != NULL;
        out.empty += bytes == 0;
        out.spaceless += bytes > 0 && !space;
        out.invalid += !is_utf8(name, bytes);
        out.leading += space == name && bytes > 0;
        out.doubled += space && space + 1 < end && space[1] == ' ';
        out.trailing += bytes > 0 && end[-1] == ' ';
        for (size_t i = 0; i < bytes; i++) out.blanks += name[i] < ' ';
        out.longer += column_bytes(self.out, row) > bytes;
        if (space && space + 1 < end) out.first[space[1] >= 0xf0 ? 4 : space[1] >= 0xe0 ? 3 : space[1] >= 0xc0 ? 2 : 1]++;
        out.shortest = bytes < out.shortest ? bytes : out.shortest;
        out.longest = bytes > out.longest ? bytes : out.longest;
    }
    out.one_word = out.public == out.rows || strcmp(family, "private") == 0;
    redact_close(&self);
    return out;
}

static Redact open_rows(const char *family, size_t rows, int seed) {
    return redact_open("redact rows=%zu nulls=some slice=head input=%s seed=%d", rows, family, seed);
}

static void another_seed_changes_bytes_and_offsets_but_no_total(void **state) {
    (void)state;
    for (const char *const *family = rungs_op_redact.families; *family; family++) {
        Redact one = open_rows(*family, few_rows(*family), 1), two = open_rows(*family, few_rows(*family), 2);
        const bool hidden = strcmp(*family, "private") == 0, one_word = survey(*family).one_word;
        for (int i = 0; i < INPUTS; i++) {
            assert_int_equal(array_bytes(&one.in[i]), array_bytes(&two.in[i]));
            const bool same = memcmp(one.in[i].data, two.in[i].data, array_bytes(&one.in[i])) == 0;
            if (same && !(i == VISIBILITIES + CHARS && one_word))
                fail_msg("%s: seeds 1 and 2 give the same %s", *family, one.in[i].name);
        }
        for (int oracle = 0; oracle < ORACLES; oracle++) {
            redact_answer(&one, oracle);
            redact_answer(&two, oracle);
            for (int i = 0; i < OUTPUTS; i++) assert_int_equal(array_bytes(&one.out[i]), array_bytes(&two.out[i]));
            for (int i = OFFSETS; i <= CHARS && !hidden; i++)
                assert_int_not_equal(memcmp(one.out[i].data, two.out[i].data, array_bytes(&one.out[i])), 0);
        }
        redact_close(&one);
        redact_close(&two);
        one = open_rows(*family, few_rows(*family), 2), two = open_rows(*family, few_rows(*family), 2);
        for (int i = 0; i < INPUTS; i++) assert_memory_equal(one.in[i].data, two.in[i].data, array_bytes(&one.in[i]));
        redact_close(&one);
        redact_close(&two);
    }
}

static void any_number_of_threads_makes_the_same_columns(void **state) {
    (void)state;
    const int before = omp_get_max_threads();
    for (const char *const *family = rungs_op_redact.families; *family; family++) {
        omp_set_num_threads(1);
        Redact one = open_rows(*family, few_rows(*family), 3);
        omp_set_num_threads(5);
        Redact many = open_rows(*family, few_rows(*family), 3);
        for (int i = 0; i < INPUTS; i++) assert_memory_equal(one.in[i].data, many.in[i].data, array_bytes(&one.in[i]));
        redact_close(&one);
        redact_close(&many);
    }
    omp_set_num_threads(before);
}

/* Offsets rise from the first byte that a row owns to the last; beside them lies what belongs to nobody. */
static void check_column(const Redact *self, int which, size_t before, size_t after) {
    const Array *column = &self->in[which];
    const unsigned char *chars = column[CHARS].data;
    assert_int_equal(column_offset(column, 0), before);
    assert_int_equal(column_offset(column, self->rows) + after, column[CHARS].shape[0]);
    for (size_t row = 0; row < self->rows; row++)
        if (column_offset(column, row + 1) < column_offset(column, row)) fail_msg("%s: row %zu falls", self->text, row);
    for (size_t i = 0; i < before; i++) assert_int_equal(chars[i], '#');
    for (size_t i = 0; i < after; i++) assert_int_equal(chars[column[CHARS].shape[0] - 1 - i], '#');
    if (column[VALIDITY].shape[0] && self->rows % 8)
        assert_int_equal(((unsigned char *)column[VALIDITY].data)[self->rows / 8] >> self->rows % 8, 0);
}

static double bytes_of_work(Redact *self) {
    redact_answer(self, EXACT);
    double bytes = own_bytes(self, NAMES) + own_bytes(self, VISIBILITIES) + (double)self->out[CHARS].shape[0];
    bytes += (double)(array_bytes(&self->in[NAMES]) + array_bytes(&self->in[VISIBILITIES]) + array_bytes(&self->out[OFFSETS]));
    bytes += (double)(self->in[NAMES + VALIDITY].shape[0] + self->in[VISIBILITIES + VALIDITY].shape[0]);
    return bytes + (double)self->out[VALIDITY].shape[0];
}

static void sizes_and_work_are_what_the_columns_hold(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 7, 8, 9, 1000, 65520, 65521, 65522, 131049};
    static const char *const nulls[] = {"none", "some", "names", "visibilities"};
    for (const char *const *family = rungs_op_redact.families; *family; family++)
        for (size_t s = 0; s < COUNT(sizes) && sizes[s] <= 2 * few_rows(*family); s++)
            for (int k = 0; k < 4; k++) {
                const bool slice = k % 2, wide = k / 2;
                Redact self = redact_open("redact rows=%zu nulls=%s slice=%s dtype=%s input=%s seed=%zu", sizes[s], nulls[k],
                                          slice ? "head" : "none", wide ? "i64" : "i32", *family, s);
                check_column(&self, NAMES, slice ? 13 : 0, slice ? 7 : 0);
                check_column(&self, VISIBILITIES, slice ? 5 : 0, slice ? 3 : 0);
                const Work work = rungs_op_redact.work(&self.problem);
                if (work.bytes != bytes_of_work(&self) || work.flops != 0)
                    fail_msg("%s: %g bytes of work, not %g", self.text, work.bytes, bytes_of_work(&self));
                size_t most = self.out[CHARS].shape[0];
                redact_answer(&self, API);
                if (self.out[CHARS].shape[0] > most) most = self.out[CHARS].shape[0];
                assert_int_equal(self.room, most); /* the room is what the larger of both answers needs */
                redact_close(&self);
            }
}

/* Nulls: a tenth of either, independently; about half of them own bytes. */
static void nulls_are_a_tenth_and_independent(void **state) {
    (void)state;
    Redact self = redact_open("redact rows=65521 nulls=some");
    size_t count[4] = {0}, owners = 0;
    for (size_t row = 0; row < self.rows; row++) {
        const bool name = !column_valid(&self.in[NAMES], row), visibility = !column_valid(&self.in[VISIBILITIES], row);
        count[name + 2 * visibility]++;
        owners += name && column_bytes(&self.in[NAMES], row) > 0;
    }
    const double rows = (double)self.rows, names = (double)(count[1] + count[3]), visibilities = (double)(count[2] + count[3]);
    assert_true(names > 0.09 * rows && names < 0.11 * rows && visibilities > 0.09 * rows && visibilities < 0.11 * rows);
    assert_true((double)count[3] > 0.008 * rows && (double)count[3] < 0.012 * rows);
    assert_true((double)owners > 0.4 * names && (double)owners < 0.6 * names);
    redact_close(&self);
}

static void families_are_what_they_are_called(void **state) {
    (void)state;
    for (const char *const *family = rungs_op_redact.families; *family; family++)
        assert_true((strcmp(*family, "invalid") == 0) == (survey(*family).invalid > 0));
    assert_int_equal(survey("public").public, few_rows("public"));
    assert_int_equal(survey("private").public, 0);
    Survey of = survey("long1k");
    assert_true(of.shortest > 500 && of.shortest < 700 && of.longest > 1300 && of.longest < 1502);
    of = survey("long100k");
    assert_true(of.shortest > 50000 && of.longest > 100000 && of.longest < 150002);
    of = survey("utf8");
    for (int width = 1; width <= 4; width++) assert_true(of.first[width] > of.rows / 20);
    of = survey("empty");
    assert_true(of.empty > of.rows / 3 && of.empty < of.rows / 2 && of.public > of.rows / 2);
    of = survey("nospace");
    assert_true(of.spaceless > of.rows / 2 && of.longer > of.rows / 2);
    of = survey("spaces");
    const size_t some = of.rows / 50;
    assert_true(of.leading > some && of.doubled > some && of.trailing > some && of.blanks > some && of.spaceless > some);
    of = survey("invalid");
    assert_true(of.invalid > of.rows / 2);
    of = survey("contains");
    assert_true(of.public_words > of.rows / 4 && of.public > of.rows / 10 && of.public + of.public_words < of.rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_like_the_published_ones),
        cmocka_unit_test(another_seed_changes_bytes_and_offsets_but_no_total),
        cmocka_unit_test(any_number_of_threads_makes_the_same_columns),
        cmocka_unit_test(sizes_and_work_are_what_the_columns_hold),
        cmocka_unit_test(nulls_are_a_tenth_and_independent),
        cmocka_unit_test(families_are_what_they_are_called),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
