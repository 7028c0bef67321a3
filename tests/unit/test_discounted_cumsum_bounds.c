/* The bounds of `discounted_cumsum`: right algorithms pass in their own precision, whatever order they work in, and wrong ones that
 * are nearly right do not. */
#include "scan_support.h"

typedef struct Row {
    Scan scan;
    bool f32, left;
    size_t n, terms;
    double gamma, *x, *y; /* in reading order */
    const Array *reset;
} Row;

/* An operation of the dtype: a double holds the exact sum or enough of the exact product of two floats to round correctly. */
static double rounded(const Row *row, double value) {
    return row->f32 ? (double)(float)value : value;
}

static size_t at(const Row *row, size_t p) {
    return row->left ? p : row->n - 1 - p;
}

static void row_open(Row *row, const char *text) {
    *row = (Row){.scan = scan_open("%s", text)};
    const Params *params = &row->scan.problem.params;
    row->f32 = row->scan.problem.dtype == DTYPE_F32;
    row->left = params_choice(params, "direction") == 1;
    row->n = row->scan.n;
    const size_t k = (size_t)params_int(params, "k");
    row->terms = k && k < row->n ? k : row->n;
    row->gamma = array_get(scan_array(&row->scan, "gamma"), 0);
    row->reset = scan_array(&row->scan, "reset");
    row->x = malloc((row->n + 1) * sizeof(double));
    row->y = malloc((row->n + 1) * sizeof(double));
    for (size_t p = 0; p < row->n; p++) row->x[p] = array_get(&row->scan.in[0], at(row, p));
}

static void row_close(Row *row) {
    free(row->x);
    free(row->y);
    scan_close(&row->scan);
}

static bool cut(const Row *row, size_t p) {
    return p == 0 || (array_count(row->reset) > 0 && array_get(row->reset, at(row, p)) != 0);
}

static void sequential(Row *row) {
    for (size_t p = 0; p < row->n; p++)
        row->y[p] = cut(row, p) ? row->x[p] : rounded(row, rounded(row, row->gamma * row->y[p - 1]) + row->x[p]);
}

static double power(const Row *row, size_t exponent) {
    double result = 1, square = row->gamma;
    for (; exponent; exponent /= 2, square = rounded(row, square * square))
        if (exponent & 1) result = rounded(row, result * square);
    return result;
}

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

static void last_terms(Row *row, size_t terms) {
    for (size_t p = 0; p < row->n; p++) {
        double sum = 0;
        for (size_t q = p + 1 > terms ? p + 1 - terms : 0; q <= p; q++)
            sum = rounded(row, rounded(row, row->gamma * sum) + row->x[q]);
        row->y[p] = sum;
    }
}

static void by_difference(Row *row) {
    sequential(row);
    const double factor = power(row, row->terms);
    for (size_t p = row->n; p-- > row->terms;) row->y[p] = rounded(row, row->y[p] - rounded(row, factor * row->y[p - row->terms]));
}

static bool passes(Row *row, char *why, size_t size) {
    for (size_t p = 0; p < row->n; p++) array_set(&row->scan.out[0], at(row, p), row->y[p]);
    return scan_passes(&row->scan, 0, why, size);
}

static void must(bool expected, Row *row, const char *what) {
    char why[1024];
    if (passes(row, why, sizeof why) != expected)
        fail_msg("%s: %s %s: %s", row->scan.text, what, expected ? "does not pass" : "passes", why);
}

/* Families without NaN; f32 overflows nowhere. */
static const char *const FINITE[] = {"uniform",   "normal",      "ones",  "ramp",     "constant", "integers", "offset1e3",
                                     "spike1e16", "alternating", "mixed", "denormal", "sorted",   "heavytail"};
static const char *const GAMMAS[] = {"0.99", "1", "0", "0.5", "-0.5", "0.9999", "-0.99", "1.0001"};
#define COUNT(array) (sizeof(array) / sizeof *(array))

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
                scan_truth(&row.scan, 0);
                sequential(&row);
                must(true, &row, "the recurrence");
                tree(&row, 0);
                must(true, &row, "the tree");
                blocks(&row, 128);
                must(true, &row, "blocks");
                row_close(&row);
            }
}

static void sums_of_k_terms_pass(void **state) {
    (void)state;
    static const size_t terms[] = {1, 2, 10, 255};
    for (size_t f = 0; f < COUNT(FINITE); f++)
        for (size_t g = 0; g < COUNT(GAMMAS); g++)
            for (size_t k = 0; k < COUNT(terms); k++) {
                char text[512];
                snprintf(text, sizeof text, "discounted_cumsum n=1500 gamma=%s k=%zu dtype=%s input=%s seed=%zu", GAMMAS[g],
                         terms[k], (f + g) % 2 ? "f32" : "f64", FINITE[f], k);
                Row row;
                row_open(&row, text);
                scan_truth(&row.scan, 0);
                last_terms(&row, row.terms);
                must(true, &row, "direct sums");
                scan_truth(&row.scan, 1);
                must(true, &row, "direct sums by the looser bound");
                by_difference(&row);
                must(true, &row, "differences");
                row_close(&row);
            }
}

