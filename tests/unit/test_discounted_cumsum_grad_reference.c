/* The reference of `discounted_cumsum_grad` against the definition in 600 bits, against finite differences of the reference of
 * `discounted_cumsum`, and with NaN planted. */
/* needs: discounted_cumsum_grad discounted_cumsum */
#include "scan_support.h"

#include <mpfr.h>

enum { BITS = 600 };

static mpfr_t dx_sum, dgamma_sum, product, others;

typedef struct Grad {
    Scan scan;
    const Array *x, *gamma, *dy, *reset;
    bool left;
    int per; /* all, row, element */
    size_t n, terms;
} Grad;

/* In place: it points into itself. */
static void grad_open(Grad *self, const char *text) {
    *self = (Grad){.scan = scan_open("%s", text)};
    const Params *params = &self->scan.problem.params;
    self->x = scan_array(&self->scan, "x");
    self->gamma = scan_array(&self->scan, "gamma");
    self->dy = scan_array(&self->scan, "dy");
    self->reset = scan_array(&self->scan, "reset");
    self->left = params_choice(params, "direction") == 1;
    self->per = params_choice(params, "gamma_per");
    self->n = self->scan.n;
    const size_t k = (size_t)params_int(params, "k");
    self->terms = k && k < self->n ? k : self->n;
}

/* Index of a position of the reading order, in which sums run from left to right. */
static size_t at(const Grad *g, size_t row, size_t p) {
    return row * g->n + (g->left ? p : g->n - 1 - p);
}

static size_t gamma_index(const Grad *g, size_t row, size_t p) {
    return g->per == 0 ? 0 : g->per == 1 ? row : at(g, row, p);
}

/* Is x[q] part of the sum at p, with p - q factors? */
static bool reaches(const Grad *g, size_t row, size_t q, size_t p) {
    if (p - q >= g->terms) return false;
    for (size_t m = q + 1; m <= p && array_count(g->reset) > 0; m++)
        if (array_get(g->reset, at(g, row, m)) != 0) return false;
    return true;
}

static void check_value(const Grad *g, int output, size_t i, mpfr_t exact) {
    double expected = mpfr_get_d(exact, MPFR_RNDN);
    if (g->x->dtype == DTYPE_F32 && fabs(expected) >= 0x1.ffffffp127) expected = copysign(INFINITY, expected);
    const double value = g->scan.reference[output].value[i], tolerance = g->scan.reference[output].tolerance[i];
    if (!reference_agrees(value, expected, 0x1p-52, tolerance))
        fail_msg("%s: %s[%zu] = %a, not %a (tolerance %a)", g->scan.text, g->scan.out[output].name, i, value, expected, tolerance);
}

/* dL/dx[q] and dL/dgamma of every index, by the definition: all pairs, all factors of each. */
static void check(Grad *g) {
    const size_t gammas = array_count(g->gamma);
    mpfr_t *dgamma = malloc((gammas + 1) * sizeof *dgamma);
    for (size_t i = 0; i < gammas; i++) {
        mpfr_init2(dgamma[i], BITS);
        mpfr_set_zero(dgamma[i], 1);
    }
    for (size_t row = 0; row < g->scan.batch; row++)
        for (size_t q = 0; q < g->n; q++) {
            mpfr_set_zero(dx_sum, 1);
            for (size_t p = q; p < g->n && reaches(g, row, q, p); p++) {
                const double dy = array_get(g->dy, at(g, row, p)), x = array_get(g->x, at(g, row, q));
                mpfr_set_d(product, dy, MPFR_RNDN);
                for (size_t m = q + 1; m <= p; m++)
                    mpfr_mul_d(product, product, array_get(g->gamma, gamma_index(g, row, m)), MPFR_RNDN);
                mpfr_add(dx_sum, dx_sum, product, MPFR_RNDN);
                for (size_t e = q + 1; e <= p; e++) {
                    mpfr_set_d(others, dy, MPFR_RNDN);
                    mpfr_mul_d(others, others, x, MPFR_RNDN);
                    for (size_t m = q + 1; m <= p; m++)
                        if (m != e) mpfr_mul_d(others, others, array_get(g->gamma, gamma_index(g, row, m)), MPFR_RNDN);
                    mpfr_t *into = &dgamma[gamma_index(g, row, e)];
                    mpfr_add(*into, *into, others, MPFR_RNDN);
                }
            }
            check_value(g, 0, at(g, row, q), dx_sum);
        }
    for (size_t i = 0; i < gammas; i++) {
        check_value(g, 1, i, dgamma[i]);
        mpfr_clear(dgamma[i]);
    }
    free(dgamma);
}

