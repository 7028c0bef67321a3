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
    for (int k = 0; k < VARIED_PER_MODE; k++)
        if (instance_load(&instance, instance_varied(MODE_HOT, k)) != STATUS_OK) fail_msg("%s: %s", text, status_message());
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
    for (int set = 0; set < DATA_COUNT; set++)
        if (instance->loaded[set]) assert_string_equal(instance->cases[set].input, instance->cases[DATA_FIRST].input);
}

/* Sets alike in cost: order, special values and, where a seed moves nothing, their places. */
static void check_alike(const Instance *instance, const char *text, bool by_seed) {
    const Array *first = &instance->in[DATA_FIRST][0];
    size_t expected[3], count[3];
    count_special(first, expected);
    const bool counted = strstr(text, "gaps") == NULL; /* whose runs have random lengths */
    for (int set = 1; set < DATA_COUNT; set++) {
        const Array *x = &instance->in[set][0];
        if (!instance->loaded[set]) continue;
        count_special(x, count);
        if (counted && memcmp(count, expected, sizeof count) != 0) fail_msg("%s: set %d has other NaN or infinities", text, set);
        if (at(first, 0) < at(first, 1) && ascends(first) && !ascends(x)) fail_msg("%s: set %d does not ascend", text, set);
        if ((!by_seed || set >= DATA_VARIED) && !in_place(first, x)) fail_msg("%s: set %d has NaN elsewhere", text, set);
    }
}

/* Sets of timed samples: no two of them alike. */
static void check_new(const Instance *instance, const char *text, bool by_seed) {
    const Array *a = &instance->in[instance_varied(MODE_HOT, 0)][0], *b = &instance->in[instance_varied(MODE_HOT, 1)][0];
    assert_int_equal(instance_sets(instance), 2);
    const bool few = strstr(text, "offset1e8") != NULL; /* in f32 one number: nothing can differ */
    if (!few && !(differing(a, b) > 0.2)) fail_msg("%s: two sets differ in %g of the elements", text, differing(a, b));
    if (by_seed) return;
    if (scaled(a, b) || scaled(&instance->in[DATA_FIRST][0], b)) fail_msg("%s: a set is another one times a number", text);
    for (size_t i = 0; i < array_count(b); i++)
        if (!(fabs(at(b, i)) <= 1.26 * fabs(at(&instance->in[DATA_FIRST][0], i)) + 4) && !isnan(at(b, i)))
            fail_msg("%s: element %zu is of another scale", text, i);
}

/* Of the outputs that are finite, the share in which the result for one varied set is wrong for another. */
static double wrong_share(Instance *instance) {
    const DataSet one = instance_varied(MODE_HOT, 0), other = instance_varied(MODE_HOT, 1);
    const Reference *a, *b;
    if (instance_reference(instance, one, 0, &a) != STATUS_OK || instance_reference(instance, other, 0, &b) != STATUS_OK)
        fail_msg("%s", status_message());
    size_t wrong = 0, all = 0;
    for (int o = 0; o < instance->op->out_count; o++)
        for (size_t i = 0; i < array_count(&instance->out[o]); i++) {
            if (!isfinite(a[o].value[i]) || !isfinite(b[o].value[i])) continue;
            all++;
            wrong += fabs(a[o].value[i] - b[o].value[i]) > a[o].tolerance[i] + b[o].tolerance[i];
        }
    return all ? (double)wrong / (double)all : 1;
}

static void a_stored_result_is_wrong(void **state) {
    (void)state;
    static const char *const MORE[] = {"rolling agg=max n=9001 window=300", "rolling agg=min n=9001 window=300 dtype=f32",
                                       "rolling agg=sum n=9001 window=3", "discounted_cumsum batch=1 n=20011 gamma=1 dtype=f32"};
    enum { CASE_COUNT = sizeof CASES / sizeof *CASES, MORE_COUNT = sizeof MORE / sizeof *MORE };
    static const char *const FAMILIES_TRIED[] = {"uniform", "normal", "ramp", "constant", "integers"};
    for (int k = 0; k < CASE_COUNT + MORE_COUNT; k++)
        for (size_t f = 0; f < sizeof FAMILIES_TRIED / sizeof *FAMILIES_TRIED; f++) {
            char text[256];
            Case problem;
            snprintf(text, sizeof text, "%s input=%s", k < CASE_COUNT ? CASES[k] : MORE[k - CASE_COUNT], FAMILIES_TRIED[f]);
            if (case_parse(text, &problem) != STATUS_OK) continue;                 /* no family of this op */
            if (strstr(text, "input=integers") && strstr(text, "agg=m")) continue; /* every window has the largest of few values */
            Instance instance = open_case(text);
            const double share = wrong_share(&instance);
            if (share < 0.1) fail_msg("%s: a stored result is wrong in %g of the outputs", text, share);
            instance_destroy(&instance);
        }
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
            if (strcmp(*family, "overflow") == 0 && strstr(CASES[k], "scaled")) continue; /* most columns are infinite */
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
        cmocka_unit_test(a_stored_result_is_wrong),
        cmocka_unit_test(sets_of_strings_are_alike),
        cmocka_unit_test(sets_of_few_values_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
