/* The cases of `redact`: dtypes and parameters, sizes past int32, and what a user's own columns must be. */
#include "redact_support.h"

#include <sys/mman.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static Status shapes_of(const char *text, Array *in, Array *out) {
    Case problem;
    if (case_parse(text, &problem) != STATUS_OK) fail_msg("%s: %s", text, status_message());
    return rungs_op_redact.shapes(&problem, in, out);
}

static void expect_past_int32(const char *family, size_t rows, const char *array) {
    Array in[INPUTS], out[OUTPUTS];
    char text[256], expected[256];
    snprintf(text, sizeof text, "redact rows=%zu input=%s dtype=i64", rows, family);
    if (shapes_of(text, in, out) != STATUS_OK) fail_msg("%s: %s", text, status_message());
    const Array *refused = strcmp(array, "redacted.chars") == 0 ? &out[CHARS] : array_find(in, INPUTS, array);
    snprintf(expected, sizeof expected, "%s: %zu bytes; int32 offsets hold 2147483647; use dtype=i64", array, refused->shape[0]);
    assert_true(refused->shape[0] > INT32_MAX);
    snprintf(text, sizeof text, "redact rows=%zu input=%s dtype=i32", rows, family);
    assert_int_equal(shapes_of(text, in, out), STATUS_INVALID);
    if (!strstr(status_message(), expected)) fail_msg("'%s', not '%s'", status_message(), expected);
}

/* The most rows whose array of that name has at most 2^31 - 1 bytes. */
static size_t most_rows(const char *family, int output) {
    size_t fits = 0, fails = (size_t)1 << 32;
    while (fails - fits > 1) {
        const size_t rows = fits + (fails - fits) / 2;
        Array in[INPUTS], out[OUTPUTS];
        char text[256];
        snprintf(text, sizeof text, "redact rows=%zu input=%s dtype=i64", rows, family);
        if (shapes_of(text, in, out) != STATUS_OK) fail_msg("%s: %s", text, status_message());
        if ((output ? out[CHARS] : in[NAMES + CHARS]).shape[0] > INT32_MAX)
            fails = rows;
        else
            fits = rows;
    }
    return fits;
}

static void generated_cases_past_int32_are_refused(void **state) {
    (void)state;
    Array in[INPUTS], out[OUTPUTS];
    char text[256];
    const size_t names = most_rows("names", 0), nospace = most_rows("nospace", 1);
    snprintf(text, sizeof text, "redact rows=%zu", names);
    if (shapes_of(text, in, out) != STATUS_OK) fail_msg("%s: %s", text, status_message());
    expect_past_int32("names", names + 1, "names.chars");
    snprintf(text, sizeof text, "redact rows=%zu input=nospace", nospace);
    if (shapes_of(text, in, out) != STATUS_OK) fail_msg("%s: %s", text, status_message());
    assert_true(in[NAMES + CHARS].shape[0] < INT32_MAX);
    expect_past_int32("nospace", nospace + 1, "redacted.chars"); /* what comes out is longer than what went in */
    expect_past_int32("long100k", 50000, "names.chars");
}

static void cases_and_parameters(void **state) {
    (void)state;
    Case problem;
    Array in[INPUTS], out[OUTPUTS];
    assert_int_equal(case_init(&rungs_op_redact, &problem), STATUS_OK);
    assert_int_equal(problem.dtype, DTYPE_I32);
    assert_string_equal(problem.input, "names");
    assert_int_equal(params_int(&problem.params, "rows"), 600000);
    assert_int_equal(rungs_op_redact.shapes(&problem, in, out), STATUS_OK);
    assert_true(in[NAMES].dtype == DTYPE_I32 && in[NAMES + CHARS].dtype == DTYPE_U8 && in[NAMES + VALIDITY].shape[0] == 0);
    assert_true(out[OFFSETS].shape[0] == 600001 && out[VALIDITY].shape[0] == 75000);
    assert_int_equal(case_parse("redact dtype=f32", &problem), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "dtype='f32' is not allowed (allowed: i32, i64)"));
    assert_int_equal(case_parse("redact input=uniform", &problem), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "is not an input family of redact"));
    assert_int_equal(case_parse("double dtype=i64", &problem), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "(allowed: f32, f64, f16, bf16)"));
    /* The sizes of data of one's own are not for generated cases. */
    assert_int_equal(shapes_of("redact rows=10 names_bytes=100", in, out), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "names_bytes=100, but input=names decides"));
}