static const char *const PER[] = {"all", "row", "element"};

static void every_mode_agrees_with_the_definition(void **state) {
    (void)state;
    static const size_t terms[] = {0, 1, 2, 3, 5, 8, 22, 23, 24};
    static const char *const gammas[] = {"0.9", "0", "1", "-0.5", "1.3"};
    static const char *const inputs[] = {"normal", "integers", "mixed"};
    for (size_t k = 0; k < sizeof terms / sizeof *terms; k++)
        for (size_t g = 0; g < sizeof gammas / sizeof *gammas; g++)
            for (int mode = 0; mode < 12; mode++) {
                char text[512];
                snprintf(text, sizeof text,
                         "discounted_cumsum_grad batch=2 n=24 k=%zu gamma=%s gamma_per=%s direction=%s reset=%s dtype=%s input=%s "
                         "seed=%d",
                         terms[k], gammas[g], PER[mode % 3], mode & 1 ? "left" : "right", mode & 2 ? "mask" : "none",
                         mode & 4 ? "f32" : "f64", inputs[mode % 3], mode);
                Grad self;
                grad_open(&self, text);
                if (mode & 2) /* the generated ones are too rare here */
                    for (size_t i = 3; i < array_count(self.reset); i += 7) array_set(scan_array(&self.scan, "reset"), i, 1);
                scan_reference(&self.scan, 0);
                check(&self);
                scan_close(&self.scan);
            }
}

/* Impulses among zeros: products of factors beyond the range of doubles that meet nothing, or what is small enough. */
static void factors_leave_the_range_and_gradients_do_not(void **state) {
    (void)state;
    static const char *const gammas[] = {"1e30", "-1e29", "1e-30"};
    for (int mode = 0; mode < 72; mode++) {
        const bool f32 = mode & 4;
        char text[512];
        snprintf(text, sizeof text,
                 "discounted_cumsum_grad batch=2 n=24 k=%d gamma=%s gamma_per=%s direction=%s reset=%s dtype=%s input=ones",
                 mode % 24 < 12 ? 20 : 13, gammas[mode / 24], PER[mode % 3], mode & 1 ? "left" : "right",
                 mode & 2 ? "mask" : "none", f32 ? "f32" : "f64");
        Grad self;
        grad_open(&self, text);
        for (size_t i = 0; i < 48; i++) {
            array_set(scan_array(&self.scan, "x"), i, i % 5 != 2 ? 0 : (i % 3 ? 3 : -5) * (f32 ? 0x1p-140 : 0x1p-1060));
            array_set(scan_array(&self.scan, "dy"), i, i % 7 != 3 ? 0 : (i % 2 ? 3 : -1) * (f32 ? 0x1p-145 : 0x1p-900));
            if (mode & 2) array_set(scan_array(&self.scan, "reset"), i, i == 9);
        }
        scan_reference(&self.scan, 0);
        check(&self);
        scan_close(&self.scan);
    }
}

/* An infinity over factors whose product is below any double is one still, and a 0 over those above is 0. */
static void infinities_survive_small_products(void **state) {
    (void)state;
    Grad g;
    grad_open(&g, "discounted_cumsum_grad n=24 k=20 gamma=1e-30 gamma_per=element direction=left dtype=f64 input=ones");
    for (size_t i = 0; i < 24; i++) {
        array_set(scan_array(&g.scan, "gamma"), i, 1e-30);
        array_set(scan_array(&g.scan, "x"), i, i == 2 ? INFINITY : 0);
        array_set(scan_array(&g.scan, "dy"), i, i == 21);
    }
    scan_reference(&g.scan, 0);
    for (size_t i = 0; i < 24; i++) { /* the one window that has both is [2, 21]; others have inf, and 0 of it is asked for */
        const double value = g.scan.reference[1].value[i];
        if (i < 3 || i > 21 ? value != 0 : i == 21 ? value != INFINITY : !isnan(value)) fail_msg("dgamma[%zu] = %a", i, value);
    }
    scan_close(&g.scan);
}

