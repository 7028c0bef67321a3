/* The truth of `discounted_cumsum` against 600-bit brute force and the documented example. */
#include "scan_support.h"

#include <math.h>
#include <mpfr.h>

enum { BITS = 600 };

static mpfr_t sum, term;

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* How the case reads: element and factor at a position of the reading order of a row. */
typedef struct Reader {
    Scan *scan;
    const Array *x, *gamma, *reset;
    bool left, unrounded;
    size_t terms;
} Reader;

static Reader reader_of(Scan *self) {
    const Params *params = &self->problem.params;
    const size_t k = (size_t)params_int(params, "k");
    return (Reader){self,
                    scan_array(self, "x"),
                    scan_array(self, "gamma"),
                    scan_array(self, "reset"),
                    strcmp(params_text(params, "direction"), "left") == 0,
                    params_has(params, "reference") && strcmp(params_text(params, "reference"), "unrounded") == 0,
                    k ? smaller(k, self->n) : self->n};
}

static size_t index_of(const Reader *r, size_t row, size_t p) {
    return row * r->scan->n + (r->left ? p : r->scan->n - 1 - p);
}

static double factor_of(const Reader *r, size_t row, size_t p) {
    if (r->unrounded) return params_real(&r->scan->problem.params, "gamma");
    const size_t count = array_count(r->gamma);
    const char *per = params_text(&r->scan->problem.params, "gamma_per");
    return array_get(r->gamma, strcmp(per, "all") == 0 ? 0 : strcmp(per, "row") == 0 ? smaller(row, count) : index_of(r, row, p));
}

/* What rounding to the dtype makes an infinity. */
static double to_dtype(const Reader *r, mpfr_t exact) {
    const double value = mpfr_get_d(exact, MPFR_RNDN);
    return r->x->dtype == DTYPE_F32 && fabs(value) >= 0x1.ffffffp127 ? copysign(INFINITY, value) : value;
}

/* One step of the recurrence: `sum` to 600 bits, `special` what NaN and infinities alone make of it in IEEE arithmetic. A sum of
 * all terms that passes the range of the dtype is an infinity from there on. */
static void advance(const Reader *r, bool first, double factor, double x, double *special) {
    if (first) mpfr_set_zero(sum, 1);
    if (!first) mpfr_mul_d(sum, sum, factor, MPFR_RNDN);
    if (isfinite(x)) mpfr_add_d(sum, sum, x, MPFR_RNDN);
    *special = (first ? 0 : factor * *special) + (isfinite(x) ? 0 : x);
    if (r->terms == r->scan->n && *special == 0 && isinf(to_dtype(r, sum))) *special = to_dtype(r, sum);
}

/* The definition: from the first element of the sum to its last. */
static double brute_force(const Reader *r, size_t row, size_t p) {
    const bool mask = array_count(r->reset) > 0;
    size_t first = p + 1 >= r->terms ? p + 1 - r->terms : 0;
    for (size_t q = p; mask && q > first; q--)
        if (array_get(r->reset, index_of(r, row, q)) != 0) first = q;
    double special = 0;
    for (size_t q = first; q <= p; q++)
        advance(r, q == first, factor_of(r, row, q), array_get(r->x, index_of(r, row, q)), &special);
    return special != 0 ? special : to_dtype(r, sum);
}

/* Values: the exact one, rounded, or its neighbour; under cancellation, far below the tolerance. */
static void check_at(const Scan *self, size_t i, double expected) {
    const double value = self->truth[0].value[i], tolerance = self->truth[0].tolerance[i];
    if (!truth_agrees(value, expected, 0x1p-52, tolerance))
        fail_msg("%s at %zu: %a, not %a (tolerance %a)", self->text, i, value, expected, tolerance);
}

static void check(Scan *self) {
    const Reader r = reader_of(self);
    for (size_t row = 0; row < self->batch; row++)
        for (size_t p = 0; p < self->n; p++) check_at(self, index_of(&r, row, p), brute_force(&r, row, p));
}

