/* What is known of rows by case and variant: the counts of a row's first process are those of its further ones. */
#include "pipeline/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static Row row_of(const char *problem, double launches) {
    Row row = {.counts = counts_none()};
    snprintf(row.text, sizeof row.text, "%s", problem);
    strcpy(row.spec, "op/cuda_v");
    row_set_text(&row.counts_reason, "not counted yet");
    row.counts.any = isfinite(launches);
    row.counts.launches = launches;
    row.counts.seconds = 0.5;
    return row;
}

static void counts_are_repeated(void **state) {
    (void)state;
    Row first = row_of("one", 3), further = row_of("one", NAN), other = row_of("two", NAN);
    Resume known = {0};
    assert_false(resume_counts(&known, &further));
    resume_counted(&known, &other); /* it has none */
    resume_counted(&known, &first);
    assert_true(resume_counts(&known, &further));
    assert_true(further.counts.launches == 3 && further.counts.seconds == 0);
    assert_true(first.counts.seconds == 0.5);
    assert_null(further.counts_reason);
    assert_false(resume_counts(&known, &other));
    assert_false(other.counts.any);
    row_free(&first), row_free(&further), row_free(&other);
    resume_close(&known);
}

static void each_row_may_be_counted(void **state) {
    (void)state;
    Row row = row_of("one", 3);
    resume_counted(NULL, &row);
    assert_false(resume_counts(NULL, &row));
    row_free(&row);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts_are_repeated), cmocka_unit_test(each_row_may_be_counted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
