/* The bounds of `discounted_cumsum`: right algorithms pass in their own precision, whatever order they work in, and wrong ones that
 * are nearly right do not. */
/* needs: discounted_cumsum */
#include "discount_rows.h"

/* Stage s joins groups of 2^s; `stages_lost` of the last are left out. No resets. */
static void tree(Row *row, int stages_lost) {
    memcpy(row->y, row->x, row->n * sizeof(double));
    int stages = 0;
    while (((size_t)1 << stages) < row->n) stages++;
    for (int s = 0; s < stages - stages_lost; s++) {
        const size_t half = (size_t)1 << s;
        for (size_t begin = 0; begin + half < row->n; begin += 2 * half)
            for (size_t k = 0; k < half && begin + half + k < row->n; k++) {
                double *y = &row->y[begin + half + k];
                *y = rounded(row, *y + rounded(row, row->y[begin + half - 1] * power(row, k + 1)));
            }
    }
}

/* Blocks from nothing, then what is carried in times a running product. */
static void blocks(Row *row, size_t size) {
    double carry = 0;
    for (size_t begin = 0; begin < row->n; begin += size) {
        double sum = 0, factor = 1;
        for (size_t p = begin; p < row->n && p < begin + size; p++) {
            sum = rounded(row, rounded(row, row->gamma * sum) + row->x[p]);
            factor = rounded(row, factor * row->gamma);
            row->y[p] = rounded(row, sum + rounded(row, factor * carry));
        }
        carry = row->y[(begin + size < row->n ? begin + size : row->n) - 1];
    }
}

static void right_algorithms_pass(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 2, 3, 31, 64, 65, 1000, 20011};
    for (size_t f = 0; f < COUNT(FINITE); f++)
        for (size_t g = 0; g < COUNT(GAMMAS); g++)
            for (size_t s = 0; s < COUNT(sizes); s++) {
                char text[512];
                snprintf(text, sizeof text, "discounted_cumsum n=%zu gamma=%s dtype=%s direction=%s input=%s seed=%zu", sizes[s],
                         GAMMAS[g], (f + g + s) % 2 ? "f32" : "f64", g % 2 ? "left" : "right", FINITE[f], s);
                Row row;
                row_open(&row, text);
                scan_reference(&row.scan, 0);
                sequential(&row);
                must(true, &row, "the recurrence");
                tree(&row, 0);
                must(true, &row, "the tree");
                blocks(&row, 128);
                must(true, &row, "blocks");
                row_close(&row);
            }
}

static void near_misses_fail(void **state) {
    (void)state;
    static const char *const gammas[] = {"0.99", "0.9", "1", "0.999", "-0.5"};
    for (size_t f = 0; f < COUNT(WRONG_FAMILIES); f++)
        for (size_t g = 0; g < COUNT(gammas); g++)
            for (int f32 = 0; f32 < 2; f32++) {
                char text[512];
                snprintf(text, sizeof text, "discounted_cumsum n=2049 gamma=%s dtype=%s input=%s", gammas[g], f32 ? "f32" : "f64",
                         WRONG_FAMILIES[f]);
                Row row;
                row_open(&row, text);
                scan_reference(&row.scan, 0);
                const double u = f32 ? 0x1p-24 : 0x1p-53, gamma = row.gamma;
                size_t heavy = 1000; /* a light one may be below the others' rounding */
                for (size_t p = 1001; p < 1016; p++) heavy = fabs(row.x[p]) > fabs(row.x[heavy]) ? p : heavy;
                const double kept = row.x[heavy];
                tree(&row, 1);
                must(false, &row, "the tree without its last stage");
                row.gamma = rounded(&row, gamma * (1 + 1000 * u));
                sequential(&row);
                must(false, &row, "a discount 1000 units off");
                row.gamma = gamma;
                row.x[heavy] = 0;
                sequential(&row);
                must(false, &row, "an element dropped");
                row.x[heavy] = kept;
                sequential(&row);
                row.y[2048] = row.x[2048];
                must(false, &row, "the last output left as the input");
                row_close(&row);
            }
}