/* The check is one that can fail. */
static void wrong_truths_are_refused(void **state) {
    (void)state;
    static const double finite[] = {0, 1, -0x1p1023, 0x1p-1074, 0x1.fffffffffffffp1023};
    static const double special[] = {NAN, INFINITY, -INFINITY};
    for (size_t s = 0; s < 3; s++) {
        for (size_t f = 0; f < 5; f++) {
            assert_false(truth_agrees(finite[f], special[s], 0x1p-52, 1e300));
            assert_false(truth_agrees(special[s], finite[f], 0x1p-52, 1e300));
        }
        for (size_t other = 0; other < 3; other++)
            assert_true(truth_agrees(special[other], special[s], 0x1p-52, 0) == (other == s));
        assert_false(truth_agrees(special[s], special[s], 0x1p-52, 1));
    }
    assert_true(truth_agrees(1, 1, 0, 0) && truth_agrees(1, 1 + 0x1p-52, 0x1p-52, 0) && truth_agrees(1, 2, 0, 0x1p20));
    assert_false(truth_agrees(1, 1 + 0x1p-51, 0x1p-52, 0) || truth_agrees(1, 2, 0, 0x1p19) || truth_agrees(1, 1, 0, -1) ||
                 truth_agrees(1, 1, 0, (double)NAN));
}

static void check_case(const char *text) {
    Scan self = scan_open("%s", text);
    scan_truth(&self, 0);
    check(&self);
    scan_close(&self);
}

static void every_family_agrees_with_brute_force(void **state) {
    (void)state;
    static const char *const modes[] = {
        "",        "direction=left k=7", "gamma_per=row k=64 reset=mask", "direction=left gamma_per=element reset=mask",
        "gamma=1", "gamma=-0.5 k=100"};
    const Op *op;
    assert_int_equal(registry_require_op("discounted_cumsum", &op), STATUS_OK);
    for (int f = 0; op->families[f]; f++)
        for (size_t m = 0; m < sizeof modes / sizeof *modes; m++)
            for (int f32 = 0; f32 < 2; f32++) {
                if (strcmp(op->families[f], "real:NAME") == 0) continue;
                char text[512];
                snprintf(text, sizeof text, "discounted_cumsum batch=2 n=300 %s dtype=%s input=%s seed=3", modes[m],
                         f32 ? "f32" : "f64", op->families[f]);
                check_case(text);
            }
}

static void every_number_of_terms_and_discount_agrees_with_brute_force(void **state) {
    (void)state;
    static const size_t terms[] = {0, 1, 2, 3, 4, 5, 31, 32, 33, 63, 64, 65, 127, 128, 129, 199, 200, 201, 1000};
    static const char *const gammas[] = {"0", "1", "1.01", "-0.5", "0.99", "-1", "1e-200", "3"};
    static const char *const per[] = {"all", "row", "element"};
    for (size_t k = 0; k < sizeof terms / sizeof *terms; k++)
        for (size_t g = 0; g < sizeof gammas / sizeof *gammas; g++)
            for (int mode = 0; mode < 12; mode++) {
                char text[512];
                snprintf(text, sizeof text,
                         "discounted_cumsum n=200 batch=2 k=%zu gamma=%s gamma_per=%s direction=%s reset=%s dtype=f64 "
                         "input=%s seed=%d",
                         terms[k], gammas[g], per[mode % 3], mode & 1 ? "left" : "right", mode & 2 ? "mask" : "none",
                         mode < 6 ? "normal" : "naninf", mode);
                check_case(text);
            }
}

/* Long rows are cut into blocks; the recurrence itself, in 600 bits, along the whole row. */
static void check_row(Scan *self, const Reader *r) {
    scan_truth(self, 0);
    double special = 0;
    for (size_t p = 0; p < self->n; p++) {
        const size_t i = index_of(r, 0, p);
        const bool first = p == 0 || (array_count(r->reset) > 0 && array_get(r->reset, i) != 0);
        advance(r, first, factor_of(r, 0, p), array_get(r->x, i), &special);
        check_at(self, i, special != 0 ? special : to_dtype(r, sum));
    }
}

static void check_long(const char *text, bool plant) {
    Scan self = scan_open("%s", text);
    const Reader r = reader_of(&self);
    for (size_t i = 0; plant && i < 3; i++) /* nothing behind an impulse: values sink through the subnormal numbers */
        array_set(&self.in[0], 100000 * i + 5, i == 1 ? INFINITY : NAN);
    check_row(&self, &r);
    scan_close(&self);
}

