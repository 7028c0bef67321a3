/* What redact needs of its columns, by hand. */
#include "redact_support.h"

static double least_read(const Redact *self, int oracle, int shift) {
    Reads reads = {.shift = shift};
    rungs_op_redact.least_read(&self->problem, self->in, oracle, &reads);
    return reads_bytes(&reads, self->in, INPUTS);
}

static void expect(const RedactRow *rows, size_t count, int oracle, double bytes) {
    Redact self = redact_own(DTYPE_I32, rows, count, 0, 0);
    const double least = least_read(&self, oracle, 0);
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
    assert_true(least_read(&private, EXACT, 0) == 4000);
    const double least = least_read(&public, EXACT, 0),
                 chars = (double)array_bytes(&public.in[NAMES + CHARS]) + (double)array_bytes(&public.in[VISIBILITIES + CHARS]);
    assert_true(least > 8000 + 6000 + 4000 && least < 8000 + chars);
    const double sectors = least_read(&public, EXACT, 5), lines = least_read(&public, EXACT, 6);
    assert_true(least < sectors && sectors <= lines && lines <= 8008 + chars);
    redact_close(&private);
    redact_close(&public);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_by_hand), cmocka_unit_test(generated_columns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
