/* Scenario files: every complaint says where and what. */
/* needs: double */
#include "scenario_support.h"

#define CLAIM_TEXTS "  - {id: c, statement: s, source: s, hardware: h, method: m, program: ours, rule: at_most, value: 1,\n"
#define RULED SUITE "claims:\n  - {id: c, statement: s, source: s, hardware: h, method: m, program: ours, quantity: seconds,\n"
#define CLAIM SUITE "claims:\n" CLAIM_TEXTS

/* Every complaint: the file, what it begins with after the path, and what it must also say. */
static const char *const BAD[][3] = {
    {"", "1:1: the file is empty", "mapping"},
    {"[1, 2]\n", "1:1: the scenario: a mapping is expected", "not a list"},
    {"title: t\nsuites:\n  - - op: double\n", "3:5: a suite: a mapping is expected", "not a list"},
    {"title: t\n", "1:1: 'suites' is missing", ""},
    {"suites: []\n", "1:1: 'title' is missing", ""},
    {"title: [t]\nsuites: []\n", "1:8: title: a single value is expected", "not a list"},
    {"title: t\nsuites: []\n", "2:9: suites: the list is empty", "at least one"},
    {"title: t\nsuites: {op: double}\n", "2:9: suites: a list is expected", "not a mapping"},
    {"title: t\nsuite: []\n", "2:1: unknown key 'suite' in the scenario",
     "did you mean 'suites'? (allowed: title, about, suites, claims)"},
    {"title: t\ntitle: u\n", "2:1: 'title' is given twice", "line 1"},
    {"title: t\nsuites: [\n", "3:1: not valid YAML", ""},
    {"title: t\n  suites: [1]\n", "2:9: not valid YAML", ""},
    {"title: \xff\n", "1:8: not valid YAML", "UTF-8"},
    {"title: *nowhere\n", "1:8: not valid YAML", "undefined alias"},
    {SUITE "---\ntitle: t\n", "6:1: a second document begins", "one per file"},
    {"title: t\nsuites:\n  - {variants: [cpu_loop]}\n", "3:5: 'op' is missing", ""},
    {"title: t\nsuites:\n  - op: duble\n", "3:9: unknown op 'duble'", "did you mean 'double'"},
    {HEAD, "3:5: 'variants' is missing", ""},
    {HEAD "    variants: cpu_loop\n", "4:15: variants: a list is expected", "not a single value"},
    {HEAD "    variants: []\n", "4:15: variants: the list is empty", ""},
    {HEAD "    variants: [cpu_loop, cpu_lop]\n", "4:26: in 'cpu_lop', column 1: unknown variant 'double/cpu_lop'",
     "did you mean 'double/cpu_loop'"},
    {HEAD "    variants: [gpu_*]\n", "4:16: in 'gpu_*', column 1: unknown variant 'double/gpu_*'", "known: "},
    {HEAD "    variants: [cpu_loop threads=64]\n",
     "4:16: in 'cpu_loop threads=64', column 10: double/cpu_loop: unknown parameter 'threads'", "known: none"},
    {HEAD "    variants: [cpu_loop 64]\n", "4:16: in 'cpu_loop 64', column 10: '64' is not allowed here", "name=value"},
    {HEAD "    variants: [cpu_loop, -cpu_x]\n", "4:26: in '-cpu_x', nothing to remove", ""},
    {HEAD "    variants: [-cpu_loop, cpu_loop]\n", "4:16: in '-cpu_loop', nothing to remove", ""},
    {SUITE "    axis: {n: [1]}\n", "5:5: unknown key 'axis' in a suite", "did you mean 'axes'"},
    {SUITE "    axes: []\n", "5:11: axes: a mapping is expected", ""},
    {SUITE "    axes: {}\n", "5:11: axes: empty", ""},
    {SUITE "    axes: {n: 3}\n", "5:15: n: a list is expected", "not a single value"},
    {SUITE "    axes: {n: []}\n", "5:15: n: the list is empty", ""},
    {SUITE "    axes: {n: [3, [4]]}\n", "5:19: n: a single value is expected", "not a list"},
    {SUITE "    axes: {n: [3, -4]}\n", "5:19: n=-4 is out of range", "allowed: 0 to"},
    {SUITE "    axes: {n: [abc]}\n", "5:16: n='abc' is not an integer", "allowed"},
    {SUITE "    axes: {n: [null, 1]}\n", "5:16: n='null' is not an integer", ""},
    {SUITE "    axes: {n: [1000, 7, 1e3]}\n", "5:25: the same value as element 1", ""},
    {SUITE "    axes: {n: [1], n: [2]}\n", "5:20: 'n' is given twice", ""},
    {SUITE "    axes: {m: [1]}\n", "5:12: unknown parameter 'm'", "known: n, dtype, input, seed"},
    {SUITE "    axes: {input: [uniform, sorted]}\n", "5:29: input='sorted' is not an input family of double", "allowed: uniform"},
    {SUITE "    axes: {dtype: [f99]}\n", "5:20: dtype='f99' is not allowed", "f32, f64"},
    {SUITE "    axes: {n: [1]}\n    tied: [{n: 2}]\n", "6:13: 'n' is an axis and in a tied tuple", ""},
    {SUITE "    tied: [{n: 2}, {seed: 2}]\n", "5:21: tied: 'seed' is not in the first tuple", ""},
    {SUITE "    tied: [{n: 2}, {n: 3, seed: 2}]\n", "5:20: tied: every tuple must set the same parameters", "sets 2, the first 1"},
    {SUITE "    tied: [{n: 2}, 3]\n", "5:20: a tied tuple: a mapping is expected", ""},
    {SUITE "    tied: [{}]\n", "5:12: tied: every tuple must set", "at least one"},
    {SUITE "    tied: [{n: 2}, {m: 3}]\n", "5:21: tied: 'm' is not in the first tuple", ""},
    {SUITE "    tied: [{m: 3}]\n", "5:13: unknown parameter 'm'", ""},
    {SUITE "    modes: [cold, warm]\n", "5:19: mode 'warm' is not allowed", "cold, hot, graph, enqueue, complete, first"},
    {SUITE "    modes: [cold, cold]\n", "5:19: mode 'cold' is given twice", ""},
    {SUITE "    modes: []\n", "5:12: modes: the list is empty", ""},
    {SUITE "    bounds: loose\n", "5:13: bounds 'loose' is not allowed", "strict, declared"},
    {SUITE "    full: cpu_loop\n", "5:11: full: a list is expected", "not a single value"},
    {SUITE "    full: []\n", "5:11: full: the list is empty", ""},
    {SUITE "    full: [cpu_*, cpu_lop]\n", "5:19: full: 'cpu_lop' matches no variant of the suite", ""},
    {SUITE "    slow: [[cpu_loop]]\n", "5:12: slow: a single value is expected", "not a list"},
    {SUITE "    energy: [peer_*]\n", "5:14: energy: 'peer_*' matches no variant of the suite", ""},
    {SUITE "    energy: [cpu_loop]\n    axes: {seed: [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}\n",
     "3:5: energy: suites with it have more than 16", ""},
    {SUITE "    slow: [peer_*]\n", "5:12: slow: 'peer_*' matches no variant of the suite", ""},
    {SUITE "    slo: [cpu_loop]\n", "5:5: unknown key 'slo' in a suite", "did you mean 'slow'"},
    {SUITE "    baseline: cpu_lop\n", "5:15: unknown variant 'double/cpu_lop'", "did you mean"},
    {SUITE "    baseline: cpu_*\n", "5:15: unknown variant 'double/cpu_*'", ""},
    {SUITE "    without_gpu: 5\n", "5:18: without_gpu: a mapping is expected", ""},
    {SUITE "    without_gpu: skipped\n", "5:18: without_gpu: a mapping is expected", ""},
    {SUITE "    without_gpu: {n: x}\n", "5:22: n='x' is not an integer", ""},
    {SUITE "    without_gpu: {m: 1}\n", "5:19: unknown parameter 'm'", ""},
    {SUITE "claims: {}\n", "5:9: claims: a list is expected", ""},
    {RULED "     mode: cold}\n", "6:5: 'rule' is missing: about, at_least, at_most, range", ""},
    {RULED "     rule: roughly}\n", "7:12: rule 'roughly' is not allowed (allowed: about, at_least, at_most, range, shown)", ""},
    {RULED "     rule: at_most, value: 1, tier: slow}\n", "7:37: tier 'slow' is not allowed (allowed: quick, default, full)", ""},
    {RULED "     rule: about, factor: 2}\n", "6:5: 'value' is missing", ""},
    {RULED "     rule: about, value: 2}\n", "6:5: 'factor' is missing", "1.33"},
    {RULED "     rule: about, value: 2, factor: 0.5}\n", "7:37: factor: 0.5 is below 1", ""},
    {RULED "     rule: about, value: fast, factor: 2}\n", "7:26: value: 'fast' is not a number", ""},
    {RULED "     rule: about, value: 0, factor: 2}\n", "7:26: value: 0 is not above 0", ""},
    {RULED "     rule: at_most, value: .nan}\n", "7:28: value: '.nan' is not a number", ""},
    {RULED "     rule: at_least, value: 2, factor: 2}\n", "7:40: factor: only claims of rule about", ""},
    {RULED "     rule: at_least, value: 2, low: 2}\n", "7:37: low: only claims of rule range", ""},
    {RULED "     rule: about, value: 2, factor: 2, high: 2}\n", "7:46: high: only claims of rule range", ""},
    {RULED "     rule: range, value: 2}\n", "7:26: value: only claims of rule about, at_least, at_most or shown", ""},
    {RULED "     rule: range, high: 2}\n", "6:5: 'low' is missing", ""},
    {RULED "     rule: range, low: 2}\n", "6:5: 'high' is missing", ""},
    {RULED "     rule: range, low: 2, high: 2}\n", "7:33: high: 2 is not above low, 2", ""},
    {RULED "     at_least: 2}\n", "7:6: unknown key 'at_least'", ""},
    {CLAIM "     quantity: ratio}\n", "7:16: quantity 'ratio' is not allowed", "speedup, seconds"},
    {CLAIM "     quantity: seconds, mode: warm}\n", "7:31: mode 'warm' is not allowed", ""},
    {CLAIM "     quantity: seconds, mode: cold}\n", "6:5: 'case' is missing", ""},
    {CLAIM "     quantity: seconds, mode: cold, case: n=x}\n", "7:43: case: in 'double n=x', column 8: n='x'", ""},
    {CLAIM "     quantity: seconds, mode: cold, case: seed=1}\n", "6:5: 'variant' is missing", ""},
    {CLAIM "     quantity: seconds, mode: cold, case: seed=1,\n     variant: cpu_lop}\n",
     "8:15: variant: in 'cpu_lop', column 1: unknown", ""},
    {CLAIM "     quantity: seconds, mode: cold, case: seed=2,\n     variant: cpu_loop}\n",
     "8:15: variant: no suite of this scenario runs 'double/cpu_loop' on 'double n=1000003", "seed=2' in mode cold"},
    {CLAIM "     quantity: seconds, mode: cold, case: seed=1,\n     variant: cpu_loop, baseline: cpu_loop}\n",
     "8:35: baseline: only claims of", ""},
    {CLAIM "     quantity: speedup, mode: cold, case: seed=1,\n     variant: cpu_loop}\n", "6:5: 'baseline' is missing", ""},
    {CLAIM "     quantity: speedup, mode: cold, case: seed=1,\n     variant: cpu_loop, baseline: cpu_loop, "
           "baseline_case: seed=3}\n",
     "8:35: baseline: no suite of this scenario runs 'double/cpu_loop' on 'double n=1000003", "seed=3' in mode cold"},
    {CLAIM "     quantity: speedup, mode: cold, case: seed=1,\n     variant: cpu_loop, baseline: cpu_loop, "
           "baseline_mode: tepid}\n",
     "8:60: baseline_mode 'tepid' is not allowed", ""},
    {CLAIM "     quantity: seconds, mode: cold, case: seed=1,\n     variant: cpu_loop, baseline_mode: hot}\n",
     "8:40: baseline_mode: only claims of quantity speedup", ""},
    {CLAIM "     quantity: seconds, mode: cold, case: seed=1,\n     variant: cpu_loop, output: y}\n",
     "8:33: output: only claims of quantity error", ""},
    {CLAIM "     quantity: error, mode: cold, case: seed=1,\n     variant: cpu_loop}\n", "7:29: mode: only claims of", ""},
    {CLAIM "     quantity: error, case: seed=1,\n     variant: cpu_loop, output: z}\n",
     "8:33: output 'z': double has no such output", ""},
    {CLAIM "     quantity: error, case: seed=1,\n     variant: cpu_loop}\n", "6:5: 'reason' is missing: why this acceptance band",
     ""},
    {CLAIM "     kind: news, quantity: error}\n", "7:12: kind 'news' is not allowed (allowed: statement, finding)", ""},
    {CLAIM "     foreign: both, quantity: error}\n", "7:15: foreign 'both' is not allowed (allowed: variant, baseline)", ""},
    {CLAIM "     law: yes, quantity: error}\n", "7:11: law 'yes' is not allowed (allowed: true, false)", ""},
    {CLAIM "     untestable: gone}\n", "6:83: rule: only claims of what can be tested", ""},
    {RULED "     rule: shown, value: 1, mode: cold, reason: r}\n", "7:49: reason: only claims of the other rules", ""},
    {SUITE "claims:\n  - {id: c, statement: s, source: s, hardware: h, method: m,\n     quantity: speedup}\n",
     "6:5: 'program' is missing: original, reimplementation, successor, ours", ""},
    {SUITE "claims:\n  - {id: c, statement: s, source: s, hardware: h, method: m, program: mine}\n",
     "6:71: program 'mine' is not allowed", "original, reimplementation, successor, ours"},
    {SUITE "claims:\n  - {id: c, statement: s, source: s, hardware: h, method: m, program: ours, quantity: error, rule: shown,\n"
           "     value: 1}\n",
     "6:100: rule 'shown' is for quantity seconds and rates", ""},
    {SUITE "    not_run: [a]\n", "5:14: not_run: ", ""},
};

static void every_error_says_where_and_what(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        Plan plan = {0};
        const char *path = file("bad.yaml", BAD[i][0]);
        const Status status = plan_add_scenario(&plan, path);
        if (status != STATUS_INVALID) fail_msg("status %s for:\n%s", status_word(status), BAD[i][0]);
        const char *message = status_message();
        const size_t length = strlen(path);
        if (strncmp(message, path, length) != 0 || message[length] != ':' ||
            strncmp(message + length + 1, BAD[i][1], strlen(BAD[i][1])) != 0 || !strstr(message, BAD[i][2]))
            fail_msg("expected '%s' and '%s', got '%s' for:\n%s", BAD[i][1], BAD[i][2], message, BAD[i][0]);
        assert_int_equal(plan.item_count, 0);
        assert_int_equal(plan.claim_count, 0);
        assert_int_equal(plan.scenario_count, 0);
        plan_free(&plan);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_error_says_where_and_what),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
