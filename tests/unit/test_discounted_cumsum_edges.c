/* The reference of `discounted_cumsum` at its edges: planted NaN and inf, overflow, nothing at all, other threads, users' arrays.
 */
/* needs: discounted_cumsum */
#include "reference/discounted_cumsum/discount.h"
#include "scan_support.h"

#include <omp.h>

/* One NaN, or inf, in a row of 60 with resets: who may see it. */
static void a_nan_reaches_what_depends_on_it_and_nothing_else(void **state) {
    (void)state;
    enum { N = 60, PLANTED = 17 };
    static const double planted[] = {NAN, INFINITY, -INFINITY};
    static const char *const gammas[] = {"0.8", "-0.8"};
    for (int mode = 0; mode < 16; mode++)
        for (int kind = 0; kind < 3; kind++) {
            const bool left = mode & 1, mask = mode & 2, few = mode & 4, negative = mode & 8;
            Scan self = scan_open("discounted_cumsum batch=2 n=60 gamma=%s direction=%s reset=%s k=%d dtype=f32 input=normal",
                                  gammas[negative], left ? "left" : "right", mask ? "mask" : "none", few ? 6 : 0);
            if (mask)
                for (size_t i = 0; i < 2 * N; i++) array_set(scan_array(&self, "reset"), i, i % N == 10 || i % N == 30);
            array_set(&self.in[0], N + PLANTED, planted[kind]);
            scan_reference(&self, 0);
            for (size_t i = 0; i < 2 * N; i++) {
                const double value = self.reference[0].value[i];
                const ptrdiff_t away = left ? (ptrdiff_t)i - (N + PLANTED) : N + PLANTED - (ptrdiff_t)i;
                bool sees = i >= N && away >= 0 && (!few || away < 6);
                if (mask && left) sees = sees && i < N + 30;
                if (mask && !left) sees = sees && i > N + 10; /* 10 itself gets nothing */
                const double expected = negative && away % 2 ? -planted[kind] : planted[kind];
                if (sees ? !same_value(value, expected) : !isfinite(value)) fail_msg("%s at %zu: %g", self.text, i, value);
                if (sees && self.reference[0].tolerance[i] != 0) fail_msg("%s at %zu: a tolerance for %g", self.text, i, value);
            }
            scan_close(&self);
        }
}

/* 0 * inf is NaN and is carried on; growth past the dtype is inf from there on, and a reset ends it. */
static void zeros_overflow_and_resets(void **state) {
    (void)state;
    Scan zero = scan_open("discounted_cumsum n=5 gamma=0 direction=left dtype=f64 input=ones");
    array_set(&zero.in[0], 1, INFINITY);
    scan_reference(&zero, 0);
    const double *y = zero.reference[0].value;
    assert_true(y[0] == 1 && y[1] == INFINITY && isnan(y[2]) && isnan(y[4]));
    scan_close(&zero);
    for (int f32 = 0; f32 < 2; f32++) {
        Scan grow =
            scan_open("discounted_cumsum n=4000 gamma=2 direction=left reset=mask dtype=%s input=ones", f32 ? "f32" : "f64");
        memset(scan_array(&grow, "reset")->data, 0, 4000);
        array_set(scan_array(&grow, "reset"), 3000, 1);
        scan_reference(&grow, 0);
        const size_t last = f32 ? 126 : 1022; /* 2^(i+1) - 1 */
        y = grow.reference[0].value;
        if (!(y[last] == ldexp(1, (int)last + 1) - (f32 ? 1 : 0)) || y[last + 2] != INFINITY || y[2999] != INFINITY)
            fail_msg("%s: %a %a %a", grow.text, y[last], y[last + 2], y[2999]);
        assert_true(y[3000] == 1 && y[3001] == 3);
        scan_close(&grow);
    }
}

static void any_number_of_threads_gives_the_same_bits(void **state) {
    (void)state;
    static const char *const modes[] = {"n=400000", "n=400000 k=1000", "n=3000 batch=100 k=7 reset=mask",
                                        "n=300000 gamma_per=element"};
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
        Scan one = scan_open("discounted_cumsum %s dtype=f64 input=heavytail seed=2", modes[m]);
        Scan many = scan_open("discounted_cumsum %s dtype=f64 input=heavytail seed=2", modes[m]);
        omp_set_num_threads(1);
        scan_reference(&one, 0);
        omp_set_num_threads(7);
        scan_reference(&many, 0);
        const size_t bytes = one.n * one.batch * sizeof(double);
        assert_memory_equal(one.reference[0].value, many.reference[0].value, bytes);
        assert_memory_equal(one.reference[0].tolerance, many.reference[0].tolerance, bytes);
        scan_close(&one);
        scan_close(&many);
    }
}

/* A long row's bounds are sharpened in blocks; behind a cut they are those of the rest alone, which is short enough for one pass.
 */
