/* The CPU variants of discounted_cumsum_grad against the op's reference and its own bound, in every mode. */
#include "scan_cpu_support.h"

static const ScanVariant VARIANTS[] = {{"cpu_sequential", VARIANT_ID(discounted_cumsum_grad, cpu_sequential)},
                                       {"cpu_best", VARIANT_ID(discounted_cumsum_grad, cpu_best)}};
enum { VARIANT_COUNT = sizeof VARIANTS / sizeof *VARIANTS };

static const char *const DIRECTIONS[] = {"right", "left"}, *const PER[] = {"all", "row", "element"};
#define COUNT(table) (sizeof(table) / sizeof *(table))

static void every_mode(size_t batch, size_t n, size_t k, const char *gamma, const char *input, const char *threads) {
    for (size_t m = 0; m < 2 * 2 * 3 * 2; m++) {
        Scan self = scan_open("discounted_cumsum_grad direction=%s dtype=%s gamma_per=%s reset=%s batch=%zu n=%zu k=%zu gamma=%s "
                              "input=%s seed=%zu",
                              DIRECTIONS[m % 2], m / 2 % 2 ? "f32" : "f64", PER[m / 4 % 3], m / 12 ? "mask" : "none", batch, n, k,
                              gamma, input, n + k + m);
        scan_reference(&self, 0);
        for (size_t v = 0; v < VARIANT_COUNT; v++) scan_check(&VARIANTS[v], &self, threads);
        scan_close(&self);
    }
}

static void shapes(void **state) {
    (void)state;
    static const size_t batches[] = {0, 1, 3, 5}, sizes[] = {0, 1, 2, 7, 8, 9, 33, 257, 1023};
    for (size_t b = 0; b < COUNT(batches); b++)
        for (size_t s = 0; s < COUNT(sizes); s++) every_mode(batches[b], sizes[s], 0, "0.99", "normal", "2");
    every_mode(70000, 2, 0, "0.9", "normal", "2");
}

static void windows(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 2, 33, 300, 4200}, terms[] = {1, 2, 3, 32, 100, 299, 300, 301};
    for (size_t s = 0; s < COUNT(sizes); s++)
        for (size_t k = 0; k < COUNT(terms); k++) every_mode(2, sizes[s], terms[k], k % 2 ? "0.9" : "1", "normal", "2");
}

static void every_gamma(void **state) {
    (void)state;
    static const char *const gammas[] = {"0", "1", "1.0001", "-0.5", "-1", "0.5", "1e-3"};
    for (size_t g = 0; g < COUNT(gammas); g++) {
        every_mode(2, 700, 0, gammas[g], "normal", "2");
        every_mode(1, 200, 12, gammas[g], "integers", "2");
    }
}

static void every_family(void **state) {
    (void)state;
    static const char *const families[] = {"uniform",     "ones",  "ramp",   "integers", "offset1e3",
                                           "alternating", "mixed", "naninf", "heavytail"};
    for (size_t f = 0; f < COUNT(families); f++) every_mode(2, 2003, 0, "0.99", families[f], "2");
}

static void long_rows(void **state) {
    (void)state;
    static const char *const threads[] = {"1", "2", "5"};
    static const size_t sizes[] = {32768, 32769, 32770, 100001};
    for (size_t s = 0; s < COUNT(sizes); s++) every_mode(2, sizes[s], 0, "0.999", "normal", threads[s % 3]);
}

/* Products of floats beyond the range of floats, whose sum comes back: 1e20 (1e20 - 1e20). */
static void products_pass_the_range_of_floats(void **state) {
    (void)state;
    for (size_t p = 0; p < COUNT(PER) - 1; p++) {
        Scan self = scan_open("discounted_cumsum_grad batch=300 n=4 gamma=1 gamma_per=%s dtype=f32 input=integers", PER[p]);
        static const double x[] = {0, 2e20, -1e20, 0}, dy[] = {1e20, 0, 0, 0};
        Array *gamma = scan_array(&self, "gamma");
        for (size_t i = 0; i < array_count(gamma); i++) array_set(gamma, i, 1);
        for (size_t i = 0; i < 4; i++) {
            array_set(scan_array(&self, "x"), i, x[i]);
            array_set(scan_array(&self, "dy"), i, dy[i]);
        }
        scan_reference(&self, 0);
        if (p == 1) assert_true(self.reference[1].value[0] == 0);
        for (size_t v = 0; v < VARIANT_COUNT; v++) {
            scan_check(&VARIANTS[v], &self, "2");
            if (p == 1) assert_true(array_get(&self.out[1], 0) == 0);
        }
        scan_close(&self);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes),       cmocka_unit_test(windows),   cmocka_unit_test(every_gamma),
        cmocka_unit_test(every_family), cmocka_unit_test(long_rows), cmocka_unit_test(products_pass_the_range_of_floats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