static void long_rows_agree_with_the_recurrence(void **state) {
    (void)state;
    static const char *const modes[] = {"gamma=0.99",
                                        "gamma=1 direction=left",
                                        "gamma=0.999999 reset=mask",
                                        "gamma_per=element",
                                        "gamma=-0.9999",
                                        "gamma=0.5 direction=left",
                                        "gamma=1.0001 seed=4",
                                        "gamma=0.9999 input=heavytail",
                                        "gamma=0.99 input=denormal",
                                        "gamma=1.01",
                                        "gamma=0.97 input=offset1e3",
                                        "gamma=1e-300",
                                        "gamma=1.005 input=denormal"};
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++)
        for (int plant = 0; plant < 2; plant++) {
            char text[512];
            snprintf(text, sizeof text, "discounted_cumsum n=300001 dtype=f64 %s", modes[m]);
            check_long(text, plant);
        }
}

/* No scale has room for both ends: from subnormal numbers to the last finite one, and infinite from there on. */
static void subnormal_elements_grow_to_infinity(void **state) {
    (void)state;
    static const char *const modes[] = {"n=2200 gamma=2",   "n=2200 gamma=-2 direction=left", "n=600 gamma=-100",
                                        "n=150 gamma=1e20", "n=2300 gamma=2 k=2250",          "n=3000 gamma=1024 reset=mask"};
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
        char text[512];
        snprintf(text, sizeof text, "discounted_cumsum %s dtype=f64 input=denormal", modes[m]);
        check_case(text);
    }
}

/* Impulses among zeros: weights beyond 2^1024 that meet nothing, or what is small enough. */
static void weights_leave_the_range_and_sums_do_not(void **state) {
    (void)state;
    static const char *const modes[] = {
        "n=2300 gamma=2 k=2250 dtype=f64",          "n=2300 gamma=-2 k=1200 dtype=f64 direction=left",
        "n=2300 gamma=2 k=2250 dtype=f32",          "n=2300 gamma=3 k=1150 dtype=f32 reset=mask",
        "n=400 gamma=1e30 k=390 dtype=f64",         "n=2300 gamma=2 dtype=f64",
        "n=2300 gamma=1.9 dtype=f32 direction=left"};
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
        Scan self = scan_open("discounted_cumsum %s input=ones", modes[m]);
        const bool f32 = self.in[0].dtype == DTYPE_F32;
        for (size_t i = 0; i < self.n; i++) array_set(&self.in[0], i, 0);
        for (size_t i = 40; i < self.n; i += 300) array_set(&self.in[0], i, (i % 7 ? 3 : -5) * (f32 ? 0x1p-120 : 0x1p-1060));
        scan_truth(&self, 0);
        check(&self);
        size_t finite = 0, said = 0;
        for (size_t i = 0; i < self.n; i++) {
            const double value = fabs(self.truth[0].value[i]);
            finite += value > 0 && value < INFINITY;
            said += value > 0 && value < INFINITY && self.truth[0].tolerance[i] < 0x1p-7 * value;
        }
        if (!(finite > 10 && said > finite / 2)) fail_msg("%s: %zu finite sums, bounds for %zu", modes[m], finite, said);
        scan_close(&self);
    }
}

/* Factors whose product sinks below any double and comes back, while the sum stays in between. */
static void products_sink_and_come_back(void **state) {
    (void)state;
    static const double factors[] = {0x1p-500, 0x1p-600, 0x1.8p-300, 0x1p500, -0x1.cp500, 0x1p400};
    static const char *const modes[] = {"n=1000", "n=1000 k=900 direction=left", "n=1000 k=6", "n=200000",
                                        "n=200000 direction=left"};
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
        char text[256];
        snprintf(text, sizeof text, "discounted_cumsum %s gamma_per=element dtype=f64 input=ones", modes[m]);
        Scan self = scan_open("%s", text);
        const Reader r = reader_of(&self);
        for (size_t p = 0; p < self.n; p++) { /* long rows: one dip, around a border of blocks */
            const size_t i = index_of(&r, 0, p), near = p - 65533;
            array_set(&self.in[0], i, p % 6 ? 0 : 0x1p900);
            array_set(&self.in[1], i, self.n <= 1000 ? factors[(p + 5) % 6] : near < 6 ? factors[near] : 0.5);
        }
        if (self.n <= 1000) {
            scan_truth(&self, 0);
            check(&self);
        } else {
            for (size_t p = 65530; p < self.n; p++) array_set(&self.in[0], index_of(&r, 0, p), 0);
            check_row(&self, &r);
        }
        scan_close(&self);
    }
}

