/* The reference of `ewm` by the definition in 600 bits and by discounted sums. */
/* needs: ewm discounted_cumsum */
#include "scan_support.h"

#include <mpfr.h>

enum { BITS = 600 };
static mpfr_t sum, weights, weight, squares, second, term, q_exact;
#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *const FINITE[] = {"uniform",   "normal",    "ones",        "ramp",  "constant", "integers", "offset1e3",
                                     "offset1e8", "spike1e16", "alternating", "mixed", "denormal", "sorted",   "heavytail"};

/* Weighted mean (and variance, corrected) of x[first .. i] without NaN: weights q^j; adjust=false: the later ones times alpha. */
static double by_definition(const Scan *self, size_t first, size_t i, int agg, bool adjust, double span) {
    mpfr_set_d(q_exact, span, MPFR_RNDN);
    mpfr_sub_ui(q_exact, q_exact, 1, MPFR_RNDN);
    mpfr_set_d(term, span, MPFR_RNDN);
    mpfr_add_ui(term, term, 1, MPFR_RNDN);
    mpfr_div(q_exact, q_exact, term, MPFR_RNDN);
    for (int pass = 0; pass < 2; pass++) { /* the mean, then what is around it */
        mpfr_set_ui(weight, 1, MPFR_RNDN);
        mpfr_set_zero(pass ? squares : sum, 1);
        mpfr_set_zero(weights, 1);
        mpfr_set_zero(second, 1);
        for (size_t j = i + 1; j-- > first; mpfr_mul(weight, weight, q_exact, MPFR_RNDN)) {
            if (!adjust && j == first && i > first) { /* the first weighs 1, not alpha: by 1 / (1 - q) more */
                mpfr_ui_sub(term, 1, q_exact, MPFR_RNDN);
                mpfr_div(weight, weight, term, MPFR_RNDN);
            }
            mpfr_add(weights, weights, weight, MPFR_RNDN);
            mpfr_sqr(term, weight, MPFR_RNDN);
            mpfr_add(second, second, term, MPFR_RNDN);
            mpfr_set_d(term, array_get(&self->in[0], j), MPFR_RNDN);
            if (pass) mpfr_sub(term, term, sum, MPFR_RNDN);
            if (pass) mpfr_sqr(term, term, MPFR_RNDN);
            mpfr_mul(term, term, weight, MPFR_RNDN);
            mpfr_add(pass ? squares : sum, pass ? squares : sum, term, MPFR_RNDN);
        }
        mpfr_div(pass ? squares : sum, pass ? squares : sum, weights, MPFR_RNDN);
        if (agg == 0) return mpfr_get_d(sum, MPFR_RNDN);
    }
    mpfr_sqr(weights, weights, MPFR_RNDN);
    mpfr_sub(second, weights, second, MPFR_RNDN);
    if (mpfr_zero_p(second)) return NAN;
    mpfr_mul(squares, squares, weights, MPFR_RNDN);
    mpfr_div(squares, squares, second, MPFR_RNDN);
    if (agg == 2) mpfr_sqrt(squares, squares, MPFR_RNDN);
    return mpfr_get_d(squares, MPFR_RNDN);
}

static void every_family_agrees_with_the_definition(void **state) {
    (void)state;
    static const char *const aggs[] = {"mean", "var", "std"};
    static const double spans[] = {1, 1.25, 3, 20, 1e6};
    for (size_t f = 0; f < COUNT(FINITE); f++)
        for (int a = 0; a < 3; a++)
            for (size_t s = 0; s < COUNT(spans); s++)
                for (int mode = 0; mode < 4; mode++) {
                    Scan self = scan_open("ewm agg=%s n=130 span=%g adjust=%s segments=%s dtype=f64 input=%s seed=5", aggs[a],
                                          spans[s], mode & 1 ? "false" : "true", mode & 2 ? "mask" : "none", FINITE[f]);
                    for (size_t i = 20; mode & 2 && i < 130; i += 37) array_set(&self.in[1], i, 1);
                    scan_reference(&self, 0);
                    size_t first = 0;
                    for (size_t i = 0; i < 130; i++) {
                        if (mode & 2 && array_get(&self.in[1], i) != 0) first = i;
                        const double expected = by_definition(&self, first, i, a, !(mode & 1), spans[s]);
                        const double value = self.reference[0].value[i], tolerance = self.reference[0].tolerance[i];
                        if (!reference_agrees(value, expected, 0x1p-50, tolerance))
                            fail_msg("%s at %zu: %a, not %a (tolerance %a)", self.text, i, value, expected, tolerance);
                    }
                    scan_close(&self);
                }
}