/* L = sum dy y by the reference of the op itself. */
static double loss(Scan *forward, const Array *dy) {
    scan_reference(forward, 0);
    long double sum = 0;
    for (size_t i = 0; i < array_count(dy); i++) sum += (long double)array_get(dy, i) * (long double)forward->reference[0].value[i];
    return (double)sum;
}

static void gradients_are_finite_differences(void **state) {
    (void)state;
    for (int mode = 0; mode < 24; mode++) {
        char modes[256], text[512];
        snprintf(modes, sizeof modes, "batch=3 n=60 gamma=0.8 gamma_per=%s direction=%s reset=%s k=%d dtype=f64 input=normal",
                 PER[mode % 3], mode & 1 ? "left" : "right", mode & 2 ? "mask" : "none", mode < 12 ? 0 : 9);
        snprintf(text, sizeof text, "discounted_cumsum_grad %s", modes);
        Grad g;
        grad_open(&g, text);
        Scan forward = scan_open("discounted_cumsum %s", modes);
        static const char *const shared[] = {"x", "gamma", "reset"};
        for (int i = 0; i < 3; i++) {
            const Array *from = scan_array(&g.scan, shared[i]);
            if (array_bytes(from) > 0) memcpy(scan_array(&forward, shared[i])->data, from->data, array_bytes(from));
        }
        scan_reference(&g.scan, 0);
        static const double step = 1e-5;
        for (int which = 0; which < 2; which++) { /* x, gamma */
            Array *input = scan_array(&forward, shared[which]);
            for (size_t i = 0; i < array_count(input); i++) {
                const double before = array_get(input, i);
                array_set(input, i, before + step);
                const double above = loss(&forward, g.dy);
                array_set(input, i, before - step);
                const double below = loss(&forward, g.dy);
                array_set(input, i, before);
                const double difference = (above - below) / (2 * step), value = g.scan.reference[which].value[i];
                if (!(fabs(value - difference) <= 1e-6 * (1 + fabs(value))))
                    fail_msg("%s, %s at %zu: %g, by differences %g", text, shared[which], i, value, difference);
            }
        }
        scan_close(&forward);
        scan_close(&g.scan);
    }
}

/* NaN in x[17] and in dy[40], 0-based, rows of 60: which gradients may know of them. */
static void a_nan_reaches_what_depends_on_it_and_nothing_else(void **state) {
    (void)state;
    enum { N = 60, IN_X = 17, IN_DY = 40 };
    for (int mode = 0; mode < 16; mode++) {
        const bool left = mode & 1, mask = mode & 2, few = mode & 4, second_row = mode & 8;
        char text[512];
        snprintf(
            text, sizeof text,
            "discounted_cumsum_grad batch=2 n=60 gamma=0.8 gamma_per=element direction=%s reset=%s k=%d dtype=f64 input=normal",
            left ? "left" : "right", mask ? "mask" : "none", few ? 6 : 0);
        Grad g;
        grad_open(&g, text);
        const size_t row = second_row ? 1 : 0;
        if (mask)
            for (size_t i = 0; i < 2 * N; i++) array_set(scan_array(&g.scan, "reset"), i, i % N == 20 || i % N == 35);
        array_set(scan_array(&g.scan, "x"), row * N + IN_X, NAN);
        array_set(scan_array(&g.scan, "dy"), row * N + IN_DY, NAN);
        scan_reference(&g.scan, 0);
        const size_t x_at = left ? IN_X : N - 1 - IN_X, dy_at = left ? IN_DY : N - 1 - IN_DY; /* positions */
        for (size_t r = 0; r < 2; r++)
            for (size_t p = 0; p < N; p++) {
                bool dx = false, dgamma = false;
                if (r == row) {
                    dx = p <= dy_at && reaches(&g, r, p, dy_at);
                    for (size_t e = p; e < N && p > 0; e++) /* a product with g[p]: begins before p, ends at e or after */
                        for (size_t q = 0; q < p; q++) dgamma = dgamma || ((q == x_at || e == dy_at) && reaches(&g, r, q, e));
                }
                const size_t i = at(&g, r, p);
                if (isnan(g.scan.reference[0].value[i]) != dx) fail_msg("%s: dx[%zu] = %g", text, i, g.scan.reference[0].value[i]);
                if (isnan(g.scan.reference[1].value[i]) != dgamma)
                    fail_msg("%s: dgamma[%zu] = %g", text, i, g.scan.reference[1].value[i]);
            }
        scan_close(&g.scan);
    }
}