/* The looser bound is for a reason. */
static void differences_need_their_own_bound(void **state) {
    (void)state;
    Row row;
    row_open(&row, "discounted_cumsum n=20000 gamma=1 k=3 dtype=f32 input=uniform seed=1");
    by_difference(&row);
    scan_truth(&row.scan, 0);
    must(false, &row, "differences by 'scan'");
    scan_truth(&row.scan, 1);
    must(true, &row, "differences by 'difference'");
    row_close(&row);
}

static const char *const WRONG_FAMILIES[] = {"uniform",   "normal", "ones",   "integers",
                                             "offset1e3", "mixed",  "sorted", "alternating"};

static void one_term_more_or_less_fails(void **state) {
    (void)state;
    for (size_t f = 0; f < COUNT(WRONG_FAMILIES); f++)
        for (int f32 = 0; f32 < 2; f32++)
            for (size_t k = 1; k <= 200; k += 66) {
                char text[512];
                snprintf(text, sizeof text, "discounted_cumsum n=1500 gamma=0.99 k=%zu dtype=%s input=%s", k, f32 ? "f32" : "f64",
                         WRONG_FAMILIES[f]);
                Row row;
                row_open(&row, text);
                scan_truth(&row.scan, 0);
                last_terms(&row, k + 1);
                must(false, &row, "a term too many");
                last_terms(&row, k - 1);
                must(false, &row, "a term too few");
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
                scan_truth(&row.scan, 0);
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
            scan_truth(&row.scan, 0);
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

/* gamma = 0.99 as written against 0.99f: by its own truth the float recurrence passes, and its drift is what the bound knows of it.
 */
static void a_discount_as_written(void **state) {
    (void)state;
    Row row;
    row_open(&row, "discounted_cumsum n=10000 gamma=0.99 reference=unrounded dtype=f32 input=ones");
    scan_truth(&row.scan, 0);
    sequential(&row);
    must(true, &row, "the recurrence");
    const double first = row.scan.truth[0].value[0];
    double exact = 0;
    for (int i = 0; i < 10000; i++) exact = exact * 0.99 + 1;
    assert_true(fabs(first - exact) <= 1e-12);
    const double drift = fabs((double)0.99f - 0.99) / 0.99, unrounded = row.scan.truth[0].tolerance[0];
    row_close(&row);
    row_open(&row, "discounted_cumsum n=10000 gamma=0.99 reference=received dtype=f32 input=ones");
    scan_truth(&row.scan, 0);
    assert_true(row.scan.truth[0].value[0] - first > 9e-5 && row.scan.truth[0].value[0] - first < 1e-4);
    const double more = unrounded - row.scan.truth[0].tolerance[0];
    assert_true(more >= drift * 9900 && more < 1.02 * drift * 9901);
    row_close(&row);
}

/* Products with 1 and -1 round nothing: one rounding per step, not two. */
static void factors_of_one_leave_half_the_room(void **state) {
    (void)state;
    double tolerance[3];
    static const char *const gammas[] = {"1", "-1", "0.99999999"}; /* the last far closer to 1 than n roundings */
    for (int g = 0; g < 3; g++) {
        Row row;
        char text[256];
        snprintf(text, sizeof text, "discounted_cumsum n=20000 gamma=%s dtype=f64 input=uniform seed=1", gammas[g]);
        row_open(&row, text);
        scan_truth(&row.scan, 0);
        sequential(&row);
        must(true, &row, "the recurrence");
        tolerance[g] = row.scan.truth[0].tolerance[0];
        row_close(&row);
    }
    assert_true(tolerance[0] > 0 && tolerance[0] == tolerance[1]);
    assert_true(tolerance[0] < 0.51 * tolerance[2] && tolerance[0] > 0.49 * tolerance[2]);
}

static void exact_sums_leave_no_room(void **state) {
    (void)state;
    Row row;
    row_open(&row, "discounted_cumsum n=100000 gamma=1 dtype=f32 input=integers");
    scan_truth(&row.scan, 0);
    for (size_t i = 0; i < row.n; i++) assert_true(row.scan.truth[0].tolerance[i] == 0);
    row_close(&row);
    row_open(&row, "discounted_cumsum n=1000 gamma=0 dtype=f64 input=mixed");
    scan_truth(&row.scan, 0);
    for (size_t i = 0; i < row.n; i++)
        assert_true(row.scan.truth[0].tolerance[i] == 0 && row.scan.truth[0].value[i] == array_get(&row.scan.in[0], i));
    row_close(&row);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_algorithms_pass),
        cmocka_unit_test(sums_of_k_terms_pass),
        cmocka_unit_test(differences_need_their_own_bound),
        cmocka_unit_test(one_term_more_or_less_fails),
        cmocka_unit_test(near_misses_fail),
        cmocka_unit_test(ignored_resets_fail),
        cmocka_unit_test(a_discount_as_written),
        cmocka_unit_test(factors_of_one_leave_half_the_room),
        cmocka_unit_test(exact_sums_leave_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
