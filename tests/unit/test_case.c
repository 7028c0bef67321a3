/* needs: double */
#include "base/text.h"
#include "plan/case.h"
#include "plan/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static void defaults_are_spelled_out(void **state) {
    (void)state;
    Case problem;
    char text[CASE_TEXT_MAX];
    assert_int_equal(case_parse("double", &problem), STATUS_OK);
    assert_string_equal(case_format(&problem, text, sizeof text), "double n=1000003 dtype=f64 input=uniform seed=1");
}

static void parse_of_format_is_the_same_case(void **state) {
    (void)state;
    static const char *const lines[][2] = {
        {"double n=1e6 dtype=float32 input=naninf seed=2^40", "double n=1000000 dtype=f32 input=naninf seed=1099511627776"},
        {"  double\tseed=7   n=2^22 ", "double n=4194304 dtype=f64 input=uniform seed=7"},
        {"double n=0", "double n=0 dtype=f64 input=uniform seed=1"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        Case problem, again;
        char text[CASE_TEXT_MAX], twice[CASE_TEXT_MAX];
        assert_int_equal(case_parse(lines[i][0], &problem), STATUS_OK);
        assert_string_equal(case_format(&problem, text, sizeof text), lines[i][1]);
        assert_int_equal(case_parse(text, &again), STATUS_OK);
        assert_string_equal(case_format(&again, twice, sizeof twice), text);
        assert_int_equal(again.seed, problem.seed);
        assert_int_equal(again.dtype, problem.dtype);
        assert_ptr_equal(again.op, problem.op);
    }
}

static void errors_name_column_text_and_what_is_allowed(void **state) {
    (void)state;
    static const char *const bad[][3] = {
        /* text, how the message begins, what it must also say */
        {"", "column 1: ", "an op is expected"},
        {"   ", "column 1: ", "an op is expected"},
        {"dubble n=3", "column 1: unknown op 'dubble'", "did you mean 'double'"},
        {" double n=abc", "column 9: n='abc' is not an integer", "allowed: integers"},
        {"double seed=1 n=1.5", "column 15: n='1.5'", "allowed"},
        {"double n=-1", "column 8: n=-1 is out of range", "allowed: 0 to"},
        {"double n=3 n=4", "column 12: 'n' is given twice", "once is allowed"},
        {"double seed=1 seed=1", "column 15: 'seed' is given twice", ""},
        {"double m=3", "column 8: unknown parameter 'm' of double", "known: n, dtype, input, seed"},
        {"double inptu=ramp", "column 8: unknown parameter 'inptu'", "did you mean 'input'"},
        {"double n", "column 8: 'n' is not allowed here", "name=value is expected"},
        {"double =3", "column 8: '=3' is not allowed here", "name=value is expected"},
        {"double n=", "column 8: n='' is not an integer", ""},
        {"moments dtype=i32", "column 9: dtype='i32' is not allowed", "allowed: f32, f64, f16, bf16, e4m3, e5m2"},
        {"double dtype=i32", "column 8: dtype='i32' is not allowed", "allowed: f32, f64, f16, bf16"},
        {"double seed=-1", "column 8: seed='-1'", "from 0"},
        {"double seed=1e99", "column 8: seed='1e99'", "from 0"},
        {"double input=unifrom", "column 8: input='unifrom' is not an input family of double", "did you mean 'uniform'"},
        {"double input=spike1e16", "column 8: input='spike1e16' is not an input family of double", "allowed: uniform, normal"},
        {"double input=sorted", "column 8: input='sorted' is not", "allowed"},
        {"double input=", "column 8: input=''", "allowed"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Case problem;
        assert_int_equal(case_parse(bad[i][0], &problem), STATUS_INVALID);
        if (strncmp(status_message(), bad[i][1], strlen(bad[i][1])) != 0 || !strstr(status_message(), bad[i][2]))
            fail_msg("'%s' says: %s", bad[i][0], status_message());
    }
}

static void an_endless_case_is_refused(void **state) {
    (void)state;
    char text[4000];
    Case problem;
    memset(text, ' ', sizeof text);
    memcpy(text, "double", 6);
    text[sizeof text - 1] = '\0';
    assert_int_equal(case_parse(text, &problem), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "at most 1023 characters"));
}

static void a_small_buffer_is_not_overrun(void **state) {
    (void)state;
    Case problem;
    assert_int_equal(case_parse("double", &problem), STATUS_OK);
    for (size_t size = 1; size < 60; size++) {
        char text[64];
        memset(text, '#', sizeof text);
        case_format(&problem, text, size);
        assert_true(strlen(text) < size);
        assert_int_equal(text[size], '#');
    }
}

static void registry_suggests(void **state) {
    (void)state;
    const Op *op;
    const VariantEntry *entry;
    assert_ptr_equal(registry_op("double")->name, registry_op("double")->name);
    assert_null(registry_op("tripple"));
    assert_int_equal(registry_require_op("double", &op), STATUS_OK);
    assert_int_equal(registry_require_variant("double/cpu_loop", &entry), STATUS_OK);
    assert_int_equal(entry->backend, BACKEND_CPU);
    assert_string_equal(entry->path, "impls/double/cpu_loop.c");
    assert_int_equal(registry_require_variant("double/cpu_lop", &entry), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "did you mean 'double/cpu_loop'"));
    assert_int_equal(registry_require_variant("", &entry), STATUS_INVALID);
    int count;
    const VariantEntry *all = registry_variants(&count);
    assert_true(count > 0);
    for (int i = 1; i < count; i++) assert_true(strcmp(all[i - 1].id, all[i].id) < 0);
}

/* Whatever the ops are: the default case of each survives the way through text, for every family that it lists. */
static void every_op_and_family_goes_round(void **state) {
    (void)state;
    int count;
    const Op *const *ops = registry_ops(&count);
    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        const Op *op = ops[i];
        for (const char *const *family = op->families; *family; family++) {
            if (strchr(*family, ':') || strcmp(*family, "offset") == 0) continue; /* stand for many, none by that name */
            Case problem, again;
            char text[CASE_TEXT_MAX], twice[CASE_TEXT_MAX];
            assert_int_equal(case_init(op, &problem), STATUS_OK);
            if (case_has(&problem, "n")) assert_int_equal(case_set(op, &problem, "n", "100"), STATUS_OK);
            if (case_set(op, &problem, "input", *family) != STATUS_OK) fail_msg("%s: %s", op->name, status_message());
            case_format(&problem, text, sizeof text);
            if (case_parse(text, &again) != STATUS_OK) fail_msg("'%s': %s", text, status_message());
            assert_string_equal(case_format(&again, twice, sizeof twice), text);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_spelled_out),
        cmocka_unit_test(parse_of_format_is_the_same_case),
        cmocka_unit_test(errors_name_column_text_and_what_is_allowed),
        cmocka_unit_test(an_endless_case_is_refused),
        cmocka_unit_test(a_small_buffer_is_not_overrun),
        cmocka_unit_test(registry_suggests),
        cmocka_unit_test(every_op_and_family_goes_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
