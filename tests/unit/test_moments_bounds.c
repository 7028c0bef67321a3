/* The bounds of `moments`: what is wrong is outside them, what is right but for rounding is inside, looser ones are looser. */
#include "moments_support.h"

#include <math.h>
#include <string.h>

static void outputs_from_reference(Moments *self, const Moments *from) {
    for (int i = 0; i < OUTPUTS; i++)
        for (size_t c = 0; c < array_count(&self->out[i]); c++) array_set(&self->out[i], c, from->reference[i].value[c]);
}

static void scale_output(Moments *self, int output, double factor, double plus) {
    for (size_t c = 0; c < self->cols; c++) array_set(&self->out[output], c, array_get(&self->out[output], c) * factor + plus);
}

static void wrong_divisor(Moments *self) { /* ddof 1 */
    scale_output(self, VAR, (double)self->rows / (double)(self->rows - 1), 0);
}

static void excess_kurtosis(Moments *self) {
    scale_output(self, KURTOSIS, 1, -3);
}

static void unbiased_skewness(Moments *self) {
    const double n = (double)self->rows;
    scale_output(self, SKEWNESS, sqrt(n * (n - 1)) / (n - 2), 0);
}

static void standard_deviation(Moments *self) {
    for (size_t c = 0; c < self->cols; c++) array_set(&self->out[VAR], c, sqrt(array_get(&self->out[VAR], c)));
}

static void sign_of_skewness(Moments *self) {
    scale_output(self, SKEWNESS, -1, 0);
}

static void m5_by_six(Moments *self) {
    scale_output(self, M5, 1.0 + 1.0 / (double)self->rows, 0);
}

static void m6_excess(Moments *self) {
    scale_output(self, M6, 1, -15);
}

static void columns_shifted(Moments *self) {
    for (size_t c = 0; c + 1 < self->cols; c++) array_set(&self->out[MEAN], c, array_get(&self->out[MEAN], c + 1));
}

static void next_minimum(Moments *self) {
    for (size_t c = 0; c < self->cols; c++)
        array_set(&self->out[MIN], c, nextafterf((float)self->reference[MIN].value[c], INFINITY));
}

static const struct {
    const char *name;
    void (*apply)(Moments *self);
} MISTAKES[] = {
    {"ddof 1", wrong_divisor},           {"excess kurtosis", excess_kurtosis},   {"unbiased skewness", unbiased_skewness},
    {"std for var", standard_deviation}, {"sign of skewness", sign_of_skewness}, {"m5 off by 1/n", m5_by_six},
    {"m6 minus 15", m6_excess},          {"columns shifted", columns_shifted},   {"next minimum", next_minimum}};

static void mistakes_are_seen(void **state) {
    (void)state;
    for (int f32 = 0; f32 < 2; f32++)
        for (size_t m = 0; m < sizeof MISTAKES / sizeof *MISTAKES; m++) {
            Moments self =
                moments_open("moments rows=1000 cols=6 order=6 columns=scaled dtype=%s input=sorted seed=5", f32 ? "f32" : "f64");
            /* Skewed and apart: sorted columns alone are all but alike and symmetric. */
            for (size_t r = 0; r < self.rows; r++)
                for (size_t c = 0; c < self.cols; c++) moments_set_x(&self, r, c, exp(moments_x(&self, r, c) / 2));
            moments_reference_of(&self, TWO_PASS);
            outputs_from_reference(&self, &self);
            char why[512];
            if (!moments_passes(&self, why, sizeof why)) fail_msg("the reference itself: %s", why);
            MISTAKES[m].apply(&self);
            if (moments_passes(&self, why, sizeof why)) fail_msg("%s went unseen in %s", MISTAKES[m].name, f32 ? "f32" : "f64");
            moments_close(&self);
        }
}

/* The reference of other data in place of the right one's. */
static bool taken_for(Moments *self, Moments *other) {
    char why[512];
    moments_reference_of(self, TWO_PASS);
    moments_reference_of(other, TWO_PASS);
    outputs_from_reference(self, other);
    return moments_passes(self, why, sizeof why);
}

/* A row left out, or the first read twice: up to as many rows as float32 can tell, and float64. */
static void rows_off_by_one_are_seen(void **state) {
    (void)state;
    static const size_t f32_rows[] = {2, 3, 17, 300, 1291}, f64_rows[] = {2, 3, 300, 100003};
    for (int f32 = 0; f32 < 2; f32++)
        for (size_t k = 0; k < (f32 ? sizeof f32_rows : sizeof f64_rows) / sizeof(size_t); k++)
            for (int twice = 0; twice < 2; twice++) {
                const size_t rows = f32 ? f32_rows[k] : f64_rows[k];
                const char *dtype = f32 ? "f32" : "f64";
                Moments self = moments_open("moments rows=%zu cols=3 dtype=%s input=normal seed=5", rows, dtype);
                Moments other =
                    moments_open("moments rows=%zu cols=3 dtype=%s input=normal seed=5", twice ? rows : rows - 1, dtype);
                if (twice)
                    for (size_t c = 0; c < 3; c++) moments_set_x(&other, rows - 1, c, moments_x(&other, 0, c));
                if (taken_for(&self, &other)) fail_msg("%s: a row %s went unseen", self.text, twice ? "read twice" : "left out");
                moments_close(&self);
                moments_close(&other);
            }
}

