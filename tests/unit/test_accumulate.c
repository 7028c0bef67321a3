/* What may be stored of a sum in f16 and bf16: the ends of what the op's bound admits, rounded, and nothing two numbers further. */
#include "base/numbers.h"
#include "verify/accumulate.h"
#include "verify/norms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <omp.h>
#include <string.h>

static double sum, bound;

/* Of one element: what the test says. The input arrives in f32. */
static Status told(const Case *problem, const Array *in, int which, Reference *out) {
    (void)which;
    assert_int_equal(problem->dtype, DTYPE_F32);
    assert_int_equal(in[0].dtype, DTYPE_F32);
    assert_true(((const float *)in[0].data)[0] == 1.5F);
    out[0].value[0] = sum;
    out[0].tolerance[0] = bound;
    return STATUS_OK;
}

static const Op OP = {.name = "told", .in_count = 1, .out_count = 1, .reference = told};

static Reference reference_of(DType dtype, double *value, double *tolerance) {
    uint16_t one = narrow_bits(narrow_form(dtype), 1.5);
    Array in = array_1d("x", dtype, 1), out = array_1d("y", dtype, 1);
    in.data = &one;
    Reference reference = {value, tolerance};
    assert_int_equal(accumulated_reference(&OP, &(Case){.dtype = dtype}, &in, &out, 0, &reference), STATUS_OK);
    return reference;
}

static bool passes(DType dtype, const Reference *reference, int bits) {
    uint16_t element = (uint16_t)bits;
    Array actual = array_1d("y", dtype, 1);
    ErrorReport report;
    actual.data = &element;
    norms_compare(&actual, reference->value, reference->tolerance, &report);
    return report.pass;
}

static void check(DType dtype, double value, double tolerance) {
    const NarrowForm form = narrow_form(dtype);
    const int low = narrow_bits(form, value - tolerance), high = narrow_bits(form, value + tolerance);
    double v, t;
    sum = value, bound = tolerance;
    const Reference reference = reference_of(dtype, &v, &t);
    for (int bits = low; bits <= high; bits++)
        if (!passes(dtype, &reference, bits)) fail_msg("%a +- %a: %04x of %04x to %04x fails", value, tolerance, bits, low, high);
    if (low > 2) assert_false(passes(dtype, &reference, low - 2));
    if (high + 2 < (int)narrow_infinity(form)) assert_false(passes(dtype, &reference, high + 2));
    if (high < (int)narrow_infinity(form)) assert_false(passes(dtype, &reference, (int)narrow_infinity(form)));
    assert_false(passes(dtype, &reference, 0xffff));
}

static void what_a_sum_may_be_rounded_to(void **state) {
    (void)state;
    for (int d = 0; d < 2; d++) {
        const DType dtype = d ? DTYPE_BF16 : DTYPE_F16;
        const NarrowForm form = d ? NARROW_BF16 : NARROW_F16;
        for (int bits = 1; bits + 1 < (int)narrow_infinity(form); bits += 211)
            for (int k = 0; k < 8; k++) {
                const double low = narrow_value(form, (uint16_t)bits), step = narrow_value(form, (uint16_t)(bits + 1)) - low;
                for (int wide = 0; wide < 4; wide++) check(dtype, low + step * k / 8, step * (double[]){0, 0.01, 0.4, 1.7}[wide]);
            }
    }
}

static void at_the_end_of_the_range(void **state) {
    (void)state;
    static const double ENDS[] = {65520, 0x1.ffp127}, STEPS[] = {32, 0x1p120};
    for (int d = 0; d < 2; d++)
        for (int k = -12; k <= 12; k++)
            for (int wide = 0; wide < 3; wide++)
                check(d ? DTYPE_BF16 : DTYPE_F16, ENDS[d] + STEPS[d] * k / 8, STEPS[d] * (double[]){0, 0.01, 0.3}[wide]);
}

/* No tolerance: the nearest, and of a number of the type itself alone. */
static void exact_sums_have_one_value(void **state) {
    (void)state;
    double value, tolerance;
    sum = 1 + 0x1p-11 + 0x1p-30, bound = 0;
    Reference reference = reference_of(DTYPE_F16, &value, &tolerance);
    assert_true(passes(DTYPE_F16, &reference, 0x3c01) && !passes(DTYPE_F16, &reference, 0x3c00));
    sum = 1;
    reference = reference_of(DTYPE_F16, &value, &tolerance);
    assert_true(tolerance == 0 && passes(DTYPE_F16, &reference, 0x3c00) && !passes(DTYPE_F16, &reference, 0x3bff));
    sum = NAN;
    reference = reference_of(DTYPE_F16, &value, &tolerance);
    assert_true(isnan(value) && passes(DTYPE_F16, &reference, 0x7e00) && !passes(DTYPE_F16, &reference, 0));
    sum = -70000;
    reference = reference_of(DTYPE_F16, &value, &tolerance);
    assert_true(value == -INFINITY && passes(DTYPE_F16, &reference, 0xfc00) && !passes(DTYPE_F16, &reference, 0xfbff));
}

int main(void) {
    omp_set_num_threads(1); /* comparisons of one element each */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_sum_may_be_rounded_to),
        cmocka_unit_test(at_the_end_of_the_range),
        cmocka_unit_test(exact_sums_have_one_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
