#include "base/places.h"
#include "base/usercode.h"
#include "op.h"
#include "variant_support.h"
#include "verify/families.h"
#include "verify/norms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD                                                                                                                       \
    "__device__ void window_function(const real *shared, int history_len, real *out, int window_size, int arr_len, int offset)"
#define FALL places_project("examples/apply/first_minus_last.cu")
#define MEAN places_project("examples/apply/running_mean.cu")

extern const Op rungs_op_rolling;
enum { RUNNING = 1 }; /* index of that bound */

static char folder[64], path[128];

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/rungs-test-XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/a \"name\" $(id).cu", folder); /* no shell sees it */
    setenv("TMPDIR", folder, 1);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(path);
    return rmdir(folder); /* fails if the compiler's files were left behind */
}

static void put(const char *text) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void assert_refused(const char *name, const char *const *expected) {
    Usercode code;
    const Status status = usercode_open(name, USERCODE_F64, &USERCODE_BUILD, &code);
    if (status != STATUS_INVALID) fail_msg("status %s: %s", status_word(status), status_message());
    for (; *expected; expected++)
        if (!strstr(status_message(), *expected)) fail_msg("'%s' is not in: %s", *expected, status_message());
}

static void all_three_reals_can_be_called(void **state) {
    (void)state;
    put(HEAD " { for (int i = 0; i < arr_len; i++) out[i] = shared[offset + i] / 3 + (real)sizeof(real) + history_len + "
             "window_size; }\n");
    Usercode f32, f64, wide;
    if (usercode_open(path, USERCODE_F32, &USERCODE_BUILD, &f32) != STATUS_OK) fail_msg("%s", status_message());
    assert_int_equal(usercode_open(path, USERCODE_F64, &USERCODE_BUILD, &f64), STATUS_OK);
    assert_int_equal(usercode_open(path, USERCODE_LONG_DOUBLE, &USERCODE_BUILD, &wide), STATUS_OK);
    const float x32[] = {0, 1, 2};
    const double x64[] = {0, 1, 2};
    const long double x_wide[] = {0, 1, 2};
    float y32[2];
    double y64[2];
    long double y_wide[2];
    f32.function.f32(x32, 100, y32, 1000, 2, 1);
    f64.function.f64(x64, 100, y64, 1000, 2, 1);
    wide.function.long_double(x_wide, 100, y_wide, 1000, 2, 1);
    assert_true(y32[0] == 1.f / 3 + 4 + 100 + 1000 && y32[1] == 2.f / 3 + 4 + 100 + 1000);
    assert_true(y64[0] == 1. / 3 + 8 + 100 + 1000 && y64[1] == 2. / 3 + 8 + 100 + 1000);
    assert_true(y_wide[0] == 1.l / 3 + sizeof(long double) + 100 + 1000);
    usercode_close(&f32);
    usercode_close(&f64);
    usercode_close(&wide);
    assert_null(wide.library);
}

static void compile_errors_show_the_users_lines(void **state) {
    (void)state;
    put("// one\n// two\n" HEAD " {\n    out[0] = undeclared_thing;\n}\n");
    assert_refused(path, (const char *const[]){"undeclared_thing", "$(id).cu:4:", "error", NULL});
    put(HEAD " {\n    out[0] = 1\n}\n");
    assert_refused(path, (const char *const[]){"$(id).cu:2:", ";", NULL});
}

static void missing_functions_are_named(void **state) {
    (void)state;
    put("__device__ void other(real *out) { out[0] = 1; }\n");
    assert_refused(path,
                   (const char *const[]){"defines no `__device__ void window_function(const real *shared", "docs/APPLY.md", NULL});
    put("__device__ void window_function(real *out) { out[0] = 1; }\n"); /* another signature */
    assert_refused(path, (const char *const[]){"defines no `__device__ void window_function(const real *shared", NULL});
    put("");
    assert_refused(path, (const char *const[]){"defines no", NULL});
    put("__device__ real helper(real x);\n" HEAD " { out[0] = helper(shared[offset]); }\n");
    assert_refused(path, (const char *const[]){"cannot be loaded", "undefined symbol", "helper", NULL});
}

static void missing_files_are_named(void **state) {
    (void)state;
    assert_refused("no/such/function.cu", (const char *const[]){"no/such/function.cu", "no such file", NULL});
    assert_refused("/no/such/function.cu", (const char *const[]){"/no/such/function.cu", "no such file", NULL});
    Usercode code; /* found in the source tree, wherever we are */
    if (usercode_open("examples/apply/running_mean.cu", USERCODE_F64, &USERCODE_BUILD, &code) != STATUS_OK)
        fail_msg("%s", status_message());
    usercode_close(&code);
}

