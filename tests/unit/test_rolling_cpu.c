/* The CPU variants of `rolling` against the reference with the op's own bounds; and that those bounds see what is wrong. */
#include "rolling_support.h"

#include "variant_support.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    const char *id;
} VARIANTS[] = {{"cpu_naive", VARIANT_ID(rolling, cpu_naive)},
                {"cpu_online", VARIANT_ID(rolling, cpu_online)},
                {"cpu_best", VARIANT_ID(rolling, cpu_best)}};
enum { VARIANT_COUNT = sizeof VARIANTS / sizeof *VARIANTS, GUARD = 64 };

static const char *const AGGS[] = {"mean", "sum", "var", "std", "min", "max"};
enum { AGG_COUNT = sizeof AGGS / sizeof *AGGS };

/* Runs into exactly sized, guarded, poisoned memory, so that y holds what was written and nothing else was. */
static void run(const Variant *variant, Rolling *self, const char *threads) {
    Params tunables;
    assert_int_equal(params_init(variant->tunables, &tunables), STATUS_OK);
    if (threads && params_has(&tunables, "threads")) assert_int_equal(params_set(&tunables, "threads", threads), STATUS_OK);
    const size_t bytes = array_bytes(&self->y);
    unsigned char *y = aligned_alloc(64, (GUARD + bytes + GUARD + 63) / 64 * 64);
    Array out = self->y;
    out.data = y + GUARD;
    VariantArgs args = {
        .problem = &self->problem, .tunables = &tunables, .in = &self->x, .in_count = 1, .out = &out, .out_count = 1};
    args.scratch_bytes = variant->scratch_bytes ? variant->scratch_bytes(&args) : 0;
    unsigned char *scratch = aligned_alloc(64, (args.scratch_bytes + GUARD + 63) / 64 * 64);
    args.scratch = scratch;
    memset(y, 0xc5, GUARD + bytes + GUARD);
    memset(scratch, 0xc5, args.scratch_bytes + GUARD);
    char reason[REASON_MAX] = "";
    if (variant->supports && !variant->supports(&args, reason)) fail_msg("%s: refused: %s", self->text, reason);
    if (variant->run(&args) != STATUS_OK) fail_msg("%s: %s", self->text, status_message());
    for (int g = 0; g < GUARD; g++)
        if (y[g] != 0xc5 || y[GUARD + bytes + (size_t)g] != 0xc5 || scratch[args.scratch_bytes + (size_t)g] != 0xc5)
            fail_msg("%s: wrote outside its memory", self->text);
    memcpy(self->y.data, out.data, bytes);
    free(y);
    free(scratch);
}

static void check(int v, Rolling *self, const char *threads) {
    char why[512];
    run(variant_of(VARIANTS[v].id), self, threads);
    if (!rolling_passes(self, why, sizeof why)) fail_msg("%s on %s, threads %s: %s", VARIANTS[v].name, self->text, threads, why);
}

static void check_all(const char *threads, const char *agg, size_t n, size_t window, int f32, const char *input) {
    Rolling self = rolling_open("rolling agg=%s n=%zu window=%zu incomplete=%s dtype=%s input=%s seed=%zu", agg, n, window,
                                n % 2 ? "nan" : "inf", f32 ? "f32" : "f64", input, n + window);
    rolling_reference_of(&self, 0);
    for (int v = 0; v < VARIANT_COUNT; v++) check(v, &self, threads);
    rolling_close(&self);
}

static void every_edge(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 65, 130, 1100};
    static const size_t windows[] = {1, 2, 3, 4, 15, 16, 17, 63, 64, 65, 66, 129, 130, 257, 1099, 1100, 1101};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t w = 0; w < sizeof windows / sizeof *windows; w++)
            for (int a = 0; a < AGG_COUNT; a++)
                for (int f32 = 0; f32 < 2; f32++) check_all("2", AGGS[a], sizes[s], windows[w], f32, w % 2 ? "naninf" : "integers");
}