static void ignored_resets_fail(void **state) {
    (void)state;
    for (size_t f = 0; f < COUNT(WRONG_FAMILIES); f++)
        for (int left = 0; left < 2; left++) {
            char text[512];
            snprintf(text, sizeof text, "discounted_cumsum n=2049 gamma=0.99 reset=mask direction=%s dtype=f32 input=%s",
                     left ? "left" : "right", WRONG_FAMILIES[f]);
            Row row;
            row_open(&row, text);
            scan_reference(&row.scan, 0);
            sequential(&row);
            must(true, &row, "segments");
            const Array mask = *row.reset;
            size_t marks = 0;
            for (size_t i = 0; i < row.n; i++) marks += array_get(&mask, i) != 0 ? 1 : 0;
            assert_true(marks >= 2 && marks <= 30);
            row.reset = &(Array){.rank = 1, .shape = {0}, .dtype = DTYPE_U8};
            sequential(&row);
            must(false, &row, "one segment");
            row_close(&row);
        }
}

/* gamma = 0.99 as written against 0.99f: by its own reference the float recurrence passes, and its drift is what the bound knows of
 * it.
 */
static void a_discount_as_written(void **state) {
    (void)state;
    Row row;
    row_open(&row, "discounted_cumsum n=10000 gamma=0.99 reference=unrounded dtype=f32 input=ones");
    scan_reference(&row.scan, 0);
    sequential(&row);
    must(true, &row, "the recurrence");
    const double first = row.scan.reference[0].value[0];
    double exact = 0;
    for (int i = 0; i < 10000; i++) exact = exact * 0.99 + 1;
    assert_true(fabs(first - exact) <= 1e-12);
    const double drift = fabs((double)0.99f - 0.99) / 0.99, unrounded = row.scan.reference[0].tolerance[0];
    row_close(&row);
    row_open(&row, "discounted_cumsum n=10000 gamma=0.99 reference=received dtype=f32 input=ones");
    scan_reference(&row.scan, 0);
    assert_true(row.scan.reference[0].value[0] - first > 9e-5 && row.scan.reference[0].value[0] - first < 1e-4);
    const double more = unrounded - row.scan.reference[0].tolerance[0];
    assert_true(more >= drift * 9900 && more < 1.02 * drift * 9901);
    row_close(&row);
}

/* Products with 1 and -1 round nothing, and powers of them are exact; sums of alternating signs are small. */
static void factors_of_one_leave_less_room(void **state) {
    (void)state;
    double tolerance[3];
    static const char *const gammas[] = {"1", "-1", "0.99999999"}; /* the last far closer to 1 than n roundings */
    for (int g = 0; g < 3; g++) {
        Row row;
        char text[256];
        snprintf(text, sizeof text, "discounted_cumsum n=20000 gamma=%s dtype=f64 input=uniform seed=1", gammas[g]);
        row_open(&row, text);
        scan_reference(&row.scan, 0);
        sequential(&row);
        must(true, &row, "the recurrence");
        tolerance[g] = row.scan.reference[0].tolerance[0];
        row_close(&row);
    }
    assert_true(tolerance[1] > 0 && tolerance[1] < tolerance[0] && tolerance[0] < 0.75 * tolerance[2]);
}

/* Of both signs: a lost element shows among 100000 floats, which the sum of the magnitudes would allow 1/256 of itself. */
static void sums_that_cancel_leave_little_room(void **state) {
    (void)state;
    static const char *const gammas[] = {"1", "-1", "0.9999", "0.99"};
    for (size_t g = 0; g < COUNT(gammas); g++)
        for (int f32 = 0; f32 < 2; f32++) {
            char text[256];
            snprintf(text, sizeof text, "discounted_cumsum n=100000 gamma=%s dtype=%s input=normal seed=2", gammas[g],
                     f32 ? "f32" : "f64");
            Row row;
            row_open(&row, text);
            scan_reference(&row.scan, 0);
            sequential(&row);
            must(true, &row, "the recurrence");
            tree(&row, 0);
            must(true, &row, "the tree");
            blocks(&row, 128);
            must(true, &row, "blocks");
            row.x[50000] = 0;
            sequential(&row);
            must(false, &row, "an element dropped");
            row_close(&row);
        }
}

