/* The CPU variants of discounted_cumsum against the op's reference and its own bound, in every mode. */
#include "scan_cpu_support.h"

#include <math.h>

static const ScanVariant VARIANTS[] = {{"cpu_sequential", VARIANT_ID(discounted_cumsum, cpu_sequential)},
                                       {"cpu_four_rows", VARIANT_ID(discounted_cumsum, cpu_four_rows)},
                                       {"cpu_best", VARIANT_ID(discounted_cumsum, cpu_best)}};
enum { VARIANT_COUNT = sizeof VARIANTS / sizeof *VARIANTS };

static const char *const DIRECTIONS[] = {"right", "left"}, *const PER[] = {"all", "row", "element"},
                         *const DTYPES[] = {"f64", "f32"};
#define COUNT(table) (sizeof(table) / sizeof *(table))

/* The published loop refuses most modes, with a reason; where it runs it is right. */
static size_t published_runs;

static void check_published(Scan *self) {
    char why[512], reason[REASON_MAX] = "";
    if (!scan_run(variant_of(VARIANT_ID(discounted_cumsum, cpu_row_batched)), self, NULL, reason)) {
        assert_true(strstr(reason, "the published") != NULL);
        return;
    }
    published_runs++;
    if (!scan_passes(self, 0, why, sizeof why)) fail_msg("cpu_row_batched on %s: %s", self->text, why);
}

static void check_all(Scan *self, const char *threads) {
    scan_reference(self, 0);
    for (size_t v = 0; v < VARIANT_COUNT; v++) scan_check(&VARIANTS[v], self, threads);
    check_published(self);
    scan_close(self);
}

/* Every combination of direction, dtype, shape of gamma and mask. */
static void every_mode(size_t batch, size_t n, size_t k, const char *gamma, const char *input, const char *threads) {
    for (size_t m = 0; m < 2 * 2 * 3 * 2; m++) {
        Scan self = scan_open(
            "discounted_cumsum direction=%s dtype=%s gamma_per=%s reset=%s batch=%zu n=%zu k=%zu gamma=%s input=%s "
            "seed=%zu",
            DIRECTIONS[m % 2], DTYPES[m / 2 % 2], PER[m / 4 % 3], m / 12 ? "mask" : "none", batch, n, k, gamma, input, n + k + m);
        check_all(&self, threads);
    }
}

static void shapes(void **state) {
    (void)state;
    static const size_t batches[] = {0, 1, 3, 4, 5, 8, 17}, sizes[] = {0, 1, 2, 7, 8, 9, 31, 32, 33, 257, 1023};
    for (size_t b = 0; b < COUNT(batches); b++)
        for (size_t s = 0; s < COUNT(sizes); s++) every_mode(batches[b], sizes[s], 0, "0.99", s % 2 ? "normal" : "naninf", "2");
    assert_true(published_runs > 4 * COUNT(batches) * COUNT(sizes)); /* a gamma for each row, in both directions and dtypes */
    every_mode(65536, 3, 0, "0.99", "normal", "2");
    every_mode(65536, 3, 2, "0.99", "normal", "2");
}

static void windows(void **state) {
    (void)state;
    static const size_t batches[] = {1, 5}, sizes[] = {1, 2, 33, 64, 300, 1000};
    static const size_t terms[] = {1, 2, 3, 31, 32, 33, 34, 100, 150, 299, 300, 301, 999, 100000};
    for (size_t b = 0; b < COUNT(batches); b++)
        for (size_t s = 0; s < COUNT(sizes); s++)
            for (size_t k = 0; k < COUNT(terms); k++)
                every_mode(batches[b], sizes[s], terms[k], k % 2 ? "0.9" : "1", k % 3 ? "normal" : "naninf", "2");
}

static void every_family(void **state) {
    (void)state;
    static const char *const families[] = {"uniform",   "normal",      "ones",  "ramp",     "constant", "integers", "offset1e3",
                                           "spike1e16", "alternating", "mixed", "denormal", "naninf",   "sorted",   "heavytail"};
    for (size_t f = 0; f < COUNT(families); f++) {
        every_mode(2, 3003, 0, "0.99", families[f], "2");
        every_mode(2, 1003, 20, "0.999", families[f], "2");
        every_mode(2, 1003, 70, "0.999", families[f], "2");
    }
}