static void every_family(void **state) {
    (void)state;
    static const char *const families[] = {"uniform",   "normal",    "ones",      "ramp",      "constant",    "integers",
                                           "offset1e3", "offset1e6", "offset1e8", "spike1e16", "alternating", "mixed",
                                           "denormal",  "naninf",    "sorted",    "heavytail", "outlier"};
    static const size_t windows[] = {4, 63, 100, 700};
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (size_t w = 0; w < sizeof windows / sizeof *windows; w++)
            for (int a = 0; a < AGG_COUNT; a++)
                for (int f32 = 0; f32 < 2; f32++) check_all("2", AGGS[a], 3003, windows[w], f32, families[f]);
}

/* More tiles than a thread's queue holds, windows longer than a thread's stretch, outputs written past the caches. */
static void long_arrays(void **state) {
    (void)state;
    static const char *const threads[] = {"1", "3", "7"};
    static const size_t windows[] = {5, 300, 3000, 59000};
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++)
        for (size_t w = 0; w < sizeof windows / sizeof *windows; w++)
            for (int a = 0; a < AGG_COUNT; a++) {
                Rolling self = rolling_open("rolling agg=%s n=60007 window=%zu dtype=f64 input=%s seed=4", AGGS[a], windows[w],
                                            w % 2 ? "naninf" : "offset1e6");
                rolling_reference_of(&self, 0);
                for (int v = 1; v < VARIANT_COUNT; v++) check(v, &self, threads[t]);
                rolling_close(&self);
            }
    for (int a = 0; a < AGG_COUNT; a += 2)
        for (int w = 0; w < 2; w++) {
            Rolling self =
                rolling_open("rolling agg=%s n=4300001 window=%d dtype=f32 input=spike1e16 seed=4", AGGS[a], w ? 1000 : 7);
            rolling_reference_of(&self, 0);
            check(2, &self, "0");
            rolling_close(&self);
        }
}

static void steps_and_outliers_at_tile_edges(void **state) {
    (void)state;
    for (size_t at = 250; at < 262; at++)
        for (size_t w = 60; w < 600; w += 90)
            for (int a = 2; a < 4; a++) {
                Rolling self = rolling_open("rolling agg=%s n=1200 window=%zu dtype=f64 input=uniform seed=4", AGGS[a], w);
                for (size_t i = at; i < self.n; i++) rolling_set_x(&self, i, rolling_x(&self, i) + (i == at ? 1e16 : 1e8));
                rolling_reference_of(&self, 0);
                for (int v = 0; v < VARIANT_COUNT; v++) check(v, &self, "1");
                rolling_close(&self);
            }
}

/* Of nothing but -0.0 a sum is a zero, a variance 0; the sign of a zero is not compared. */
static void zeros_of_either_sign_are_equal(void **state) {
    (void)state;
    for (int a = 0; a < AGG_COUNT; a++)
        for (size_t w = 2; w < 200; w += 66) {
            Rolling self = rolling_open("rolling agg=%s n=300 window=%zu dtype=f64 input=ones seed=4", AGGS[a], w);
            for (size_t i = 0; i < self.n; i++) rolling_set_x(&self, i, i < 250 ? -0.0 : 0.0);
            rolling_reference_of(&self, 0);
            for (size_t i = w - 1; i < self.n; i++) assert_true(self.reference.value[i] == 0);
            for (int v = 0; v < VARIANT_COUNT; v++) check(v, &self, "1");
            rolling_close(&self);
        }
}

static void apply_is_refused(void **state) {
    (void)state;
    Rolling self = rolling_open("rolling agg=apply n=10 window=3 dtype=f64 input=uniform seed=1");
    VariantArgs args = {.problem = &self.problem, .in = &self.x, .out = &self.y};
    for (int v = 0; v < VARIANT_COUNT; v++) {
        char reason[REASON_MAX] = "";
        assert_false(variant_of(VARIANTS[v].id)->supports(&args, reason));
        assert_non_null(strstr(reason, "apply"));
    }
    rolling_close(&self);
}