static void the_compiler_can_be_chosen(void **state) {
    (void)state;
    Usercode code;
    setenv("RUNGS_HOST_CC", "/no/such/compiler", 1);
    const UsercodeBuild plain = {0}; /* a sanitized one has no choice */
    const Status status = usercode_open(MEAN, USERCODE_F64, &plain, &code);
    unsetenv("RUNGS_HOST_CC");
    assert_int_equal(status, STATUS_UNSUPPORTED);
    assert_non_null(strstr(status_message(), "/no/such/compiler"));
}

typedef struct Instance {
    Case problem;
    Array x, y;
    double *value, *tolerance;
    ErrorReport report;
} Instance;

static void set(Params *params, const char *name, const char *text) {
    if (params_set(params, name, text) != STATUS_OK) fail_msg("%s", status_message());
}

static void make(Instance *p, const char *function, size_t n, const char *window, DType dtype, const char *family) {
    char text[32];
    snprintf(text, sizeof text, "%zu", n);
    *p = (Instance){.problem = {.op = "rolling", .dtype = dtype, .seed = 3}};
    snprintf(p->problem.input, sizeof p->problem.input, "%s", family);
    assert_int_equal(params_init(rungs_op_rolling.params, &p->problem.params), STATUS_OK);
    set(&p->problem.params, "agg", "apply");
    set(&p->problem.params, "function", function);
    set(&p->problem.params, "n", text);
    set(&p->problem.params, "window", window);
    assert_int_equal(rungs_op_rolling.shapes(&p->problem, &p->x, &p->y), STATUS_OK);
    p->x.data = malloc(n * 8 + 8);
    p->y.data = malloc(n * 8 + 8);
    memset(p->y.data, 0xA5, n * 8 + 8);
    p->value = malloc(n * 8 + 8);
    p->tolerance = malloc(n * 8 + 8);
    assert_int_equal(family_fill(&p->problem, 0, &p->x), STATUS_OK);
}

static void discard(Instance *p) {
    free(p->x.data);
    free(p->y.data);
    free(p->value);
    free(p->tolerance);
}

static void run_reference(Instance *p, int bound) {
    Reference reference = {p->value, p->tolerance};
    if (rungs_op_rolling.reference(&p->problem, &p->x, bound, &reference) != STATUS_OK) fail_msg("reference: %s", status_message());
}

static void run_cpu(Instance *p, const char *tile) {
    const Variant *variant = variant_of(VARIANT_ID(rolling, cpu_apply));
    Params tunables;
    assert_int_equal(params_init(variant->tunables, &tunables), STATUS_OK);
    set(&tunables, "tile", tile);
    VariantArgs args = {.problem = &p->problem, .tunables = &tunables, .in = &p->x, .in_count = 1, .out = &p->y, .out_count = 1};
    char reason[REASON_MAX] = "";
    if (!variant->supports(&args, reason)) fail_msg("%s", reason);
    if (variant->prepare(&args, &args.state) != STATUS_OK) fail_msg("%s", status_message());
    assert_int_equal(variant->run(&args), STATUS_OK);
    variant->release(args.state);
}

/* The reference against a plain loop. */
static void reference_of_first_minus_last(void **state) {
    (void)state;
    Instance p;
    make(&p, FALL, 10007, "300", DTYPE_F64, "normal");
    set(&p.problem.params, "incomplete", "inf");
    run_reference(&p, 0);
    const double *x = p.x.data;
    for (size_t i = 0; i < 10007; i++) {
        assert_true(p.value[i] == (i < 299 ? INFINITY : x[i - 299] - x[i]));
        double sum = 0;
        for (size_t k = 0; i >= 299 && k < 300; k++) sum += fabs(x[i - k]);
        const double expected = i < 299 ? 0 : 4 * 316 * 0x1p-53 * sum;
        assert_true(fabs(p.tolerance[i] - expected) <= 1e-12 * expected);
    }
    discard(&p);
}

