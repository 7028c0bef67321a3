/* The reference of `discounted_cumsum` where numbers, their weights or products of factors come near the ends of the range of
 * doubles or leave it, against 600-bit brute force. */
/* needs: discounted_cumsum */
#include "discount_brute.h"

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
        scan_reference(&self, 0);
        check(&self);
        size_t finite = 0, said = 0;
        for (size_t i = 0; i < self.n; i++) {
            const double value = fabs(self.reference[0].value[i]);
            finite += value > 0 && value < INFINITY;
            said += value > 0 && value < INFINITY && self.reference[0].tolerance[i] < 0x1p-7 * value;
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
            scan_reference(&self, 0);
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
            scan_reference(&self, 0);
            check(&self);
            scan_close(&self);
        }
}

static void a_lone_impulse_fades_to_nothing(void **state) {
    (void)state;
    Scan self = scan_open("discounted_cumsum direction=left n=400000 gamma=0.99 dtype=f64 input=ones");
    for (size_t i = 0; i < self.n; i++) array_set(&self.in[0], i, i == 3 ? 1 : 0);
    scan_reference(&self, 0);
    mpfr_set_d(sum, 1, MPFR_RNDN);
    const double factor = array_get(&self.in[1], 0);
    for (size_t i = 3; i < self.n; i++, mpfr_mul_d(sum, sum, factor, MPFR_RNDN)) {
        const double expected = mpfr_get_d(sum, MPFR_RNDN), value = self.reference[0].value[i];
        if (!(fabs(value - expected) <= 0x1p-52 * expected + 0.5 * self.reference[0].tolerance[i]))
            fail_msg("%zu: %a, not %a (tolerance %a)", i, value, expected, self.reference[0].tolerance[i]);
    }
    assert_true(self.reference[0].value[2] == 0 && self.reference[0].tolerance[2] == 0);
    scan_close(&self);
}

int main(void) {
    mpfr_init2(sum, BITS);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(subnormal_elements_grow_to_infinity), cmocka_unit_test(weights_leave_the_range_and_sums_do_not),
        cmocka_unit_test(products_sink_and_come_back),         cmocka_unit_test(small_rows_beside_large_ones),
        cmocka_unit_test(a_lone_impulse_fades_to_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
