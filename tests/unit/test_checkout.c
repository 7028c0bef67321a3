/* What counts as a change of a checkout: what a build of it would hold, and nothing that lies beside. */
#include "record/checkout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[] = "/tmp/rungs_test_checkout_XXXXXX";

static void shell(const char *command) {
    char line[1024];
    snprintf(line, sizeof line, "cd '%s' && { %s ; } >/dev/null 2>&1", folder, command);
    if (system(line) != 0) fail_msg("%s", command);
}

static int setup(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return -1;
    shell("git init -q && mkdir -p impls/op results docs && touch impls/op/cpu_a.c results/old.jsonl docs/a.md REPORT.md && git "
          "add . && "
          "git -c user.name=t -c user.email=t@t commit -q -m one");
    return 0;
}

static int teardown(void **state) {
    (void)state;
    char line[256];
    snprintf(line, sizeof line, "rm -rf '%s'", folder);
    return system(line);
}

static void expect(const char *before, const char *changes, const char *after) {
    shell(before);
    char *told = checkout_changes(folder);
    if (!told) fail_msg("%s: git tells nothing", before);
    assert_string_equal(told, changes);
    free(told);
    shell(after);
}

static void a_commit_has_a_name(void **state) {
    (void)state;
    char *commit = checkout_commit(folder);
    assert_non_null(commit);
    assert_int_equal(strlen(commit), 40);
    free(commit);
}

static void what_is_built_from_counts(void **state) {
    (void)state;
    expect(":", "", ":");
    expect("echo x >>impls/op/cpu_a.c", " M impls/op/cpu_a.c", "git checkout -q .");
    expect("echo x >>docs/a.md", " M docs/a.md", "git checkout -q .");
    expect("touch impls/op/cuda_b.cu", "impls/op/cuda_b.cu", "rm impls/op/cuda_b.cu"); /* the build would take it */
    expect("echo x >>impls/op/cpu_a.c; touch impls/op/cuda_b.cu", " M impls/op/cpu_a.c",
           "git checkout -q . && rm impls/op/cuda_b.cu");
}

static void rows_and_notes_do_not(void **state) {
    (void)state;
    expect("mkdir ab && touch ab/base.jsonl rows.jsonl notes.txt", "", "rm -r ab rows.jsonl notes.txt");
    expect("touch results/new.jsonl", "", "rm results/new.jsonl");
    expect("echo x >>results/old.jsonl; echo x >>REPORT.md", "", "git checkout -q .");
}

static void a_folder_within_a_checkout_is_none(void **state) {
    (void)state;
    char inner[128];
    snprintf(inner, sizeof inner, "%s/impls", folder);
    assert_null(checkout_commit(inner));
    assert_null(checkout_changes(inner));
}

/* Each setting that makes git run a program of the checkout's choice leaves a mark if it does. */
static void programs_of_the_checkout_are_not_run(void **state) {
    (void)state;
    shell("printf '#!/bin/sh\\ntouch ../ran-'$(basename \"$PWD\")'; cat\\n' >program && chmod +x program && "
          "git config core.fsmonitor \"$PWD/program\" && git config core.hooksPath \"$PWD\" && "
          "git config filter.f.clean \"$PWD/program\" && git config filter.f.required true && "
          "echo '*.c filter=f' >.git/info/attributes && sleep 0.01 && touch impls/op/cpu_a.c");
    char *told = checkout_changes(folder), *commit = checkout_commit(folder), *resolved = checkout_resolve(folder, "HEAD");
    assert_string_equal(told, "");
    assert_string_equal(commit, resolved);
    assert_null(checkout_resolve(folder, "no-such-name"));
    free(told);
    free(commit);
    free(resolved);
    shell("test ! -e ../ran-$(basename \"$PWD\")");
    shell("git status --porcelain; test -e ../ran-$(basename \"$PWD\") && rm ../ran-$(basename \"$PWD\")"); /* they would */
    shell("rm program .git/info/attributes && git config --unset core.fsmonitor && git config --unset core.hooksPath && "
          "git config --remove-section filter.f");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_commit_has_a_name),
        cmocka_unit_test(what_is_built_from_counts),
        cmocka_unit_test(rows_and_notes_do_not),
        cmocka_unit_test(programs_of_the_checkout_are_not_run),
        cmocka_unit_test(a_folder_within_a_checkout_is_none),
    };
    if (system("git --version >/dev/null 2>&1") != 0) return puts("git is not installed: nothing to ask") == EOF;
    return cmocka_run_group_tests(tests, setup, teardown);
}
