/* The parts of a row that workers report: read from a reply and written again they are the same text. */
#include "record/row.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char COUNTS[] =
    "{\"allocations\":2,\"peak_bytes\":219263567,\"resource\":\"pool\",\"launches\":2,\"copies\":0,\"fills\":"
    "0,\"kernel_seconds\":0.00010710300000000001,\"kernels\":[{\"name\":\"agent_clear_kernel\",\"launches\":1"
    ",\"seconds\":1.6950000000000001e-6,\"registers\":16,\"shared_bytes\":0,\"grid\":[865,1,1],\"block\":[256,1,"
    "1],\"occu"
    "pancy\":1.0},{\"name\":\"redact_kernel<int, 96u>\",\"launches\":1,\"seconds\":0.000105408,\"registers\":"
    "48,\"shared_bytes\":16128,\"grid\":[13022,1,1],\"block\":[96,1,1],\"occupancy\":null}],\"registers\":48,"
    "\"occupancy\":0.609375,\"bytes_read\":271361792.0,\"bytes_written\":115673600.0,\"bytes_written_behind\""
    ":20815616.0,\"profile\":{\"load_sectors\":1.5,\"load_requests\":2.5,\"store_sectors\":3.5,\"store_requests\":4.5,\"local_"
    "sectors\":5.5,\"bank_conflicts\":6.5,\"sm_cycles\":7.5,\"sm_cycles_mean\":8.5,\"sm_cycles_most\":9.5,\"warps_active\":10.5,"
    "\"issue_active\":11.5,\"lanes\":12.5,\"stalled_barrier\":13.5,\"stalled_memory\":14.5},\"seconds\":0.5}";
static const char LAUNCH[] =
    "{\"device\":\"cuda\",\"threads\":96,\"blocks\":13022,\"share\":0.5,\"launches\":2,\"launched_blocks\":13"
    "887}";
static const char SAMPLES[] =
    "{\"samples\":[0.00010995200276374817,0.00010998400300741196],\"sm_mhz\":[1928.2594086021506,null],\"call"
    "s_per_sample\":1,\"clock\":\"cuda "
    "events\",\"why_none\":null,\"circumstances\":{\"celsius\":[38.0,null],\"reasons\":[\"software power "
    "cap\"],\"throttled\":false}}";

static void expect_text(json_t *json, const char *expected) {
    char *text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
    assert_string_equal(text, expected);
    free(text);
    json_decref(json);
}

static json_t *parsed(const char *text) {
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    return json;
}

static void counts_are_the_same_text(void **state) {
    (void)state;
    json_t *json = parsed(COUNTS);
    Counts counts = counts_none(), copy;
    counts_read(json, &counts);
    counts.seconds = 0.5;
    assert_true(counts.any && counts_copy(&counts, &copy));
    counts_free(&counts);
    assert_false(counts.any);
    expect_text(counts_json(&copy, NULL), COUNTS);
    counts_free(&copy);
    json_decref(json);
}

/* What was not counted is null in a row, and absent from the reply of a part. */
static void counts_may_be_missing(void **state) {
    (void)state;
    json_t *reply = parsed("{\"counts\":{\"allocations\":0,\"peak_bytes\":8,\"resource\":null},\"counts_reason\":\"why\"}");
    Counts counts = counts_none();
    assert_string_equal(reply_counts(reply, &counts), "why");
    counts.seconds = 1;
    expect_text(counts_json(&counts, NULL),
                "{\"allocations\":0,\"peak_bytes\":8,\"resource\":null,\"launches\":null,\"copies\":null,\"fills\":null,"
                "\"kernel_seconds\":null,\"kernels\":null,\"registers\":null,\"occupancy\":null,\"bytes_read\":null,"
                "\"bytes_written\":null,\"bytes_written_behind\":null,\"seconds\":1.0}");
    expect_text(counts_json(&counts, "memory"), "{\"allocations\":0,\"peak_bytes\":8,\"resource\":null}");
    counts_free(&counts);
    json_decref(reply);
}

static void launches_are_joined(void **state) {
    (void)state;
    json_t *json = parsed(LAUNCH), *more = parsed("{\"device\":\"cuda\",\"blocks\":7,\"launched_threads\":9}");
    Launch launch = {0};
    expect_text(launch_json(&launch), "null");
    launch_read(json, &launch);
    expect_text(launch_json(&launch), LAUNCH);
    launch_read(more, &launch);
    assert_true(launch.numbers[1].value == 7 && launch.count == 6);
    json_decref(json), json_decref(more);
}

