/* The bounds of `ewm`: right algorithms pass in their own precision, and nearly right ones do not. */
/* needs: ewm */
#include "scan_support.h"

enum { EWM_BOUND_SCAN, EWM_BOUND_TRUNCATED, EWM_BOUND_TEXTBOOK }; /* indices into the bounds of the op */
#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *const FINITE[] = {"uniform",  "normal",    "ones",      "ramp",      "constant",
                                     "integers", "offset1e3", "offset1e8", "spike1e16", "alternating",
                                     "mixed",    "denormal",  "sorted",    "heavytail", "outlier"};

typedef struct Run {
    Scan *scan;
    bool f32, adjust;
    double alpha, q; /* as doubles */
} Run;

static double rounded(const Run *run, double value) {
    return run->f32 ? (double)(float)value : value;
}

/* Numerator and denominator, each a recurrence of the dtype. */
static void by_recurrence(const Run *run, double alpha, double q) {
    double above = 0, below = 0;
    q = rounded(run, q);
    for (size_t i = 0; i < run->scan->n; i++) {
        const double x = array_get(&run->scan->in[0], i), fresh = run->adjust || i == 0 ? x : rounded(run, rounded(run, alpha) * x);
        above = rounded(run, rounded(run, q * above) + fresh);
        below = run->adjust ? rounded(run, rounded(run, q * below) + 1) : 1;
        array_set(&run->scan->out[0], i, rounded(run, above / below));
    }
}

/* From the first of the last `window` terms, afresh for every output. */
static void by_window(const Run *run, size_t window) {
    for (size_t i = 0; i < run->scan->n; i++) {
        double above = 0, below = 0;
        for (size_t j = i + 1 > window ? i + 1 - window : 0; j <= i; j++) {
            above = rounded(run, rounded(run, rounded(run, run->q) * above) + array_get(&run->scan->in[0], j));
            below = rounded(run, rounded(run, rounded(run, run->q) * below) + 1);
        }
        array_set(&run->scan->out[0], i, rounded(run, above / below));
    }
}

typedef enum Spread {
    SPREAD_UPDATED,
    SPREAD_TEXTBOOK,     /* E[x^2] - E[x]^2 */
    SPREAD_BIASED,       /* not corrected */
    SPREAD_OF_THE_LIMIT, /* corrected as after infinitely many elements */
    SPREAD_OFF_WEIGHT    /* corrected with a sum of weights that is a millionth too large */
} Spread;

/* pandas' update, in double for either dtype: a mean that is a float loses a spread that is small beside it. */
static void variance(const Run *run, Spread how) {
    const Run in_double = {.f32 = false, .alpha = run->alpha, .q = run->q}, *r = &in_double;
    double mean = 0, spread = 0, square = 0, old = 0, s1 = 0, s2 = 0;
    for (size_t i = 0; i < run->scan->n; i++) {
        const double x = array_get(&run->scan->in[0], i), fresh = run->adjust || i == 0 ? 1 : rounded(r, run->alpha);
        const double q = rounded(r, run->q);
        old = rounded(r, old * q);
        s1 = rounded(r, s1 * q);
        s2 = rounded(r, s2 * rounded(r, q * q));
        const double total = rounded(r, old + fresh), before = mean;
        mean = rounded(r, rounded(r, rounded(r, old * mean) + rounded(r, fresh * x)) / total);
        square = rounded(r, rounded(r, rounded(r, old * square) + rounded(r, fresh * rounded(r, x * x))) / total);
        const double moved = rounded(r, before - mean), beside = rounded(r, x - mean);
        const double kept = rounded(r, spread + rounded(r, moved * moved));
        spread = rounded(r, rounded(r, rounded(r, old * kept) + rounded(r, fresh * rounded(r, beside * beside))) / total);
        if (i == 0) spread = 0;
        s1 = rounded(r, s1 + fresh);
        s2 = rounded(r, s2 + rounded(r, fresh * fresh));
        old = run->adjust ? total : 1;
        if (!run->adjust) s1 = rounded(r, s1 / total), s2 = rounded(r, s2 / rounded(r, total * total));
        const double sum = how == SPREAD_OFF_WEIGHT ? s1 * (1 + 1e-6) : s1;
        const double above = rounded(r, sum * sum), below = rounded(r, above - s2);
        double v = how == SPREAD_TEXTBOOK ? rounded(r, square - rounded(r, mean * mean)) : spread;
        if (v < 0) v = 0;
        double correction = rounded(r, above / below);
        if (how == SPREAD_BIASED) correction = 1;
        if (how == SPREAD_OF_THE_LIMIT) correction = (2 - r->alpha) / (2 * r->q);
        array_set(&run->scan->out[0], i, i > 0 && below > 0 ? rounded(r, correction * v) : (double)NAN);
    }
}