/* E[x^2] - E[x]^2, clamped at 0, in the dtype f64. */
static void textbook_variance_needs_its_own_bound(void **state) {
    (void)state;
    Rolling self = rolling_open("rolling agg=var n=3000 window=50 dtype=f64 input=offset1e8 seed=8");
    double *y = self.y.data;
    for (size_t i = 0; i < self.n; i++) {
        double sum = 0, squares = 0;
        for (size_t j = i < 49 ? 0 : i - 49; j <= i; j++) {
            sum += rolling_x(&self, j);
            squares += rolling_x(&self, j) * rolling_x(&self, j);
        }
        y[i] = i < 49 ? NAN : fmax((squares - sum * sum / 50) / 49, 0);
    }
    char why[512];
    rolling_reference_of(&self, 0);
    assert_false(rolling_passes(&self, why, sizeof why));
    assert_non_null(strstr(why, "0x"));
    rolling_reference_of(&self, 2);
    if (!rolling_passes(&self, why, sizeof why)) fail_msg("textbook: %s", why);
    rolling_close(&self);
}

/* A running sum after a spike has left: wrong by default, forgiven where 'running' looks back at the spike. */
static void running_updates_need_their_own_bound(void **state) {
    (void)state;
    Rolling self = rolling_open("rolling agg=mean n=2000 window=30 dtype=f64 input=uniform seed=8");
    rolling_set_x(&self, 1000, 1e16);
    double *y = self.y.data, sum = 0;
    for (size_t i = 0; i < self.n; i++) {
        if (i % 48 == 0) {
            sum = 0;
            for (size_t j = i < 29 ? 0 : i - 29; j <= i; j++) sum += rolling_x(&self, j);
        } else {
            sum += rolling_x(&self, i) - (i >= 30 ? rolling_x(&self, i - 30) : 0);
        }
        y[i] = i < 29 ? NAN : sum / 30;
    }
    char why[512];
    rolling_reference_of(&self, 0);
    assert_false(rolling_passes(&self, why, sizeof why));
    rolling_reference_of(&self, 1);
    if (!rolling_passes(&self, why, sizeof why)) fail_msg("running: %s", why);
    rolling_close(&self);
}

/* The published update, mean += (new - old) / w, on integers: sums of them are exact, quotients are not. */
static void divided_updates_of_integers_need_their_own_bound(void **state) {
    (void)state;
    Rolling self = rolling_open("rolling agg=mean n=5000 window=7 dtype=f64 input=integers seed=8");
    double *y = self.y.data, mean = 0;
    for (size_t i = 0; i < self.n; i++) {
        if (i % 48 == 0 || i == 6) {
            double sum = 0;
            for (size_t j = i < 6 ? 0 : i - 6; j <= i; j++) sum += rolling_x(&self, j);
            mean = sum / 7;
        } else if (i > 6) {
            mean += (rolling_x(&self, i) - rolling_x(&self, i - 7)) / 7;
        }
        y[i] = i < 6 ? NAN : mean;
    }
    char why[512];
    for (int bound = 0; bound < 2; bound++) {
        rolling_reference_of(&self, bound);
        assert_false(rolling_passes(&self, why, sizeof why));
    }
    rolling_reference_of(&self, 2);
    if (!rolling_passes(&self, why, sizeof why)) fail_msg("textbook: %s", why);
    y[2500] += 0.125; /* one integer more, or one in its place */
    assert_false(rolling_passes(&self, why, sizeof why));
    rolling_close(&self);
}