/* y = x[0] + g x[1] + g^2 x[2], x[1] + g x[2], x[2]; dy = 1, 10, 100. */
static void a_hand_computed_gradient(void **state) {
    (void)state;
    Grad g;
    grad_open(&g, "discounted_cumsum_grad n=3 gamma=0.5 dtype=f64 input=ones");
    static const double x[] = {1, 2, 3}, dy[] = {1, 10, 100};
    for (size_t i = 0; i < 3; i++) {
        array_set(scan_array(&g.scan, "x"), i, x[i]);
        array_set(scan_array(&g.scan, "dy"), i, dy[i]);
    }
    scan_reference(&g.scan, 0);
    const double *dx = g.scan.reference[0].value;
    assert_true(dx[0] == 1 && dx[1] == 10.5 && dx[2] == 105.25);
    assert_true(g.scan.reference[1].value[0] == 1 * (2 + 2 * 0.5 * 3) + 10 * 3);
    scan_close(&g.scan);
}

static void long_rows_give_what_their_parts_do(void **state) {
    (void)state;
    /* A reset at 150000 cuts a row that is worked on in blocks into two that are not. */
    enum { N = 300000, HALF = 150000 };
    Grad whole;
    grad_open(&whole, "discounted_cumsum_grad n=300000 gamma=0.999 reset=mask direction=left dtype=f64 input=normal seed=1");
    memset(whole.reset->data, 0, N);
    array_set(scan_array(&whole.scan, "reset"), HALF, 1);
    scan_reference(&whole.scan, 0);
    long double sum = 0;
    for (size_t part = 0; part < 2; part++) {
        Grad half;
        grad_open(&half, "discounted_cumsum_grad n=150000 gamma=0.999 direction=left dtype=f64 input=normal seed=1");
        memcpy(half.x->data, (const double *)whole.x->data + part * HALF, HALF * sizeof(double));
        memcpy(half.dy->data, (const double *)whole.dy->data + part * HALF, HALF * sizeof(double));
        scan_reference(&half.scan, 0);
        for (size_t i = 0; i < HALF; i++) {
            const double value = half.scan.reference[0].value[i];
            assert_true(fabs(value - whole.scan.reference[0].value[part * HALF + i]) <= 0x1p-52 * fabs(value));
        }
        sum += (long double)half.scan.reference[1].value[0];
        scan_close(&half.scan);
    }
    assert_true(fabs((double)sum - whole.scan.reference[1].value[0]) <= 0x1p-51 * fabs((double)sum) + 1e-10);
    scan_close(&whole.scan);
}

int main(void) {
    mpfr_inits2(BITS, dx_sum, dgamma_sum, product, others, (mpfr_ptr)0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hand_computed_gradient),
        cmocka_unit_test(every_mode_agrees_with_the_definition),
        cmocka_unit_test(factors_leave_the_range_and_gradients_do_not),
        cmocka_unit_test(infinities_survive_small_products),
        cmocka_unit_test(gradients_are_finite_differences),
        cmocka_unit_test(a_nan_reaches_what_depends_on_it_and_nothing_else),
        cmocka_unit_test(long_rows_give_what_their_parts_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