enum { SMALL_GAMMAS = 11 };

/* 0 and what carries NaN over it, growth beyond the dtype, alternating signs, powers that underflow in a step, a block, a window.
 */
static void every_gamma(void **state) {
    (void)state;
    static const char *const gammas[] = {"0", "1",    "1.0001", "-0.5",  "-1",   "0.9",  "1.5",
                                         "2", "1e-3", "-1e-30", "1e-37", "1e30", "-1e30"};
    static const char *const families[] = {"normal", "naninf", "integers"};
    for (size_t g = 0; g < COUNT(gammas); g++)
        for (size_t f = 0; f < COUNT(families); f++) {
            every_mode(1, 700, 0, gammas[g], families[f], "2");
            if (g >= SMALL_GAMMAS) continue; /* their powers leave the range of double within a window */
            every_mode(1, 200, 12, gammas[g], families[f], "2");
            every_mode(1, 300, 60, gammas[g], families[f], "2");
        }
}

/* Several blocks per row, whose carries go from thread to thread. */
static void long_rows(void **state) {
    (void)state;
    static const char *const threads[] = {"1", "2", "5"}, *const families[] = {"normal", "naninf", "mixed"};
    static const size_t sizes[] = {32767, 32768, 32769, 65536, 150001};
    for (size_t s = 0; s < COUNT(sizes); s++)
        for (size_t m = 0; m < COUNT(families); m++)
            every_mode(2, sizes[s], 0, m ? "0.999" : "1", families[m], threads[(s + m) % 3]);
    every_mode(1, 150001, 0, "0.5", "naninf", "3");
    every_mode(1, 100001, 3000, "0.999", "normal", "3");
    every_mode(1, 100001, 70000, "0.9999", "mixed", "3");
}

/* A number at each border of blocks of k that every further one is rounded up against. */
static void hard_borders(void **state) {
    (void)state;
    for (int m = 0; m < 4; m++) {
        const bool left = m & 1, f32 = m & 2;
        Scan self = scan_open("discounted_cumsum direction=%s dtype=%s batch=5 n=20000 k=5000 gamma=1 input=ones",
                              left ? "left" : "right", f32 ? "f32" : "f64");
        for (size_t i = 0; i < self.batch * self.n; i++) {
            const size_t column = i % self.n, position = left ? column : self.n - 1 - column;
            array_set(&self.in[0], i, position % 5000 == 4999 ? (f32 ? 0x1p24 : 0x1p53) : 1.25);
        }
        check_all(&self, "2");
    }
}

/* The published example, worked out by hand. */
static void eight_ones(void **state) {
    (void)state;
    static const double all[] = {7.7255, 6.7935, 5.8520, 4.9010, 3.9404, 2.9701, 1.9900, 1.0000}, two[] = {1.99, 1};
    for (size_t v = 0; v < VARIANT_COUNT; v++) {
        char reason[REASON_MAX];
        Scan self = scan_open("discounted_cumsum n=8 gamma=0.99 input=ones dtype=f64"),
             second = scan_open("discounted_cumsum n=8 k=2 gamma=0.99 input=ones");
        assert_true(scan_run(variant_of(VARIANTS[v].id), &self, NULL, reason));
        assert_true(scan_run(variant_of(VARIANTS[v].id), &second, NULL, reason));
        for (size_t i = 0; i < 8; i++) {
            assert_true(fabs(array_get(&self.out[0], i) - all[i]) <= 5e-5);
            assert_true(fabs(array_get(&second.out[0], i) - two[i == 7]) <= 1e-15);
        }
        scan_close(&self);
        scan_close(&second);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_ones),  cmocka_unit_test(shapes),    cmocka_unit_test(windows),      cmocka_unit_test(every_family),
        cmocka_unit_test(every_gamma), cmocka_unit_test(long_rows), cmocka_unit_test(hard_borders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
