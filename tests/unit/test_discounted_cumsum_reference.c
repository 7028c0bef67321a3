/* The reference of `discounted_cumsum` against 600-bit brute force and the documented example. */
/* needs: discounted_cumsum */
#include "discount_brute.h"

/* The check is one that can fail. */
static void wrong_references_are_refused(void **state) {
    (void)state;
    static const double finite[] = {0, 1, -0x1p1023, 0x1p-1074, 0x1.fffffffffffffp1023};
    static const double special[] = {NAN, INFINITY, -INFINITY};
    for (size_t s = 0; s < 3; s++) {
        for (size_t f = 0; f < 5; f++) {
            assert_false(reference_agrees(finite[f], special[s], 0x1p-52, 1e300));
            assert_false(reference_agrees(special[s], finite[f], 0x1p-52, 1e300));
        }
        for (size_t other = 0; other < 3; other++)
            assert_true(reference_agrees(special[other], special[s], 0x1p-52, 0) == (other == s));
        assert_false(reference_agrees(special[s], special[s], 0x1p-52, 1));
    }
    assert_true(reference_agrees(1, 1, 0, 0) && reference_agrees(1, 1 + 0x1p-52, 0x1p-52, 0) && reference_agrees(1, 2, 0, 0x1p20));
    assert_false(reference_agrees(1, 1 + 0x1p-51, 0x1p-52, 0) || reference_agrees(1, 2, 0, 0x1p19) ||
                 reference_agrees(1, 1, 0, -1) || reference_agrees(1, 1, 0, (double)NAN));
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

/* From the project that published the operator: n = 8, gamma = 0.99, ones. */
static void the_documented_example(void **state) {
    (void)state;
    static const double expected[] = {7.7255, 6.7935, 5.8520, 4.9010, 3.9404, 2.9701, 1.9900, 1.0000};
    for (int f32 = 0; f32 < 2; f32++)
        for (int left = 0; left < 2; left++)
            for (int two = 0; two < 2; two++) {
                Scan self = scan_open("discounted_cumsum n=8 gamma=0.99 direction=%s k=%d dtype=%s input=ones",
                                      left ? "left" : "right", two ? 2 : 0, f32 ? "f32" : "f64");
                scan_reference(&self, 0);
                for (size_t i = 0; i < 8; i++) {
                    const double value = self.reference[0].value[left ? 7 - i : i], wanted = two && i < 7 ? 1.99 : expected[i];
                    if (!(fabs(value - wanted) <= 0.5001e-4)) fail_msg("%s at %zu: %a", self.text, i, value);
                }
                scan_close(&self);
            }
}

int main(void) {
    mpfr_init2(sum, BITS);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_references_are_refused),
        cmocka_unit_test(every_family_agrees_with_brute_force),
        cmocka_unit_test(every_number_of_terms_and_discount_agrees_with_brute_force),
        cmocka_unit_test(long_rows_agree_with_the_recurrence),
        cmocka_unit_test(the_documented_example),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