static void prefix_differences_need_their_own_bound(void **state) {
    (void)state;
    Rolling self = rolling_open("rolling agg=mean n=50000 window=5 dtype=f32 input=offset1e3 seed=8");
    float *y = self.y.data, *prefix = malloc((self.n + 1) * sizeof *prefix);
    prefix[0] = 0;
    float before = 0, tile = 0; /* in tiles of 512 */
    for (size_t i = 0; i < self.n; i++) {
        tile += (float)rolling_x(&self, i);
        prefix[i + 1] = before + tile;
        if (i % 512 == 511) {
            before += tile;
            tile = 0;
        }
    }
    for (size_t i = 0; i < self.n; i++) y[i] = i < 4 ? NAN : (prefix[i + 1] - prefix[i - 4]) / 5;
    char why[512];
    rolling_reference_of(&self, 0);
    assert_false(rolling_passes(&self, why, sizeof why));
    rolling_reference_of(&self, 3);
    if (!rolling_passes(&self, why, sizeof why)) fail_msg("prefix: %s", why);
    free(prefix);
    rolling_close(&self);
}

/* Windows one too long, too short, too early or too late must fail, at every aggregate; on integers even at long windows in f32. */
static void windows_off_by_one_are_seen(void **state) {
    (void)state;
    static const struct {
        size_t window;
        const char *input;
        int f32, aggs;
    } cases[] = {{4, "normal", 0, 6},     {300, "normal", 0, 6},     {300, "normal", 1, 6},
                 {3000, "uniform", 0, 4}, {30000, "integers", 1, 2}, {300, "ramp", 0, 6}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int a = 0; a < cases[c].aggs; a++)
            for (int wrong = 0; wrong < 3; wrong++) {
                /* On a ramp, late windows have the same spread, and shorter ones the same maximum. */
                const bool ramp = strcmp(cases[c].input, "ramp") == 0;
                if (ramp && ((wrong == 2 && (a == 2 || a == 3)) || (wrong < 2 && a == 5))) continue;
                const size_t w = cases[c].window;
                Rolling right = rolling_open("rolling agg=%s n=%zu window=%zu dtype=%s input=%s seed=5", AGGS[a], 3 * w + 1000, w,
                                             cases[c].f32 ? "f32" : "f64", cases[c].input);
                Rolling off = rolling_open("rolling agg=%s n=%zu window=%zu dtype=%s input=%s seed=5", AGGS[a], 3 * w + 1000,
                                           wrong == 0   ? w - 1
                                           : wrong == 1 ? w + 1
                                                        : w,
                                           cases[c].f32 ? "f32" : "f64", cases[c].input);
                rolling_reference_of(&right, 0);
                run(variant_of(VARIANTS[2].id), &off, "1");
                for (size_t i = 0; i < right.n; i++) { /* the incomplete outputs are right */
                    const double y = i + 1 < w ? NAN : rolling_y(&off, wrong == 2 && i >= w ? i - 1 : wrong == 1 && i < w ? w : i);
                    if (right.y.dtype == DTYPE_F32)
                        ((float *)right.y.data)[i] = (float)y;
                    else
                        ((double *)right.y.data)[i] = y;
                }
                char why[512];
                if (rolling_passes(&right, why, sizeof why)) fail_msg("%s: mistake %d went unseen", right.text, wrong);
                rolling_close(&right);
                rolling_close(&off);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_edge),
        cmocka_unit_test(every_family),
        cmocka_unit_test(long_arrays),
        cmocka_unit_test(steps_and_outliers_at_tile_edges),
        cmocka_unit_test(zeros_of_either_sign_are_equal),
        cmocka_unit_test(apply_is_refused),
        cmocka_unit_test(textbook_variance_needs_its_own_bound),
        cmocka_unit_test(running_updates_need_their_own_bound),
        cmocka_unit_test(divided_updates_of_integers_need_their_own_bound),
        cmocka_unit_test(prefix_differences_need_their_own_bound),
        cmocka_unit_test(windows_off_by_one_are_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