static void ignored_weights_are_seen(void **state) {
    (void)state;
    Moments self = moments_open("moments rows=3000 cols=3 weights=row dtype=f32 input=normal seed=5");
    Moments other = moments_open("moments rows=3000 cols=3 weights=none dtype=f32 input=normal seed=5");
    assert_false(taken_for(&self, &other));
    moments_close(&self);
    moments_close(&other);
}

/* What fmin and fmax do: a NaN is passed over. */
static void extremes_that_pass_over_nan_are_seen(void **state) {
    (void)state;
    for (int output = MIN; output <= MAX; output++) {
        Moments self = moments_open("moments rows=100 cols=3 dtype=f64 input=normal seed=5");
        moments_set_x(&self, 50, 1, NAN);
        moments_reference_of(&self, TWO_PASS);
        outputs_from_reference(&self, &self);
        char why[512];
        assert_true(moments_passes(&self, why, sizeof why));
        array_set(&self.out[output], 1, 1.5);
        assert_false(moments_passes(&self, why, sizeof why));
        moments_close(&self);
    }
}

/* min = max is var = 0, whatever the mean was rounded to: a variance of u^2 would make a skewness of its rounding. */
static void a_constant_column_has_no_variance_at_all(void **state) {
    (void)state;
    Moments self = moments_open("moments rows=1000 cols=2 dtype=f64 input=constant seed=5");
    moments_reference_of(&self, TWO_PASS);
    outputs_from_reference(&self, &self);
    char why[512];
    assert_true(moments_passes(&self, why, sizeof why));
    array_set(&self.out[VAR], 1, 1e-30);
    assert_false(moments_passes(&self, why, sizeof why));
    array_set(&self.out[VAR], 1, 0);
    array_set(&self.out[SKEWNESS], 1, 0);
    assert_false(moments_passes(&self, why, sizeof why));
    moments_close(&self);
}

/* The condition that the own bound excuses, and that it does not: a shift off by what a first pass may err by, a variance without
 * the correction at mean / sigma = 1e8. */
static void the_correction_is_demanded(void **state) {
    (void)state;
    Moments self = moments_open("moments rows=1000 cols=1 dtype=f64 input=offset1e8 seed=5");
    moments_reference_of(&self, TWO_PASS);
    outputs_from_reference(&self, &self);
    const double mean = self.reference[MEAN].value[0], shift = mean + self.reference[MEAN].tolerance[0] / 2;
    double s1 = 0, s2 = 0, s3 = 0;
    for (size_t r = 0; r < self.rows; r++) {
        const double d = moments_x(&self, r, 0) - shift;
        s1 += d / 1000, s2 += d * d / 1000, s3 += d * d * d / 1000;
    }
    char why[512];
    array_set(&self.out[MEAN], 0, shift + s1);
    array_set(&self.out[VAR], 0, s2 - s1 * s1);
    array_set(&self.out[SKEWNESS], 0, (s3 - 3 * s1 * s2 + 2 * s1 * s1 * s1) / pow(s2 - s1 * s1, 1.5));
    if (!moments_passes(&self, why, sizeof why)) fail_msg("corrected: %s", why);
    array_set(&self.out[SKEWNESS], 0, s3 / pow(s2, 1.5));
    assert_false(moments_passes(&self, why, sizeof why));
    moments_close(&self);
}

static void looser_bounds_are_looser_and_extremes_exact(void **state) {
    (void)state;
    static const char *const inputs[] = {"uniform", "offset1e3", "offset1e6"};
    for (size_t k = 0; k < 3; k++) {
        Moments self = moments_open("moments rows=3000 cols=4 order=6 dtype=f64 input=%s seed=2", inputs[k]);
        double own[OUTPUTS][4];
        moments_reference_of(&self, TWO_PASS);
        for (int i = 0; i < OUTPUTS; i++) memcpy(own[i], self.reference[i].tolerance, sizeof own[i]);
        for (int bound = UPDATING; bound < BOUNDS; bound++) {
            moments_reference_of(&self, bound);
            for (int i = 0; i < OUTPUTS; i++)
                for (size_t c = 0; c < 4; c++) {
                    const double tolerance = self.reference[i].tolerance[c];
                    const bool same = i == MIN || i == MAX || (i == MEAN && bound == UPDATING);
                    if (same ? tolerance != own[i][c] : !(tolerance > own[i][c]))
                        fail_msg("%s, bound %d, %s: %a, own %a", inputs[k], bound, self.out[i].name, tolerance, own[i][c]);
                }
        }
        moments_close(&self);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_are_seen),
        cmocka_unit_test(rows_off_by_one_are_seen),
        cmocka_unit_test(ignored_weights_are_seen),
        cmocka_unit_test(extremes_that_pass_over_nan_are_seen),
        cmocka_unit_test(a_constant_column_has_no_variance_at_all),
        cmocka_unit_test(the_correction_is_demanded),
        cmocka_unit_test(looser_bounds_are_looser_and_extremes_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