static void small_rows_beside_large_ones(void **state) {
    (void)state;
    static const char *const gammas[] = {"0.9", "1.01", "-0.5", "1"};
    for (size_t g = 0; g < 4; g++)
        for (int mode = 0; mode < 8; mode++) {
            Scan self = scan_open("discounted_cumsum batch=2 n=300 gamma=%s k=%d reset=%s dtype=f64 input=normal", gammas[g],
                                  mode & 1 ? 50 : 0, mode & 2 ? "mask" : "none");
            for (size_t i = 0; i < 600; i++) { /* a row of each, or both kinds in each row */
                const bool small = mode & 4 ? i % 300 < 100 : i < 300;
                const double scale = small ? 0x1p-1050 : 0x1p990;
                array_set(&self.in[0], i, array_get(&self.in[0], i) * scale);
            }
            scan_truth(&self, 0);
            check(&self);
            scan_close(&self);
        }
}

static void a_lone_impulse_fades_to_nothing(void **state) {
    (void)state;
    Scan self = scan_open("discounted_cumsum direction=left n=400000 gamma=0.99 dtype=f64 input=ones");
    for (size_t i = 0; i < self.n; i++) array_set(&self.in[0], i, i == 3 ? 1 : 0);
    scan_truth(&self, 0);
    mpfr_set_d(sum, 1, MPFR_RNDN);
    const double factor = array_get(&self.in[1], 0);
    for (size_t i = 3; i < self.n; i++, mpfr_mul_d(sum, sum, factor, MPFR_RNDN)) {
        const double expected = mpfr_get_d(sum, MPFR_RNDN), value = self.truth[0].value[i];
        if (!(fabs(value - expected) <= 0x1p-52 * expected + 0.5 * self.truth[0].tolerance[i]))
            fail_msg("%zu: %a, not %a (tolerance %a)", i, value, expected, self.truth[0].tolerance[i]);
    }
    assert_true(self.truth[0].value[2] == 0 && self.truth[0].tolerance[2] == 0);
    scan_close(&self);
}

/* From the project that published the operator: n = 8, gamma = 0.99, ones. */
static void the_documented_example(void **state) {
    (void)state;
    static const double expected[] = {7.7255, 6.7935, 5.8520, 4.9010, 3.9404, 2.9701, 1.9900, 1.0000};
    for (int f32 = 0; f32 < 2; f32++)
        for (int left = 0; left < 2; left++)
            for (int two = 0; two < 2; two++) {
                Scan self = scan_open("discounted_cumsum n=8 gamma=0.99 direction=%s k=%d dtype=%s input=ones",
                                      left ? "left" : "right", two ? 2 : 0, f32 ? "f32" : "f64");
                scan_truth(&self, 0);
                for (size_t i = 0; i < 8; i++) {
                    const double value = self.truth[0].value[left ? 7 - i : i], wanted = two && i < 7 ? 1.99 : expected[i];
                    if (!(fabs(value - wanted) <= 0.5001e-4)) fail_msg("%s at %zu: %a", self.text, i, value);
                }
                scan_close(&self);
            }
}

int main(void) {
    mpfr_inits2(BITS, sum, term, (mpfr_ptr)0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_truths_are_refused),
        cmocka_unit_test(the_documented_example),
        cmocka_unit_test(every_family_agrees_with_brute_force),
        cmocka_unit_test(every_number_of_terms_and_discount_agrees_with_brute_force),
        cmocka_unit_test(long_rows_agree_with_the_recurrence),
        cmocka_unit_test(subnormal_elements_grow_to_infinity),
        cmocka_unit_test(weights_leave_the_range_and_sums_do_not),
        cmocka_unit_test(products_sink_and_come_back),
        cmocka_unit_test(small_rows_beside_large_ones),
        cmocka_unit_test(a_lone_impulse_fades_to_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