static void times_are_the_same_text(void **state) {
    (void)state;
    json_t *reply = json_pack("{s:{s:o}}", "timing", "cold", parsed(SAMPLES));
    ModeTiming timing[MODE_COUNT];
    assert_true(reply_timing(reply, timing));
    expect_text(samples_json(&timing[MODE_COLD]), SAMPLES);
    assert_false(timing[MODE_HOT].taken);
    assert_true(timing[MODE_COLD].stats.min == timing[MODE_COLD].seconds[0]);
    json_t *row = timing_json(&timing[MODE_COLD]);
    assert_true(json_is_null(json_object_get(row, "limit")) && json_is_null(json_object_get(row, "bytes_per_second")));
    assert_null(json_object_get(row, "checked"));
    json_decref(row);
    timing_free(timing);
    json_decref(reply);
}

/* A reply may be anything. */
static void bad_replies_are_nothing(void **state) {
    (void)state;
    static const char *const BAD[] = {
        "{}", "{\"timing\":7,\"counts\":[],\"launch\":\"x\",\"launched\":[1],\"check\":3,\"limit\":{\"cold\":[]}}",
        "{\"timing\":{\"cold\":{\"samples\":{},\"sm_mhz\":[\"x\"],\"clock\":1,\"circumstances\":{\"reasons\":[1,2,3,4,5,6,7,8]}}},"
        "\"counts\":{\"kernels\":[7,{\"grid\":1}],\"launches\":\"x\"},\"threads\":-3}"};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        json_t *reply = parsed(BAD[i]);
        ModeTiming timing[MODE_COUNT] = {0};
        Counts counts = counts_none();
        Limit limits[MEASURE_MODE_COUNT];
        (void)reply_timing(reply, timing);
        assert_int_equal(timing[MODE_COLD].count, 0);
        (void)reply_counts(reply, &counts);
        assert_true(isnan(counts.launches));
        limits_read(json_object_get(reply, "limit"), limits);
        assert_true(isnan(limits[MODE_COLD].seconds));
        assert_int_equal(reply_run(reply).launch.count, 0);
        assert_int_equal(reply_sample(reply).mode, MODE_COUNT);
        assert_true(isnan(reply_prepare(reply).seconds));
        timing_free(timing);
        counts_free(&counts);
        json_decref(reply);
    }
}

/* Of a sample that was taken: as a worker in C says it, and a library's. */
static void a_taken_sample_has_its_time(void **state) {
    (void)state;
    json_t *ours = parsed("{\"taken\":{\"mode\":\"hot\",\"sample\":3,\"of\":9,\"seconds\":0.25,\"longer\":true}}"),
           *library = parsed("{\"taken\":{\"mode\":\"hot\",\"sample\":3,\"of\":9}}");
    const SampleReply taken = reply_sample(ours), said = reply_sample(library);
    assert_true(taken.what == SAMPLE_TAKEN && taken.mode == MODE_HOT && taken.sample == 3 && taken.of == 9);
    assert_true(taken.seconds == 0.25 && taken.longer);
    assert_true(isnan(said.seconds) && !said.longer);
    json_decref(ours);
    json_decref(library);
}

/* A row begins as failed, and a verdict takes its times away. */
static void a_verdict_takes_times_away(void **state) {
    (void)state;
    Row row = {0};
    assert_int_equal(row.verdict, VERDICT_FAIL);
    row.timed = true;
    timing_single(&row.timing[MODE_FIRST], 2, "steady clock");
    row_decide(&row, VERDICT_PASS, NULL);
    assert_true(row.timed && row.timing[MODE_FIRST].stats.median == 2);
    row_decide(&row, VERDICT_ERROR, "crashed");
    assert_false(row.timed || row.timing[MODE_FIRST].taken);
    assert_string_equal(row.why_not_timed, "ended with an error");
    assert_string_equal(row.reason, "crashed");
    row_free(&row);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_the_same_text),   cmocka_unit_test(counts_may_be_missing),
        cmocka_unit_test(launches_are_joined),        cmocka_unit_test(times_are_the_same_text),
        cmocka_unit_test(bad_replies_are_nothing),    cmocka_unit_test(a_taken_sample_has_its_time),
        cmocka_unit_test(a_verdict_takes_times_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
