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

/* The definition: from the first element of the sum to its last, exactly but for rounding to 600 bits; NaN and inf as doubles do.
 */
static double brute_force(const Reader *r, size_t row, size_t p) {
    const bool mask = array_count(r->reset) > 0;
    size_t first = p + 1 >= r->terms ? p + 1 - r->terms : 0;
    for (size_t q = p; mask && q > first; q--)
        if (array_get(r->reset, index_of(r, row, q)) != 0) first = q;
    mpfr_set_zero(sum, 1);
    double plain = 0;
    for (size_t q = first; q <= p; q++) {
        const double x = array_get(r->x, index_of(r, row, q)), factor = factor_of(r, row, q);
        if (q > first) mpfr_mul_d(sum, sum, factor, MPFR_RNDN);
        plain = q > first ? factor * plain + x : x;
        mpfr_add_d(sum, sum, x, MPFR_RNDN);
    }
    if (!isfinite(plain)) return plain;
    return mpfr_get_d(sum, MPFR_RNDN);
}

/* Values: the exact one, rounded, or its neighbour; under cancellation, far below the tolerance. */
static void check(Scan *self) {
    const Reader r = reader_of(self);
    for (size_t row = 0; row < self->batch; row++)
        for (size_t p = 0; p < self->n; p++) {
            const size_t i = index_of(&r, row, p);
            const double value = self->truth[0].value[i], tolerance = self->truth[0].tolerance[i];
            const double expected = brute_force(&r, row, p);
            if (!(tolerance >= 0)) fail_msg("%s: tolerance %a at %zu", self->text, tolerance, i);
            if (!same_value(value, expected) &&
                !(fabs(value - expected) <= 0x1p-52 * fabs(expected) + 0x1p-20 * tolerance + 0x1p-1074))
                fail_msg("%s at %zu: %a, not %a (tolerance %a)", self->text, i, value, expected, tolerance);
        }
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
static void check_long(const char *text, bool plant) {
    Scan self = scan_open("%s", text);
    const Reader r = reader_of(&self);
    for (size_t i = 0; plant && i < 3; i++) /* nothing behind an impulse: values sink through the subnormal numbers */
        array_set(&self.in[0], 100000 * i + 5, i == 1 ? INFINITY : NAN);
    scan_truth(&self, 0);
    mpfr_set_zero(sum, 1);
    double plain = 0;
    for (size_t p = 0; p < self.n; p++) {
        const size_t i = index_of(&r, 0, p);
        const bool reset = array_count(r.reset) > 0 && array_get(r.reset, i) != 0;
        const double factor = p == 0 || reset ? 0 : factor_of(&r, 0, p), x = array_get(r.x, i);
        if (p == 0 || reset) {
            plain = x;
            mpfr_set_zero(sum, 1);
        } else {
            plain = plain * factor + x;
        }
        mpfr_mul_d(sum, sum, factor, MPFR_RNDN);
        if (isfinite(x)) mpfr_add_d(sum, sum, x, MPFR_RNDN);
        const double expected = isfinite(plain) ? mpfr_get_d(sum, MPFR_RNDN) : plain, value = self.truth[0].value[i];
        if (!same_value(value, expected) &&
            !(fabs(value - expected) <= 0x1p-52 * fabs(expected) + 0x1p-20 * self.truth[0].tolerance[i] + 0x1p-1074))
            fail_msg("%s at %zu: %a, not %a (tolerance %a)", self.text, i, value, expected, self.truth[0].tolerance[i]);
    }
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
                                        "gamma=1e-300"};
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
        cmocka_unit_test(the_documented_example),
        cmocka_unit_test(every_family_agrees_with_brute_force),
        cmocka_unit_test(every_number_of_terms_and_discount_agrees_with_brute_force),
        cmocka_unit_test(long_rows_agree_with_the_recurrence),
        cmocka_unit_test(subnormal_elements_grow_to_infinity),
        cmocka_unit_test(a_lone_impulse_fades_to_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