static void columns(Array in[INPUTS], DType dtype, size_t rows) {
    static const char *const names[] = {"names.offsets",        "names.chars",        "names.validity",
                                        "visibilities.offsets", "visibilities.chars", "visibilities.validity"};
    const size_t sizes[] = {rows + 1, 1000, (rows + 7) / 8};
    for (int i = 0; i < INPUTS; i++) in[i] = array_1d(names[i], i % 3 ? DTYPE_U8 : dtype, sizes[i % 3]);
}

static void adoption(void **state) {
    (void)state;
    Case problem;
    Array in[INPUTS], again[INPUTS], out[OUTPUTS];
    assert_int_equal(case_init(&rungs_op_redact, &problem), STATUS_OK);
    columns(in, DTYPE_I64, 19);
    assert_int_equal(rungs_op_redact.adopt(in, &problem), STATUS_OK);
    assert_int_equal(problem.dtype, DTYPE_I64);
    assert_int_equal(params_int(&problem.params, "rows"), 19);
    assert_string_equal(params_text(&problem.params, "nulls"), "some");
    assert_int_equal(rungs_op_redact.shapes(&problem, again, out), STATUS_OK);
    for (int i = 0; i < INPUTS; i++)
        assert_true(again[i].shape[0] == in[i].shape[0] && again[i].dtype == in[i].dtype && strcmp(again[i].name, in[i].name) == 0);
    assert_int_equal(out[CHARS].shape[0], 1000 + 5 * 19); /* by the shapes alone: each row longer by a character and a space */
    in[NAMES + VALIDITY].rank = -1;
    assert_int_equal(rungs_op_redact.adopt(in, &problem), STATUS_OK);
    assert_string_equal(params_text(&problem.params, "nulls"), "visibilities");
    in[VISIBILITIES + VALIDITY].shape[0] = 0;
    assert_int_equal(rungs_op_redact.adopt(in, &problem), STATUS_OK);
    assert_string_equal(params_text(&problem.params, "nulls"), "none");
    /* A validity that the case has and the user did not bring: all rows are valid. */
    assert_int_equal(params_set(&problem.params, "nulls", "names"), STATUS_OK);
    assert_int_equal(rungs_op_redact.shapes(&problem, again, out), STATUS_OK);
    unsigned char validity[3] = {0};
    again[NAMES + VALIDITY].data = validity;
    assert_int_equal(family_input(&rungs_op_redact, &problem, NAMES + VALIDITY, &again[NAMES + VALIDITY]), STATUS_OK);
    assert_true(validity[0] == 0xff && validity[1] == 0xff && validity[2] == 7);
}

static void adoption_refuses(void **state) {
    (void)state;
    static const struct {
        int array, rank;
        DType dtype;
        size_t count;
        const char *message;
    } wrong[] = {
        {NAMES, -1, DTYPE_I32, 0, "names.offsets: missing"},
        {NAMES, 2, DTYPE_I32, 20, "names.offsets: one dimension is expected, not 2"},
        {NAMES, 1, DTYPE_F32, 20, "names.offsets: i32 or i64 is expected, not f32"},
        {NAMES, 1, DTYPE_I32, 0, "names.offsets: one more than rows is expected"},
        {NAMES, 1, DTYPE_I64, 20, "visibilities.offsets: i64 is expected, as names.offsets is, not i32"},
        {NAMES + CHARS, -1, DTYPE_U8, 0, "names.chars: missing"},
        {NAMES + CHARS, 1, DTYPE_F64, 9, "names.chars: u8 is expected, not f64"},
        {NAMES + CHARS, 1, DTYPE_U8, (size_t)1 << 31,
         "names.chars: 2147483648 bytes; int32 offsets hold 2147483647; use dtype=i64"},
        {NAMES + VALIDITY, 1, DTYPE_U8, 2, "names.validity: a bit for each of 19 rows, [3], is expected, not [2]"},
        {VISIBILITIES, 1, DTYPE_I32, 19, "visibilities.offsets: one more than rows, [20], is expected, not [19]"},
        {VISIBILITIES + CHARS, -1, DTYPE_U8, 9, "visibilities.chars: missing"},
        {VISIBILITIES + VALIDITY, 1, DTYPE_I32, 3, "visibilities.validity: u8 is expected, not i32"},
    };
    for (size_t k = 0; k < COUNT(wrong); k++) {
        Case problem;
        Array in[INPUTS];
        assert_int_equal(case_init(&rungs_op_redact, &problem), STATUS_OK);
        columns(in, DTYPE_I32, 19);
        Array *array = &in[wrong[k].array];
        array->rank = wrong[k].rank, array->dtype = wrong[k].dtype, array->shape[0] = wrong[k].count;
        assert_int_equal(rungs_op_redact.adopt(in, &problem), STATUS_INVALID);
        if (!strstr(status_message(), wrong[k].message)) fail_msg("'%s', not '%s'", status_message(), wrong[k].message);
    }
    Case problem;
    Array in[INPUTS];
    assert_int_equal(case_init(&rungs_op_redact, &problem), STATUS_OK);
    columns(in, DTYPE_I32, 19);
    in[NAMES + CHARS].shape[0] = INT32_MAX; /* fits; whether the output does is for the data to say */
    assert_int_equal(rungs_op_redact.adopt(in, &problem), STATUS_OK);
    columns(in, DTYPE_I64, 19);
    in[NAMES + CHARS].shape[0] = (size_t)1 << 33;
    assert_int_equal(rungs_op_redact.adopt(in, &problem), STATUS_OK);
}

