/* The CPU variants of `moments` against the reference with the bounds they declare; and that the bounds see what is wrong. */
#include "moments_support.h"

#include "variant_support.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    const char *id;
    int bound;
} VARIANTS[] = {{"cpu_power_sums_row_order", VARIANT_ID(moments, cpu_power_sums_row_order), POWER_SUMS},
                {"cpu_power_sums_column_order", VARIANT_ID(moments, cpu_power_sums_column_order), POWER_SUMS},
                {"cpu_two_pass", VARIANT_ID(moments, cpu_two_pass), TWO_PASS},
                {"cpu_pairwise", VARIANT_ID(moments, cpu_pairwise), UPDATING},
                {"cpu_best", VARIANT_ID(moments, cpu_best), TWO_PASS}};
enum { ROW_ORDER, COLUMN_ORDER, STABLE, PAIRWISE = 3, BEST, VARIANT_COUNT, GUARD = 64 };

static unsigned char *guarded(size_t bytes) {
    unsigned char *memory = aligned_alloc(64, (GUARD + bytes + GUARD + 63) / 64 * 64);
    memset(memory, 0xc5, GUARD + bytes + GUARD);
    return memory;
}

static void check_guards(const Moments *self, const unsigned char *memory, size_t bytes) {
    for (size_t g = 0; g < GUARD; g++)
        if (memory[g] != 0xc5 || memory[GUARD + bytes + g] != 0xc5) fail_msg("%s: wrote outside its memory", self->text);
}

/* Runs into exactly sized, guarded, poisoned memory. */
static void run(int v, Moments *self, const char *threads) {
    const Variant *variant = variant_of(VARIANTS[v].id);
    Params tunables;
    assert_int_equal(params_init(variant->tunables, &tunables), STATUS_OK);
    if (params_has(&tunables, "threads")) assert_int_equal(params_set(&tunables, "threads", threads), STATUS_OK);
    Array out[OUTPUTS];
    unsigned char *memory[OUTPUTS];
    for (int i = 0; i < OUTPUTS; i++) {
        out[i] = self->out[i];
        memory[i] = guarded(array_bytes(&out[i]));
        out[i].data = memory[i] + GUARD;
    }
    VariantArgs args = {
        .problem = &self->problem, .tunables = &tunables, .in = self->in, .in_count = 2, .out = out, .out_count = OUTPUTS};
    args.scratch_bytes = variant->scratch_bytes ? variant->scratch_bytes(&args) : 0;
    unsigned char *scratch = guarded(args.scratch_bytes);
    args.scratch = scratch + GUARD;
    if (variant->run(&args) != STATUS_OK) fail_msg("%s: %s", self->text, status_message());
    check_guards(self, scratch, args.scratch_bytes);
    for (int i = 0; i < OUTPUTS; i++) {
        check_guards(self, memory[i], array_bytes(&out[i]));
        memcpy(self->out[i].data, out[i].data, array_bytes(&out[i]));
        free(memory[i]);
    }
    free(scratch);
}

static void check(int v, Moments *self, const char *threads) {
    char why[512];
    moments_reference_of(self, VARIANTS[v].bound);
    run(v, self, threads);
    if (!moments_passes(self, why, sizeof why)) fail_msg("%s on %s: %s", VARIANTS[v].name, self->text, why);
}

/* Of two or three rows some columns are all but constant: too much for sums of powers. */
static void check_all(Moments *self) {
    for (int v = self->rows > 1 && self->rows < 60 ? STABLE : 0; v < VARIANT_COUNT; v++) check(v, self, "2");
    moments_close(self);
}

/* Around vectors, strips, blocks and folds: every way in which rows or columns do not come out even. */
static void every_shape(void **state) {
    (void)state;
    static const size_t lengths[] = {0, 1, 2, 3, 15, 16, 17, 63, 64, 65, 129, 300};
    static const size_t widths[] = {1, 2, 3, 7, 31, 32, 33, 63, 64, 65, 100, 128, 129, 300};
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
            for (int k = 0; k < 4; k++) {
                Moments self =
                    moments_open("moments rows=%zu cols=%zu order=%d weights=%s degenerate=%s dtype=%s input=%s seed=%zu",
                                 lengths[l], widths[w], 4 + (int)(l + w) % 3, k & 1 ? "row" : "none", l % 2 ? "nan" : "zero",
                                 k & 2 ? "f32" : "f64", w % 3 == 0 ? "naninf" : "normal", l + w);
                check_all(&self);
            }
}

static void every_family(void **state) {
    (void)state;
    static const char *const families[] = {"uniform", "normal", "constant", "integers",  "ones",
                                           "ramp",    "sorted", "naninf",   "heavytail", "spike1e16"};
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (int k = 0; k < 8; k++) {
            Moments self =
                moments_open("moments rows=3001 cols=67 order=%d weights=%s columns=%s dtype=%s input=%s seed=3", k & 1 ? 6 : 4,
                             k & 2 ? "row" : "none", k & 1 ? "alike" : "scaled", k & 4 ? "f32" : "f64", families[f]);
            check_all(&self);
        }
}

