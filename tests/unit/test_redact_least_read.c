/* What redact needs of its columns, by hand. */
#include "redact_support.h"

static void expect(const RedactRow *rows, size_t count, int oracle, double bytes) {
    Redact self = redact_own(DTYPE_I32, rows, count, 0, 0);
    const double least = rungs_op_redact.least_read(&self.problem, self.in, oracle);
    if (least != bytes) fail_msg("'%s', '%s': %g bytes, not %g", rows[0].name, rows[0].visibility, least, bytes);
    redact_close(&self);
}

static void rows_by_hand(void **state) {
    (void)state;
    const RedactRow lee = {"John Lee", "public"}, hidden = {"John Lee", "private"}, six = {"John Lee", "secret"},
                    one = {"Madonna", "public"}, none = {"", "public"}, null = {NULL, "public"},
                    within = {"John Lee", "not public"};
    expect(&lee, 1, EXACT, 8 + 6 + 5); /* an offset of either column, "public", "L" and "John" */
    expect(&hidden, 1, EXACT, 4);      /* its length is not that of "public", and its name is nobody's business */
    expect(&six, 1, EXACT, 4 + 1);
    expect(&one, 1, EXACT, 8 + 6 + 7);
    expect(&none, 1, EXACT, 8 + 6);
    expect(&null, 1, EXACT, 1); /* of the bitmap */
    expect(&within, 1, EXACT, 4);
    expect(&lee, 1, API, 8 + 6 + 5);
    expect(&hidden, 1, API, 4 + 1);
    expect(&within, 1, API, 8 + 6 + 5);
    expect((const RedactRow[]){lee, hidden, six}, 3, EXACT, 19 + 4 + 5);
}

static void generated_columns(void **state) {
    (void)state;
    Redact private = redact_open("redact rows=1000 input=private"), public = redact_open("redact rows=1000 input=public");
    assert_true(rungs_op_redact.least_read(&private.problem, private.in, EXACT) == 4000);
    const double least = rungs_op_redact.least_read(&public.problem, public.in, EXACT),
                 chars = (double)array_bytes(&public.in[NAMES + CHARS]) + (double)array_bytes(&public.in[VISIBILITIES + CHARS]);
    assert_true(least > 8000 + 6000 + 4000 && least < 8000 + chars);
    redact_close(&private);
    redact_close(&public);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_by_hand), cmocka_unit_test(generated_columns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
