/* The CPU variants of ewm against the op's reference and its own bound, in every mode. */
#include "scan_cpu_support.h"

static const ScanVariant VARIANTS[] = {{"cpu_sequential", VARIANT_ID(ewm, cpu_sequential)},
                                       {"cpu_best", VARIANT_ID(ewm, cpu_best)}};
enum { VARIANT_COUNT = sizeof VARIANTS / sizeof *VARIANTS };
#define COUNT(table) (sizeof(table) / sizeof *(table))

static const char *const AGGS[] = {"mean", "var", "std"};

/* Every combination of aggregate, dtype, adjust, nan and segments. */
static void every_mode(size_t n, const char *decay, const char *input, const char *more, const char *threads) {
    for (size_t m = 0; m < 3 * 2 * 2 * 2 * 2; m++) {
        Scan self = scan_open("ewm agg=%s dtype=%s adjust=%s nan=%s segments=%s n=%zu %s input=%s seed=%zu %s", AGGS[m % 3],
                              m / 3 % 2 ? "f32" : "f64", m / 6 % 2 ? "false" : "true", m / 12 % 2 ? "propagate" : "decay",
                              m / 24 ? "mask" : "none", n, decay, input, n + m, more);
        scan_reference(&self, 0);
        for (size_t v = 0; v < VARIANT_COUNT; v++) scan_check(&VARIANTS[v], &self, threads);
        scan_close(&self);
    }
}

static void shapes(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 7, 8, 9, 17, 64, 255, 1025};
    for (size_t s = 0; s < COUNT(sizes); s++) {
        every_mode(sizes[s], "span=20", "normal", "", "2");
        every_mode(sizes[s], "span=300", "naninf", "min_periods=3 incomplete=inf", "2");
    }
}

static void every_family(void **state) {
    (void)state;
    static const char *const families[] = {"uniform",   "ones",      "ramp",      "constant",    "integers", "offset1e3",
                                           "offset1e6", "offset1e8", "spike1e16", "alternating", "mixed",    "denormal",
                                           "naninf",    "gaps",      "sorted",    "heavytail"};
    for (size_t f = 0; f < COUNT(families); f++) every_mode(3003, "", families[f], "", "2");
}

/* From a copy of the input to weights that hardly fall. */
static void every_decay(void **state) {
    (void)state;
    static const char *const decays[] = {"span=1",    "span=1.0000001", "span=2", "span=1e6", "span=1e12",     "alpha=1",
                                         "alpha=0.5", "alpha=1e-9",     "com=0",  "com=9.5",  "halflife=0.01", "halflife=40"};
    for (size_t d = 0; d < COUNT(decays); d++) {
        every_mode(2003, decays[d], "normal", "", "2");
        every_mode(503, decays[d], "naninf", "", "2");
    }
}

/* Several blocks, whose states go from thread to thread. */
static void long_series(void **state) {
    (void)state;
    static const char *const threads[] = {"1", "2", "5"}, *const families[] = {"normal", "offset1e8", "naninf"};
    static const size_t sizes[] = {32768, 32769, 150001};
    for (size_t s = 0; s < COUNT(sizes); s++)
        for (size_t f = 0; f < COUNT(families); f++)
            every_mode(sizes[s], f == 1 ? "span=30000" : "", families[f], "", threads[(s + f) % 3]);
}

/* A long silence: the last value holds, and counts for nothing beside the next. */
static void a_gap_outlives_its_weights(void **state) {
    (void)state;
    for (size_t v = 0; v < VARIANT_COUNT; v++)
        for (int adjust = 0; adjust < 2; adjust++) {
            char reason[REASON_MAX];
            Scan self = scan_open("ewm n=40000 span=3 adjust=%s dtype=f64", adjust ? "true" : "false");
            for (size_t i = 0; i < self.n; i++) array_set(&self.in[0], i, i == 0 ? 5 : i == 39998 ? 7 : NAN);
            assert_true(scan_run(variant_of(VARIANTS[v].id), &self, "2", reason));
            for (size_t i = 0; i < self.n; i++) assert_true(array_get(&self.out[0], i) == (i < 39998 ? 5 : 7));
            scan_close(&self);
        }
}

/* pandas.Series([1, 2, NaN, 4]).ewm(alpha=0.5): means 1, 5/3, 5/3, 37/11 worked out by hand: weights 1/8, 1/4, -, 1 and so on. */
static void worked_out_by_hand(void **state) {
    (void)state;
    static const double x[] = {1, 2, NAN, 4};
    static const double mean[] = {1, 5. / 3, 5. / 3, (1. / 8 + 2. / 4 + 4) / (1. / 8 + 1. / 4 + 1)};
    for (size_t v = 0; v < VARIANT_COUNT; v++) {
        char reason[REASON_MAX];
        Scan self = scan_open("ewm n=4 alpha=0.5 dtype=f64"), var = scan_open("ewm agg=var n=4 alpha=0.5 dtype=f64");
        for (size_t i = 0; i < 4; i++) array_set(&self.in[0], i, x[i]), array_set(&var.in[0], i, x[i]);
        assert_true(scan_run(variant_of(VARIANTS[v].id), &self, NULL, reason));
        assert_true(scan_run(variant_of(VARIANTS[v].id), &var, NULL, reason));
        for (size_t i = 0; i < 4; i++) assert_true(fabs(array_get(&self.out[0], i) - mean[i]) <= 1e-15);
        /* two elements, weights 1/2 and 1: spread 2/9, bias 1 - 5/9 */
        assert_true(isnan(array_get(&var.out[0], 0)));
        assert_true(fabs(array_get(&var.out[0], 1) - 0.5) <= 1e-15);
        assert_true(array_get(&var.out[0], 2) == array_get(&var.out[0], 1));
        scan_close(&self);
        scan_close(&var);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_out_by_hand),
        cmocka_unit_test(a_gap_outlives_its_weights),
        cmocka_unit_test(shapes),
        cmocka_unit_test(every_family),
        cmocka_unit_test(every_decay),
        cmocka_unit_test(long_series),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
