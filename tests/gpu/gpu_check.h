/* gpu_check.h - a table of checks, for the programs in tests/gpu: one line per check; exit 0 all good, 1 a check failed, 77 no GPU.
 */
#pragma once

#include "base/status.h"
#include "device/device.h"

#include <stdio.h>

static int checks, failures;

static void check(bool good, const char *what, const char *format, double value, const char *expected) {
    char text[64];
    snprintf(text, sizeof text, format, value);
    printf("%-4s  %-58s %14s   %s\n", good ? "ok" : "FAIL", what, text, expected);
    fflush(stdout);
    checks++;
    failures += !good;
}

static void check_status(Status actual, Status expected, const char *what) {
    check(actual == expected, what, "%.0f", actual, actual == expected ? status_word(expected) : status_message());
}

/* Opens device 0 and prints the head of the table; not 0: the program's exit code. */
static int gpu_check_open() {
    char why[256] = "";
    if (device_cuda_count(why, sizeof why) == 0) {
        printf("skipped: %s\n", why);
        return 77;
    }
    if (device_cuda()->open(0) != STATUS_OK) {
        printf("FAIL  open: %s\n", status_message());
        return 1;
    }
    printf("%-4s  %-58s %14s   %s\n", "", "check", "value", "expected, or the reason");
    return 0;
}

static int gpu_check_close() {
    device_cuda()->close();
    printf("\n%d checks, %d failed\n", checks, failures);
    return failures ? 1 : 0;
}