static void must(bool expected, const Run *run, const char *what) {
    char why[1024];
    if (scan_passes(run->scan, 0, why, sizeof why) != expected)
        fail_msg("%s: %s %s: %s", run->scan->text, what, expected ? "does not pass" : "passes", why);
}

static void must_root(bool expected, const Run *run, bool root, const char *what) {
    Array *y = &run->scan->out[0];
    for (size_t i = 0; root && i < run->scan->n; i++) array_set(y, i, sqrt(array_get(y, i)));
    must(expected, run, what);
}

static void right_means_pass_and_near_misses_fail(void **state) {
    (void)state;
    static const double spans[] = {2, 30, 300};
    for (size_t f = 0; f < COUNT(FINITE); f++)
        for (size_t s = 0; s < COUNT(spans); s++)
            for (int mode = 0; mode < 4; mode++) {
                Scan scan = scan_open("ewm n=5000 span=%g adjust=%s dtype=%s input=%s seed=2", spans[s],
                                      mode & 1 ? "false" : "true", mode & 2 ? "f32" : "f64", FINITE[f]);
                const double alpha = 2 / (spans[s] + 1);
                const Run run = {&scan, mode & 2, !(mode & 1), alpha, 1 - alpha};
                scan_reference(&scan, EWM_BOUND_SCAN);
                by_recurrence(&run, run.alpha, run.q);
                must(true, &run, "the recurrence");
                const double wrong = alpha * (1 + (run.f32 ? 2e-3 : 1e-11));
                by_recurrence(&run, wrong, 1 - wrong);
                if (strstr("uniform normal ramp integers mixed heavytail", FINITE[f])) must(false, &run, "another alpha");
                scan_close(&scan);
            }
}

static void windows_pass_as_truncated_only(void **state) {
    (void)state;
    for (size_t f = 0; f < COUNT(FINITE); f++) {
        Scan scan = scan_open("ewm n=2000 span=20 dtype=f64 input=%s seed=2", FINITE[f]);
        const Run run = {&scan, false, true, 2. / 21, 19. / 21};
        by_window(&run, 200);
        scan_reference(&scan, EWM_BOUND_TRUNCATED);
        must(true, &run, "a window of 10 span");
        scan_reference(&scan, EWM_BOUND_SCAN);
        if (strcmp(FINITE[f], "uniform") == 0 || strcmp(FINITE[f], "ramp") == 0) must(false, &run, "a window, by 'scan',");
        for (size_t spans = 6; spans <= 9; spans++) { /* of 9 span: 7 times the weight that may be missing */
            by_window(&run, 20 * spans);
            scan_reference(&scan, EWM_BOUND_TRUNCATED);
            if (strstr("uniform normal ramp integers heavytail", FINITE[f])) must(false, &run, "a shorter window");
        }
        scan_close(&scan);
    }
}

/* Variances of the last `window` terms, by the definition. */
static void variance_by_window(const Run *run, size_t window) {
    const Array *x = &run->scan->in[0];
    for (size_t i = 0; i < run->scan->n; i++) {
        double weights = 0, squares = 0, mean = 0, spread = 0, w = 1;
        const size_t count = i + 1 < window ? i + 1 : window;
        for (size_t j = 0; j < count; j++, w *= run->q) {
            weights += w;
            squares += w * w;
            mean += w * array_get(x, i - j);
        }
        mean /= weights;
        w = 1;
        for (size_t j = 0; j < count; j++, w *= run->q) spread += w * (array_get(x, i - j) - mean) * (array_get(x, i - j) - mean);
        const double pairs = weights * weights - squares;
        array_set(&run->scan->out[0], i, pairs > 0 ? spread / weights * (weights * weights / pairs) : (double)NAN);
    }
}