static void blocks_of_a_row_change_no_bound(void **state) {
    (void)state;
    enum { N = 262143, REST = 130001, CUT = N - REST }; /* both have as many levels of parts */
    static double x[N], y[N], whole[N], rest[REST];
    static unsigned char reset[N];
    static DiscountPart parts[N], parts_of_rest[REST];
    const DiscountErrors errors = {.u = 0x1p-53, .tiny = 0x1p-1074, .depth = 84, .steps = 2, .more = 1.01, .most = 0x1p-8};
    RecurrenceLine line = {.x = x, .reset = reset, .n = N, .factor = dd_from(0.999), .scale = 1, .limit = INFINITY};
    assert_true(recurrence_is_long(N) && !recurrence_is_long(REST));
    reset[CUT] = 1;
    for (size_t i = 0; i < N; i++) {
        x[i] = i % 7 == 0 ? -3.25 : i % 1001 == 5 ? NAN : 1 / (double)(i + 1);
        y[i] = x[i] + (i > 0 && !reset[i] ? 0.999 * y[i - 1] : 0);
        if (isnan(y[i]) && i % 3000 > 1500 && i + 1 < N) reset[i + 1] = 1; /* some stretches are finite */
        whole[i] = 1;
    }
    for (size_t i = 0; i < REST; i++) rest[i] = 1;
    assert_true(discount_sharpen(&errors, &line, y, whole, parts));
    line.x = x + CUT, line.reset = reset + CUT, line.n = REST;
    assert_true(discount_sharpen(&errors, &line, y + CUT, rest, parts_of_rest));
    assert_memory_equal(whole + CUT, rest, sizeof rest);
    assert_memory_equal(parts + CUT, parts_of_rest, sizeof parts_of_rest);
    size_t lowered = 0;
    for (size_t i = 0; i < N; i++) lowered += whole[i] < 1;
    assert_true(lowered > N / 10);
}

static void empty_cases(void **state) {
    (void)state;
    static const char *const sizes[] = {"n=0", "n=0 batch=5 gamma_per=row k=3", "n=7 batch=0 gamma_per=row",
                                        "n=0 batch=0 reset=mask"};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int bound = 0; bound < 2; bound++) {
            Scan self = scan_open("discounted_cumsum %s dtype=f32 input=ones", sizes[s]);
            scan_reference(&self, bound);
            assert_int_equal(array_count(&self.out[0]), 0);
            scan_close(&self);
        }
}

static void adopt_fails(Array *in, const char *words) {
    const Op *op;
    Case problem;
    assert_int_equal(registry_require_op("discounted_cumsum", &op), STATUS_OK);
    assert_int_equal(case_init(op, &problem), STATUS_OK);
    assert_int_equal(op->adopt(in, &problem), STATUS_INVALID);
    if (!strstr(status_message(), words)) fail_msg("'%s' is not in: %s", words, status_message());
}

static Array matrix(const char *name, DType dtype, size_t rows, size_t n) {
    Array array = array_1d(name, dtype, rows);
    array.rank = 2;
    array.shape[1] = n;
    return array;
}

static void arrays_decide_the_parameters(void **state) {
    (void)state;
    static const Array missing = {.rank = -1};
    const Op *op;
    Case problem;
    assert_int_equal(registry_require_op("discounted_cumsum", &op), STATUS_OK);
    assert_int_equal(case_init(op, &problem), STATUS_OK);
    Array in[4] = {array_1d("x", DTYPE_F32, 70), missing, missing, missing};
    assert_int_equal(op->adopt(in, &problem), STATUS_OK);
    assert_true(params_int(&problem.params, "n") == 70 && params_int(&problem.params, "batch") == 1);
    assert_int_equal(problem.dtype, DTYPE_F32);
    in[1] = array_1d("gamma", DTYPE_F32, 70);
    assert_int_equal(op->adopt(in, &problem), STATUS_OK);
    assert_string_equal(params_text(&problem.params, "gamma_per"), "element");
    in[0] = matrix("x", DTYPE_F64, 70, 3);
    in[1].dtype = DTYPE_F64;
    in[3] = matrix("reset", DTYPE_U8, 70, 3);
    assert_int_equal(op->adopt(in, &problem), STATUS_OK);
    assert_string_equal(params_text(&problem.params, "gamma_per"), "row");
    assert_string_equal(params_text(&problem.params, "reset"), "mask");
    in[1] = array_1d("gamma", DTYPE_F64, 1);
    assert_int_equal(op->adopt(in, &problem), STATUS_OK);
    assert_string_equal(params_text(&problem.params, "gamma_per"), "all");
    in[1] = matrix("gamma", DTYPE_F64, 70, 4);
    adopt_fails(in, "gamma: [1], [batch] or the shape of x");
    double factors[70] = {[5] = NAN};
    in[1] = array_1d("gamma", DTYPE_F64, 70);
    in[1].data = factors;
    adopt_fails(in, "gamma[5] is");
    factors[5] = -INFINITY;
    adopt_fails(in, "gamma[5] is -inf");
    factors[5] = 1e300;
    assert_int_equal(op->adopt(in, &problem), STATUS_OK);
    in[1] = array_1d("gamma", DTYPE_F32, 70);
    adopt_fails(in, "gamma: f64 is expected");
    in[1] = missing;
    in[3] = array_1d("reset", DTYPE_U8, 210);
    adopt_fails(in, "reset: the shape of x");
    in[3] = matrix("reset", DTYPE_F64, 70, 3);
    adopt_fails(in, "reset: u8");
    in[3] = missing;
    in[2] = array_1d("initial", DTYPE_F64, 3);
    adopt_fails(in, "initial: [batch] is expected");
    in[2] = array_1d("initial", DTYPE_F64, 70);
    assert_int_equal(op->adopt(in, &problem), STATUS_OK);
    assert_string_equal(params_text(&problem.params, "state"), "both");
    assert_int_equal(params_set(&problem.params, "layout", "time_major"), STATUS_OK);
    in[2] = array_1d("initial", DTYPE_F64, 3);
    assert_int_equal(op->adopt(in, &problem), STATUS_OK);
    assert_true(params_int(&problem.params, "n") == 70 && params_int(&problem.params, "batch") == 3);
    in[0].rank = 3;
    adopt_fails(in, "x: one or two dimensions");
    in[0] = missing;
    adopt_fails(in, "x: missing");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_nan_reaches_what_depends_on_it_and_nothing_else),
        cmocka_unit_test(zeros_overflow_and_resets),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(blocks_of_a_row_change_no_bound),
        cmocka_unit_test(empty_cases),
        cmocka_unit_test(arrays_decide_the_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
