/* The sets of inputs of a case: all of the family that it names, and alike in what calls may cost. */
/* needs: double rolling ewm discounted_cumsum discounted_cumsum_grad moments redact */
#include "pipeline/session.h"

#include "plan/case.h"
#include "plan/registry.h"
#include "verify/families.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const CASES[] = {
    "double n=9001",
    "rolling n=9001 window=30 dtype=f32",
    "ewm n=9001 segments=mask",
    "discounted_cumsum batch=3 n=3001 gamma_per=row reset=mask",
    "discounted_cumsum_grad batch=3 n=3001 gamma_per=element",
    "moments rows=901 cols=10 weights=row columns=scaled dtype=f32",
};

static Instance open_case(const char *text) {
    Case problem;
    Instance instance;
    if (case_parse(text, &problem) != STATUS_OK) fail_msg("%s: %s", text, status_message());
    if (instance_create(registry_op(problem.op), &problem, &instance) != STATUS_OK) fail_msg("%s: %s", text, status_message());
    if (instance_load_all(&instance) != STATUS_OK) fail_msg("%s: %s", text, status_message());
    return instance;
}

static double at(const Array *array, size_t i) {
    return array->dtype == DTYPE_F32 ? (double)((const float *)array->data)[i] : ((const double *)array->data)[i];
}

static bool ascends(const Array *x) {
    for (size_t i = 1; i < array_count(x); i++)
        if (!(at(x, i - 1) <= at(x, i))) return false;
    return true;
}

/* How many elements are NaN, +inf, -inf. */
static void count_special(const Array *x, size_t count[3]) {
    count[0] = count[1] = count[2] = 0;
    for (size_t i = 0; i < array_count(x); i++) {
        count[0] += isnan(at(x, i)) ? 1 : 0;
        count[1] += at(x, i) == INFINITY;
        count[2] += at(x, i) == -INFINITY;
    }
}

static double differing(const Array *a, const Array *b) {
    size_t count = 0;
    for (size_t i = 0; i < array_count(a); i++) count += at(a, i) != at(b, i) && !(isnan(at(a, i)) && isnan(at(b, i)));
    return (double)count / (double)array_count(a);
}

static bool in_place(const Array *a, const Array *b) {
    for (size_t i = 0; i < array_count(a); i++)
        if (isnan(at(a, i)) != isnan(at(b, i))) return false;
    return true;
}

/* Is b the same as a but for a factor? */
static bool scaled(const Array *a, const Array *b) {
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < array_count(a); i++) {
        if (!isfinite(at(a, i)) || at(a, i) == 0) continue;
        least = fmin(least, at(b, i) / at(a, i));
        most = fmax(most, at(b, i) / at(a, i));
    }
    return most - least < 1e-3 * most;
}

static void check_named(const Instance *instance, const char *text) {
    for (int i = 0; i < instance->op->in_count; i++) {
        Array named = instance->in[DATA_FIRST][i];
        named.data = malloc(array_bytes(&named) + 1);
        assert_int_equal(family_input(instance->op, &instance->cases[DATA_FIRST], i, &named), STATUS_OK);
        if (memcmp(named.data, instance->in[DATA_FIRST][i].data, array_bytes(&named)) != 0) fail_msg("%s: not as named", text);
        free(named.data);
    }
    for (int set = 0; set < instance_sets(instance); set++)
        assert_string_equal(instance->cases[set].input, instance->cases[DATA_FIRST].input);
}

/* Sets alike in cost: order, special values and, where a seed moves nothing, their places. */
static void check_alike(const Instance *instance, const char *text, bool by_seed) {
    const Array *first = &instance->in[DATA_FIRST][0];
    size_t expected[3], count[3];
    count_special(first, expected);
    const bool counted = strstr(text, "gaps") == NULL; /* whose runs have random lengths */
    for (int set = 1; set < instance_sets(instance); set++) {
        const Array *x = &instance->in[set][0];
        count_special(x, count);
        if (counted && memcmp(count, expected, sizeof count) != 0) fail_msg("%s: set %d has other NaN or infinities", text, set);
        if (at(first, 0) < at(first, 1) && ascends(first) && !ascends(x)) fail_msg("%s: set %d does not ascend", text, set);
        if (!by_seed && !in_place(first, x)) fail_msg("%s: set %d has NaN elsewhere", text, set);
    }
}