static void windows_of_variances_pass_as_truncated_only(void **state) {
    (void)state;
    static const char *const families[] = {"uniform", "normal", "integers", "heavytail"};
    static const double spans[] = {1.5, 3, 20};
    for (size_t f = 0; f < COUNT(families); f++)
        for (size_t s = 0; s < COUNT(spans); s++) {
            Scan scan = scan_open("ewm agg=var n=1500 span=%g dtype=f64 input=%s seed=2", spans[s], families[f]);
            const double alpha = 2 / (spans[s] + 1);
            const Run run = {&scan, false, true, alpha, 1 - alpha};
            scan_reference(&scan, EWM_BOUND_TRUNCATED);
            variance_by_window(&run, (size_t)(10 * spans[s]));
            must(true, &run, "a variance of 10 span");
            variance_by_window(&run, (size_t)(7 * spans[s]));
            must(false, &run, "a variance of 7 span");
            scan_close(&scan);
        }
}

/* A window that reaches back to nothing but NaN drops nothing. */
static void leading_gaps_are_no_weight(void **state) {
    (void)state;
    enum { GAP = 100, SPAN = 8 };
    double scan_bound[2 * GAP];
    Scan scan = scan_open("ewm n=%d span=%d nan=decay dtype=f64 input=normal seed=2", 2 * GAP, SPAN);
    for (size_t i = 0; i < GAP; i++) array_set(&scan.in[0], i, (double)NAN);
    scan_reference(&scan, EWM_BOUND_SCAN);
    memcpy(scan_bound, scan.reference[0].tolerance, sizeof scan_bound);
    scan_reference(&scan, EWM_BOUND_TRUNCATED);
    for (size_t i = GAP; i < 2 * GAP; i++) {
        const bool dropped = i >= GAP + 10 * SPAN;
        if ((scan.reference[0].tolerance[i] > scan_bound[i]) != dropped)
            fail_msg("element %zu: %g, %g without what is dropped", i, scan.reference[0].tolerance[i], scan_bound[i]);
    }
    scan_close(&scan);
}

/* A first element of 0, which once made every bound of the series infinite in float32. */
static void bounds_of_variances_see_something(void **state) {
    (void)state;
    for (int f32 = 0; f32 < 2; f32++) {
        Scan scan = scan_open("ewm agg=var n=3000 span=20 dtype=%s input=ramp seed=1", f32 ? "f32" : "f64");
        scan_reference(&scan, EWM_BOUND_SCAN);
        for (size_t i = 1; i < scan.n; i++)
            if (!(scan.reference[0].tolerance[i] < 0.1 * scan.reference[0].value[i]))
                fail_msg("element %zu: bound %g of %g", i, scan.reference[0].tolerance[i], scan.reference[0].value[i]);
        const Run run = {&scan, f32, true, 2. / 21, 19. / 21};
        variance(&run, SPREAD_BIASED);
        must(false, &run, "a variance that is not corrected, of a ramp,");
        scan_close(&scan);
    }
}

static void right_variances_pass(void **state) {
    (void)state;
    static const double spans[] = {2, 30, 300};
    for (size_t f = 0; f < COUNT(FINITE); f++)
        for (size_t s = 0; s < COUNT(spans); s++)
            for (int mode = 0; mode < 4; mode++) {
                Scan scan = scan_open("ewm agg=var n=5000 span=%g adjust=%s dtype=%s input=%s seed=2", spans[s],
                                      mode & 1 ? "false" : "true", mode & 2 ? "f32" : "f64", FINITE[f]);
                const double alpha = 2 / (spans[s] + 1);
                const Run run = {&scan, mode & 2, !(mode & 1), alpha, 1 - alpha};
                scan_reference(&scan, EWM_BOUND_SCAN);
                variance(&run, SPREAD_UPDATED);
                must(true, &run, "the update");
                scan_reference(&scan, EWM_BOUND_TEXTBOOK);
                must(true, &run, "the update by the looser bound");
                variance(&run, SPREAD_TEXTBOOK);
                must(true, &run, "E[x^2] - E[x]^2 by its own bound");
                if (!run.f32 && strcmp(FINITE[f], "offset1e8") == 0) {
                    scan_reference(&scan, EWM_BOUND_SCAN);
                    must(false, &run, "E[x^2] - E[x]^2 by 'scan'");
                }
                scan_close(&scan);
            }
}