static void variant_agrees_with_reference(void **state) {
    (void)state;
    static const struct {
        size_t n;
        const char *window, *tile;
    } shapes[] = {{0, "1", "48"},       {1, "2", "1"},        {49, "50", "48"},    {48, "48", "48"},      {1000, "1", "7"},
                  {1000, "1000", "48"}, {1000, "1001", "48"}, {5000, "300", "64"}, {20011, "4097", "48"}, {30000, "3", "30000"}};
    assert_string_equal(rungs_op_rolling.bounds[RUNNING].name, "running");
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const DType dtype = s % 2 ? DTYPE_F32 : DTYPE_F64;
        for (int which = 0; which < 2; which++) {
            Instance p;
            make(&p, which ? MEAN : FALL, shapes[s].n, shapes[s].window, dtype, "uniform");
            run_reference(&p, which ? RUNNING : 0); /* the mean keeps state */
            run_cpu(&p, shapes[s].tile);
            norms_compare(&p.y, p.value, p.tolerance, &p.report);
            char text[512];
            if (!p.report.pass)
                fail_msg("function %d %s n=%zu window=%s tile=%s: %s", which, dtype_name(dtype), shapes[s].n, shapes[s].window,
                         shapes[s].tile, norms_explain(&p.report, "y", &p.x, text, sizeof text));
            discard(&p);
        }
    }
}

/* NaN and inf belong in the windows' ends for first-minus-last; a running sum keeps them, and is caught. */
static void special_values(void **state) {
    (void)state;
    Instance p;
    make(&p, FALL, 5000, "10", DTYPE_F64, "naninf");
    run_reference(&p, 0);
    run_cpu(&p, "48");
    norms_compare(&p.y, p.value, p.tolerance, &p.report);
    assert_true(p.report.pass);
    const double *x = p.x.data;
    size_t special = 0;
    for (size_t i = 9; i < 5000; i++) {
        special += (size_t)!isfinite(p.value[i]);
        assert_true(isfinite(p.value[i]) == (isfinite(x[i]) && isfinite(x[i - 9])));
        assert_true(!isfinite(p.value[i]) || (isfinite(p.tolerance[i]) && p.tolerance[i] < 1e-12));
    }
    assert_int_equal(special, 6);
    discard(&p);
    make(&p, MEAN, 5000, "10", DTYPE_F64, "naninf");
    run_reference(&p, 0);
    size_t touched = 0;
    for (size_t i = 9; i < 5000; i++) touched += (size_t)!isfinite(p.value[i]);
    assert_in_range(touched, 10, 30);
    run_cpu(&p, "48");
    norms_compare(&p.y, p.value, p.tolerance, &p.report);
    assert_false(p.report.pass);
    assert_true(p.report.incomparable > 0);
    discard(&p);
}

static void writing_beside_the_output_is_noticed(void **state) {
    (void)state;
    snprintf(path, sizeof path, "%s/beside.cu", folder); /* case texts have no blanks */
    static const char *const beside[] = {"arr_len", "-1"};
    for (int b = 0; b < 2; b++) {
        char text[512];
        snprintf(text, sizeof text, HEAD " { for (int i = 0; i < arr_len; i++) out[i] = 0; out[%s] = 1; }\n", beside[b]);
        put(text);
        Instance p;
        make(&p, path, 1000, "3", DTYPE_F64, "uniform");
        Reference reference = {p.value, p.tolerance};
        assert_int_equal(rungs_op_rolling.reference(&p.problem, &p.x, 0, &reference), STATUS_INVALID);
        assert_non_null(strstr(status_message(), "writes beside out[0 .. arr_len)"));
        assert_non_null(strstr(status_message(), path));
        discard(&p);
    }
}

static void other_cases_are_refused_with_a_reason(void **state) {
    (void)state;
    Instance p;
    make(&p, "none", 10, "3", DTYPE_F64, "uniform");
    char reason[REASON_MAX] = "";
    const VariantArgs args = {.problem = &p.problem, .in = &p.x, .out = &p.y};
    assert_false(variant_of(VARIANT_ID(rolling, cpu_apply))->supports(&args, reason));
    assert_non_null(strstr(reason, "function=PATH"));
    Reference reference = {p.value, p.tolerance};
    assert_int_equal(rungs_op_rolling.reference(&p.problem, &p.x, 0, &reference), STATUS_INVALID);
    set(&p.problem.params, "agg", "mean");
    assert_false(variant_of(VARIANT_ID(rolling, cpu_apply))->supports(&args, reason));
    assert_non_null(strstr(reason, "agg=mean"));
    discard(&p);
}

int main(void) {
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(all_three_reals_can_be_called),        IN_FOLDER(compile_errors_show_the_users_lines),
        IN_FOLDER(missing_functions_are_named),          IN_FOLDER(missing_files_are_named),
        IN_FOLDER(the_compiler_can_be_chosen),           IN_FOLDER(reference_of_first_minus_last),
        IN_FOLDER(variant_agrees_with_reference),        IN_FOLDER(special_values),
        IN_FOLDER(writing_beside_the_output_is_noticed), IN_FOLDER(other_cases_are_refused_with_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