/* The timed sets: two others, and the first of them but for a few elements. */
static void check_new(const Instance *instance, const char *text, bool by_seed) {
    const int from = (int)instance_timed(instance);
    const Array *a = &instance->in[from][0], *b = &instance->in[from + 1][0], *c = &instance->in[from + 2][0];
    assert_int_equal(instance_sets(instance), from + 3);
    const bool few = strstr(text, "constant") || strstr(text, "offset1e8"); /* any change would make it another family */
    if (!(differing(a, b) > (few ? 0 : 0.8))) fail_msg("%s: two sets differ in %g of the elements", text, differing(a, b));
    if (!(differing(a, c) < 0.01)) fail_msg("%s: changed in %g of the elements", text, differing(a, c));
    if (!few && differing(a, c) == 0) fail_msg("%s: not changed", text);
    if (by_seed) return;
    if (scaled(a, b) || scaled(&instance->in[DATA_FIRST][0], b)) fail_msg("%s: a set is another one times a number", text);
    for (size_t i = 0; i < array_count(b); i++)
        if (!(fabs(at(b, i)) <= 1.26 * fabs(at(&instance->in[DATA_FIRST][0], i)) + 4) && !isnan(at(b, i)))
            fail_msg("%s: element %zu is of another scale", text, i);
}

/* Not without the Python package that has them. */
static bool have_series(void) {
    Case problem = {.op = "none", .dtype = DTYPE_F64, .input = "real:co2", .seed = 1};
    double x;
    Array array = array_1d("x", DTYPE_F64, 1);
    array.data = &x;
    return family_fill(&problem, 0, &array) == STATUS_OK;
}

static void sets_are_of_the_named_family(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof CASES / sizeof *CASES; k++) {
        Case problem;
        if (case_parse(CASES[k], &problem) != STATUS_OK) fail_msg("%s: %s", CASES[k], status_message());
        for (const char *const *family = registry_op(problem.op)->families; *family; family++) {
            char text[256];
            const bool real = strcmp(*family, "real:NAME") == 0;
            snprintf(text, sizeof text, "%s input=%s", CASES[k], real ? "real:co2" : *family);
            const bool by_seed = !real && strcmp(*family, "ramp") != 0 && strcmp(*family, "ones") != 0;
            if (real && !have_series()) continue;
            Instance instance = open_case(text);
            check_named(&instance, text);
            check_alike(&instance, text, by_seed);
            check_new(&instance, text, by_seed);
            instance_destroy(&instance);
        }
    }
}

/* Columns of strings: other letters in other places, as many bytes and nulls. */
static void sets_of_strings_are_alike(void **state) {
    (void)state;
    for (const char *const *family = registry_op("redact")->families; *family; family++) {
        char text[128];
        snprintf(text, sizeof text, "redact rows=307 nulls=some input=%s", *family);
        Instance instance = open_case(text);
        assert_int_equal(instance_sets(&instance), 2);
        for (int i = 0; i < instance.op->in_count; i++) {
            const Array *first = &instance.in[DATA_FIRST][i], *second = &instance.in[DATA_SECOND][i];
            int bits[2] = {0, 0};
            assert_int_equal(array_bytes(first), array_bytes(second));
            for (size_t b = 0; b < array_bytes(first) && strstr(first->name, "validity"); b++) {
                bits[0] += __builtin_popcount(((unsigned char *)first->data)[b]);
                bits[1] += __builtin_popcount(((unsigned char *)second->data)[b]);
            }
            assert_int_equal(bits[0], bits[1]);
        }
        instance_destroy(&instance);
    }
}

/* One value, drawn from few: two seeds may draw the same, but not two sets. */
static void sets_of_few_values_differ(void **state) {
    (void)state;
    for (int seed = 1; seed < 200; seed++) {
        char text[128];
        snprintf(text, sizeof text, "rolling n=1 window=1 input=integers seed=%d", seed);
        Instance instance = open_case(text);
        assert_true(at(&instance.in[DATA_FIRST][0], 0) != at(&instance.in[DATA_SECOND][0], 0));
        instance_destroy(&instance);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_are_of_the_named_family),
        cmocka_unit_test(sets_of_strings_are_alike),
        cmocka_unit_test(sets_of_few_values_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