static void nearly_right_variances_fail(void **state) {
    (void)state;
    static const double spans[] = {2, 30, 300};
    for (size_t f = 0; f < COUNT(FINITE); f++)
        for (size_t s = 0; s < COUNT(spans); s++)
            for (int mode = 0; mode < 8; mode++) {
                const bool adjust = mode & 1, root = mode & 2, f32 = mode & 4;
                if (!strstr("uniform normal ramp integers offset1e3 offset1e8 alternating mixed sorted heavytail", FINITE[f]))
                    continue;
                Scan scan = scan_open("ewm agg=%s n=5000 span=%g adjust=%s dtype=%s input=%s seed=2", root ? "std" : "var",
                                      spans[s], adjust ? "true" : "false", f32 ? "f32" : "f64", FINITE[f]);
                const double alpha = 2 / (spans[s] + 1), wrong = alpha * (1 + (f32 ? 1e-4 : 1e-6));
                const Run run = {&scan, f32, adjust, alpha, 1 - alpha}, off = {&scan, f32, adjust, wrong, 1 - wrong};
                const bool offset = strstr(FINITE[f], "1e8");
                if (offset && f32) { /* all elements are equal */
                    scan_close(&scan);
                    continue;
                }
                scan_reference(&scan, EWM_BOUND_SCAN);
                variance(&run, SPREAD_UPDATED);
                must_root(true, &run, root, "the update");
                variance(&run, SPREAD_BIASED);
                must_root(false, &run, root, "a variance that is not corrected");
                variance(&run, SPREAD_OF_THE_LIMIT);
                must_root(false, &run, root, "a variance corrected by the limit");
                variance(&run, SPREAD_OFF_WEIGHT);
                if (!offset && !f32) must_root(false, &run, root, "a correction with wrong weights");
                variance(&off, SPREAD_UPDATED);
                if (!offset) must_root(false, &run, root, "another alpha");
                scan_close(&scan);
            }
}

/* What one element may err by, relative to the result, in u: docs/ops/ewm.md quotes these. */
static void bounds_are_as_sharp_as_documented(void **state) {
    (void)state;
    static const struct {
        const char *words;
        double units;
    } cases[] = {{"agg=mean dtype=f64 input=uniform", 660},
                 {"agg=mean dtype=f32 input=uniform", 640},
                 {"agg=var dtype=f64 input=uniform", 780},
                 {"agg=var dtype=f32 input=offset1e3", 5},
                 {"agg=std dtype=f32 input=offset1e6", 5}};
    for (size_t c = 0; c < COUNT(cases); c++) {
        Scan scan = scan_open("ewm %s n=10000 span=300 seed=2", cases[c].words);
        const double u = strstr(cases[c].words, "f32") ? 0x1p-24 : 0x1p-53;
        scan_reference(&scan, EWM_BOUND_SCAN);
        for (size_t i = 3000; i < scan.n; i++)
            if (!(scan.reference[0].tolerance[i] <= cases[c].units * u * fabs(scan.reference[0].value[i])))
                fail_msg("%s at %zu: %g u", scan.text, i, scan.reference[0].tolerance[i] / u / fabs(scan.reference[0].value[i]));
        scan_close(&scan);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_means_pass_and_near_misses_fail),
        cmocka_unit_test(windows_pass_as_truncated_only),
        cmocka_unit_test(windows_of_variances_pass_as_truncated_only),
        cmocka_unit_test(leading_gaps_are_no_weight),
        cmocka_unit_test(bounds_of_variances_see_something),
        cmocka_unit_test(right_variances_pass),
        cmocka_unit_test(nearly_right_variances_fail),
        cmocka_unit_test(bounds_are_as_sharp_as_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