/* Series of 50 elements, subnormal, huge or neither, or one series of them all: digits do not depend on what stands beside. */
static void tiny_series_beside_huge_ones(void **state) {
    (void)state;
    static const char *const aggs[] = {"mean", "var", "std"};
    static const double sizes[] = {0x1p-1030, 0x1p1000, 0x1p-1030, 1, 0x1p-500, 0x1p480, 0x1p-900, 0x1p900};
    enum { N = 400, SERIES = 50 };
    for (int a = 0; a < 3; a++)
        for (int mode = 0; mode < 8; mode++) {
            const double span = mode & 4 ? 1.0009765625 : 5; /* q = 2^-11 or so forgets a huge number within the series */
            Scan self = scan_open("ewm agg=%s n=400 span=%g adjust=%s segments=%s dtype=f64 input=normal seed=3", aggs[a], span,
                                  mode & 1 ? "false" : "true", mode & 2 ? "mask" : "none");
            for (size_t i = 0; i < N; i++) {
                array_set(&self.in[0], i, array_get(&self.in[0], i) * sizes[i / SERIES]);
                if (mode & 2) array_set(&self.in[1], i, i % SERIES == 0);
            }
            scan_reference(&self, 0);
            size_t said = 0;
            const double used = params_real(&self.problem.params, "span");
            for (size_t i = 0; i < N; i++) {
                const double expected = by_definition(&self, mode & 2 ? i - i % SERIES : 0, i, a, !(mode & 1), used);
                const double value = self.reference[0].value[i], tolerance = self.reference[0].tolerance[i];
                if (!reference_agrees(value, expected, 0x1p-50, tolerance))
                    fail_msg("%s at %zu: %a, not %a (tolerance %a)", self.text, i, value, expected, tolerance);
                said += tolerance < 0x1p-7 * fabs(value);
            }
            if (said < (a == 0 ? N / 2 : N / 8)) fail_msg("%s: bounds for %zu only", self.text, said);
            scan_close(&self);
        }
}

/* mean = dcs_left(x, q) / dcs_left(1, q); kept to K terms, what the bound `truncated` is for. */
static void a_mean_is_a_quotient_of_discounted_sums(void **state) {
    (void)state;
    enum { SPAN = 31, N = 3000 };
    for (int truncated = 0; truncated < 2; truncated++) {
        Scan mean = scan_open("ewm n=3000 span=31 dtype=f64 input=uniform");
        Scan above =
            scan_open("discounted_cumsum direction=left n=3000 gamma=0.9375 k=%d dtype=f64 input=ones", truncated * 10 * SPAN);
        Scan below =
            scan_open("discounted_cumsum direction=left n=3000 gamma=0.9375 k=%d dtype=f64 input=ones", truncated * 10 * SPAN);
        memcpy(above.in[0].data, mean.in[0].data, N * sizeof(double));
        scan_reference(&mean, truncated);
        scan_reference(&above, 0);
        scan_reference(&below, 0);
        double most = 0, least_room = INFINITY;
        for (size_t i = 0; i < N; i++) {
            const double quotient = above.reference[0].value[i] / below.reference[0].value[i],
                         away = fabs(mean.reference[0].value[i] - quotient);
            if (!(away <= (truncated ? mean.reference[0].tolerance[i] : 0x1p-51 * quotient)))
                fail_msg("%d, %zu: %a", truncated, i, away);
            most = away > most ? away : most;
            if (i >= 10 * SPAN && mean.reference[0].tolerance[i] < least_room) least_room = mean.reference[0].tolerance[i];
        }
        if (truncated) assert_true(most > 1e-11 && least_room < 1e-7); /* it is seen, and bounded by little more */
        scan_close(&mean);
        scan_close(&above);
        scan_close(&below);
    }
}

int main(void) {
    mpfr_inits2(BITS, sum, weights, weight, squares, second, term, q_exact, (mpfr_ptr)0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_family_agrees_with_the_definition),
        cmocka_unit_test(tiny_series_beside_huge_ones),
        cmocka_unit_test(a_mean_is_a_quotient_of_discounted_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