static void offsets_that_lie_are_refused(void **state) {
    (void)state;
    static const RedactRow rows[] = {{"John Lee", "public"}, {"Madonna", "public"}, {"A B", "private"}};
    static const struct {
        int column;
        size_t at, value;
        const char *message;
    } wrong[] = {
        {NAMES, 1, 1000, "row 0 is from byte 0 to 1000 of the 18"},
        {NAMES, 3, 19, "row 2 is from byte 15 to 19"},
        {NAMES, 2, 3, "row 1 is from byte 8 to 3"},
        {NAMES, 0, (size_t)-1, "row 0 is from byte -1 to 8"},
        {VISIBILITIES, 2, 5, "row 1 is from byte 6 to 5"},
    };
    for (size_t k = 0; k < 2 * COUNT(wrong); k++) {
        Redact self = redact_own(k % 2 ? DTYPE_I64 : DTYPE_I32, rows, 3, 0, 0);
        column_set_offset(&self.in[wrong[k / 2].column], wrong[k / 2].at, wrong[k / 2].value);
        assert_int_equal(rungs_op_redact.exact(&self.problem, self.in, EXACT, self.out), STATUS_INVALID);
        if (!strstr(status_message(), wrong[k / 2].message)) fail_msg("%s", status_message());
        assert_int_equal(rungs_op_redact.adopt(self.in, &self.problem), STATUS_INVALID);
        /* As exec hands over what the user did not bring. */
        self.in[NAMES + VALIDITY].rank = self.in[VISIBILITIES + VALIDITY].rank = -1;
        assert_int_equal(rungs_op_redact.adopt(self.in, &self.problem), STATUS_INVALID);
        redact_close(&self);
    }
}

/* One name of 2^31 - 2 bytes without a space: it fits, its redaction is 2^31 bytes long. Pages of zeros cost no memory. */
static void an_output_past_int32_is_refused_and_never_written(void **state) {
    (void)state;
    enum { BYTES = INT32_MAX - 1 };
    void *zeros = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(zeros != MAP_FAILED);
    int32_t names[] = {0, BYTES}, visibilities[] = {0, 6};
    char public[] = "public";
    Array in[INPUTS] = {
        array_1d("names.offsets", DTYPE_I32, 2),        array_1d("names.chars", DTYPE_U8, BYTES),    array_1d("", DTYPE_U8, 0),
        array_1d("visibilities.offsets", DTYPE_I32, 2), array_1d("visibilities.chars", DTYPE_U8, 6), array_1d("", DTYPE_U8, 0)};
    in[0].data = names, in[1].data = zeros, in[3].data = visibilities, in[4].data = public;
    Case problem;
    assert_int_equal(case_init(&rungs_op_redact, &problem), STATUS_OK);
    assert_int_equal(rungs_op_redact.adopt(in, &problem), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "redacted.chars: 2147483648 bytes; int32 offsets hold 2147483647; use dtype=i64"));
    int32_t offsets[2] = {-7, -7};
    Array out[OUTPUTS] = {array_1d("", DTYPE_I32, 2), array_1d("", DTYPE_U8, (size_t)1 << 32), array_1d("", DTYPE_U8, 1)};
    out[0].data = offsets; /* chars stay NULL: a write would be noticed */
    assert_int_equal(rungs_op_redact.exact(&problem, in, EXACT, out), STATUS_INVALID);
    assert_non_null(strstr(status_message(), "2147483648 bytes; int32 offsets hold 2147483647"));
    assert_true(offsets[0] == -7 && offsets[1] == -7);
    munmap(zeros, BYTES);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generated_cases_past_int32_are_refused),
        cmocka_unit_test(cases_and_parameters),
        cmocka_unit_test(adoption),
        cmocka_unit_test(adoption_refuses),
        cmocka_unit_test(offsets_that_lie_are_refused),
        cmocka_unit_test(an_output_past_int32_is_refused_and_never_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
