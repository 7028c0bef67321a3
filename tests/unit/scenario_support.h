/* scenario_support.h - a folder of scenario files for tests of plans. */
/* needs: double */
#pragma once

#include "plan/scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

/* Writes the text as <folder>/<name>; returns its path. */
static inline const char *file(const char *name, const char *text) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    assert_int_equal(fputs(text, stream) < 0, 0);
    assert_int_equal(fclose(stream), 0);
    return path;
}

#define HEAD "title: t\nsuites:\n  - op: double\n"
#define SUITE HEAD "    variants: [cpu_loop]\n"

/* Ten cases and a claim. */
static const char GOOD[] = "title: two suites\n"
                           "about: >\n"
                           "  for people\n"
                           "suites:\n"
                           "  - op: double\n"
                           "    axes:\n"
                           "      dtype: [f64, f32]\n"
                           "      input: &families [uniform, naninf]\n"
                           "    tied:\n"
                           "      - {n: 1e3, seed: 1}\n"
                           "      - {seed: 2, n: 2^11}\n"
                           "    variants: [cpu_*, double/cpu_loop]\n"
                           "    modes: [cold, first]\n"
                           "    bounds: declared\n"
                           "    baseline: cpu_loop\n"
                           "    without_gpu: {n: 50}\n"
                           "  - op: double\n"
                           "    axes: {n: [7], input: *families}\n"
                           "    variants: [cpu_loop]\n"
                           "    without_gpu: skip\n"
                           "claims:\n"
                           "  - id: c1\n"
                           "    statement: s\n"
                           "    source: s\n"
                           "    hardware: h\n"
                           "    method: m\n"
                           "    program: ours\n"
                           "    note: n\n"
                           "    value: 15.4\n"
                           "    quantity: seconds\n"
                           "    case: n=1000 dtype=float32\n"
                           "    variant: cpu_loop\n"
                           "    mode: cold\n"
                           "    rule: about\n"
                           "    factor: 2\n"
                           "    reason: w\n";

static inline int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/rungs-scenario-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static inline int remove_folder(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command) == 0 ? 0 : -1;
}