/* What the bound allows at most, 1/256, is less than what a plain float loop may lose; docs/ops/discounted_cumsum.md says why. */
static void float_loops_over_a_million_like_terms_fail(void **state) {
    (void)state;
    static const struct {
        const char *input;
        bool passes;
    } cases[] = {{"uniform", true}, {"ramp", true}, {"offset1e3", false}, {"constant", false}};
    for (size_t c = 0; c < COUNT(cases); c++)
        for (int f32 = 0; f32 < 2; f32++) {
            char text[256];
            snprintf(text, sizeof text, "discounted_cumsum n=1000000 gamma=1 dtype=%s input=%s seed=1", f32 ? "f32" : "f64",
                     cases[c].input);
            Row row;
            row_open(&row, text);
            scan_reference(&row.scan, 0);
            sequential(&row);
            must(!f32 || cases[c].passes, &row, "the recurrence");
            tree(&row, 0);
            must(true, &row, "the tree");
            row_close(&row);
        }
}

/* Rows of more than 2^17 elements are worked on in blocks of 2^16; behind a reset they lie otherwise than in a row that is not. */
static void blocks_of_a_long_row_join(void **state) {
    (void)state;
    enum { SHORT = 1 << 17, BEFORE = 10 };
    static const char *const gammas[] = {"1", "-1", "0.999999", "1.00001", "0.99"};
    for (size_t g = 0; g < COUNT(gammas); g++)
        for (int f32 = 0; f32 < 2; f32++) {
            const char *dtype = f32 ? "f32" : "f64",
                       *text = "discounted_cumsum direction=left n=%d gamma=%s reset=%s dtype=%s input=normal";
            Scan one = scan_open(text, SHORT, gammas[g], "none", dtype),
                 joined = scan_open(text, SHORT + BEFORE, gammas[g], "mask", dtype);
            Array *x = scan_array(&joined, "x"), *reset = scan_array(&joined, "reset");
            for (size_t i = 0; i < joined.n; i++) array_set(reset, i, i == BEFORE);
            for (size_t i = 0; i < one.n; i++) array_set(x, BEFORE + i, array_get(&one.in[0], i));
            scan_reference(&one, 0);
            scan_reference(&joined, 0);
            for (size_t i = 0; i < one.n; i++) {
                const double expected = one.reference[0].tolerance[i], found = joined.reference[0].tolerance[BEFORE + i];
                if (!(fabs(found - expected) <= 1e-6 * expected))
                    fail_msg("gamma=%s %s: the tolerance of %zu is %g, %g expected", gammas[g], dtype, i, found, expected);
            }
            scan_close(&one);
            scan_close(&joined);
        }
}

static void exact_sums_leave_no_room(void **state) {
    (void)state;
    Row row;
    row_open(&row, "discounted_cumsum n=100000 gamma=1 dtype=f32 input=integers");
    scan_reference(&row.scan, 0);
    for (size_t i = 0; i < row.n; i++) assert_true(row.scan.reference[0].tolerance[i] == 0);
    row_close(&row);
    row_open(&row, "discounted_cumsum n=1000 gamma=0 dtype=f64 input=mixed");
    scan_reference(&row.scan, 0);
    for (size_t i = 0; i < row.n; i++)
        assert_true(row.scan.reference[0].tolerance[i] == 0 && row.scan.reference[0].value[i] == array_get(&row.scan.in[0], i));
    row_close(&row);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_algorithms_pass),
        cmocka_unit_test(near_misses_fail),
        cmocka_unit_test(ignored_resets_fail),
        cmocka_unit_test(a_discount_as_written),
        cmocka_unit_test(factors_of_one_leave_less_room),
        cmocka_unit_test(sums_that_cancel_leave_little_room),
        cmocka_unit_test(float_loops_over_a_million_like_terms_fail),
        cmocka_unit_test(blocks_of_a_long_row_join),
        cmocka_unit_test(exact_sums_leave_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