static bool passes(int v, int bound, const char *input, const char *dtype, size_t rows, char why[512]) {
    Moments self = moments_open("moments rows=%zu cols=5 order=6 dtype=%s input=%s seed=3", rows, dtype, input);
    moments_reference_of(&self, bound);
    run(v, &self, "2");
    const bool pass = moments_passes(&self, why, 512);
    moments_close(&self);
    return pass;
}

/* mean / sigma from 1 to 1e8, float64: two passes and cpu_best keep the op's own bound, merges of rounded means that of their kind.
 */
static void large_means_are_no_matter_to_stable_variants(void **state) {
    (void)state;
    static const char *const inputs[] = {"normal", "offset1e3", "offset1e6", "offset1e8"};
    char why[512];
    for (size_t k = 0; k < sizeof inputs / sizeof *inputs; k++)
        for (size_t rows = 50; rows <= 200000; rows = rows * 63 + 1) {
            if (!passes(STABLE, TWO_PASS, inputs[k], "f64", rows, why)) fail_msg("cpu_two_pass, %s: %s", inputs[k], why);
            if (!passes(BEST, TWO_PASS, inputs[k], "f64", rows, why)) fail_msg("cpu_best, %s: %s", inputs[k], why);
            if (!passes(PAIRWISE, UPDATING, inputs[k], "f64", rows, why)) fail_msg("cpu_pairwise, %s: %s", inputs[k], why);
            for (int v = STABLE; v < VARIANT_COUNT; v++)
                if (!passes(v, TWO_PASS, inputs[k], "f32", rows, why)) fail_msg("%s, f32 %s: %s", VARIANTS[v].name, inputs[k], why);
        }
}

/* Sums of powers lose (mean / sigma)^p: seen by the op's own bound from 1e3 on, forgiven there by the bound they declare. */
static void sums_of_powers_need_their_own_bound(void **state) {
    (void)state;
    char why[512];
    for (int v = ROW_ORDER; v <= COLUMN_ORDER; v++)
        for (size_t rows = 100; rows <= 10000; rows *= 10) {
            if (!passes(v, TWO_PASS, "normal", "f64", rows, why)) fail_msg("normal: %s", why);
            if (passes(v, TWO_PASS, "offset1e3", "f64", rows, why)) fail_msg("offset1e3 went unseen");
            if (!passes(v, POWER_SUMS, "offset1e3", "f64", rows, why)) fail_msg("offset1e3: %s", why);
            if (passes(v, TWO_PASS, "offset1e6", "f64", rows, why)) fail_msg("offset1e6 went unseen");
        }
    assert_false(passes(PAIRWISE, TWO_PASS, "offset1e8", "f64", 10000, why));
}

/* Fourth powers that overflow in float32 do not in double. Where double overflows as well, nothing is forgiven; cpu_best scales. */
static void overflow_is_seen(void **state) {
    (void)state;
    char why[512];
    for (int v = STABLE; v < VARIANT_COUNT; v++)
        if (!passes(v, TWO_PASS, "huge", "f32", 1000, why)) fail_msg("%s: %s", VARIANTS[v].name, why);
    for (int v = 0; v < VARIANT_COUNT; v++) assert_int_equal(passes(v, VARIANTS[v].bound, "huge", "f64", 1000, why), v == BEST);
}

/* More rows than a float counts: 2^24 + 5 in one column. */
static void counts_beyond_2_to_24(void **state) {
    (void)state;
    Moments self = moments_open("moments rows=%d cols=1 dtype=f32 input=uniform seed=5", (1 << 24) + 5);
    for (int v = STABLE; v < VARIANT_COUNT; v++) check(v, &self, "0");
    moments_close(&self);
}

static void any_number_of_threads(void **state) {
    (void)state;
    static const char *const threads[] = {"1", "3", "7", "64"};
    for (size_t t = 0; t < 4; t++)
        for (int k = 0; k < 2; k++) {
            Moments self = moments_open("moments rows=%d cols=%d order=6 weights=row dtype=f64 input=offset1e6 seed=5",
                                        k ? 40001 : 7001, k ? 3 : 200);
            check(BEST, &self, threads[t]);
            moments_close(&self);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape),
        cmocka_unit_test(every_family),
        cmocka_unit_test(large_means_are_no_matter_to_stable_variants),
        cmocka_unit_test(sums_of_powers_need_their_own_bound),
        cmocka_unit_test(overflow_is_seen),
        cmocka_unit_test(counts_beyond_2_to_24),
        cmocka_unit_test(any_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
