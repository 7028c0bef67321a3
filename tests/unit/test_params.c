#include "base/params.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static const char *const CHOICES[] = {"mean", "sum", NULL};
static const ParamSpec SPECS[] = {
    {"n", "elements", PARAM_INT, NULL, 0, 1e12, NULL},
    {"gamma", "discount", PARAM_REAL, "0.99", -2, 2, NULL},
    {"agg", "aggregate", PARAM_CHOICE, "mean", 0, 0, CHOICES},
    {0},
};

/* A table that got a parameter later: what was written before still is. */
static void an_option_is_said_only_where_it_is_chosen(void **state) {
    (void)state;
    static const ParamSpec MORE[] = {
        {"gamma", "discount", PARAM_REAL, "0.99", -2, 2, NULL}, {"agg", "aggregate", PARAM_OPTION, "mean", 0, 0, CHOICES}, {0}};
    Params params;
    char text[128];
    assert_int_equal(params_init(MORE, &params), STATUS_OK);
    params_format(&params, false, text, sizeof text);
    assert_string_equal(text, " gamma=0.99");
    assert_true(params_unsaid(&params, 1) && !params_chosen(&params, 1) && !params_unsaid(&params, 0) &&
                !params_chosen(&params, 0));
    assert_int_equal(params_set(&params, "agg", "mean"), STATUS_OK);
    params_format(&params, true, text, sizeof text);
    assert_string_equal(text, "");
    assert_int_equal(params_set(&params, "agg", "sum"), STATUS_OK);
    params_format(&params, false, text, sizeof text);
    assert_string_equal(text, " gamma=0.99 agg=sum");
    assert_true(!params_unsaid(&params, 1) && params_chosen(&params, 1));
    assert_int_equal(params_set(&params, "agg", "meen"), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "did you mean 'mean'"));
}

static void integers_take_the_forms_people_write(void **state) {
    (void)state;
    static const struct {
        const char *text;
        long long value;
    } good[] = {{"100", 100}, {"1e8", 100000000}, {"2^22", 4194304}, {"0", 0}};
    Params params;
    assert_int_equal(params_init(SPECS, &params), STATUS_OK);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(params_set(&params, "n", good[i].text), STATUS_OK);
        assert_int_equal(params_int(&params, "n"), good[i].value);
    }
    static const char *const bad[] = {"", " 1", "\t1", "1.5", "1e99", "0x10", "nan", "inf", "-1", "12x", "2^64"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_int_equal(params_set(&params, "n", bad[i]), STATUS_INVALID);
}

static void messages_name_the_parameter_and_what_is_allowed(void **state) {
    (void)state;
    Params params;
    assert_int_equal(params_init(SPECS, &params), STATUS_OK);
    assert_int_equal(params_set(&params, "agg", "meen"), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "did you mean 'mean'"));
    assert_int_equal(params_set(&params, "gama", "1"), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "did you mean 'gamma'"));
    assert_int_equal(params_set(&params, "gamma", "3"), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "-2 to 2"));
    assert_int_equal(params_complete(&params), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "'n'"));
}

static void format_is_canonical(void **state) {
    (void)state;
    Params params;
    char text[128];
    assert_int_equal(params_init(SPECS, &params), STATUS_OK);
    assert_int_equal(params_set(&params, "n", "1e3"), STATUS_OK);
    params_format(&params, false, text, sizeof text);
    assert_string_equal(text, " n=1000 gamma=0.99 agg=mean");
    static const struct {
        const char *text, *canonical;
    } reals[] = {{"0.50", " n=1000 gamma=0.5 agg=mean"},
                 {"5e-1", " n=1000 gamma=0.5 agg=mean"},
                 {"1", " n=1000 gamma=1 agg=mean"},
                 {"0.1", " n=1000 gamma=0.1 agg=mean"},
                 {"0.30000000000000004", " n=1000 gamma=0.30000000000000004 agg=mean"}};
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        assert_int_equal(params_set(&params, "gamma", reals[i].text), STATUS_OK);
        params_format(&params, false, text, sizeof text);
        assert_string_equal(text, reals[i].canonical);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_option_is_said_only_where_it_is_chosen),
        cmocka_unit_test(integers_take_the_forms_people_write),
        cmocka_unit_test(messages_name_the_parameter_and_what_is_allowed),
        cmocka_unit_test(format_is_canonical),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
