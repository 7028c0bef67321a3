/* rungs calibrate: this build against itself, process by process: how much equal builds differ on this machine. */
#include "base/clock.h"
#include "base/places.h"
#include "cli/ab_process.h"
#include "cli/commands.h"
#include "cli/folder.h"
#include "cli/handed.h"
#include "cli/interrupt.h"
#include "cli/lock.h"
#include "cli/options.h"
#include "cli/python.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *noise_folder(void) {
    return places_build("noise");
}

static Status own_path(char path[700]) {
    const ssize_t length = readlink("/proc/self/exe", path, 699);
    if (length <= 0) return status_fail(STATUS_IO, "/proc/self/exe cannot be read");
    path[length] = '\0';
    return STATUS_OK;
}

static Status take_rows(AbProcess *self, int repetitions) {
    TRY(folder_make(noise_folder()));
    TRY(ab_process_prepare(self));
    TRY(lock_wait(self->options->lock));
    TRY(interrupt_catch_ab("calibrate", self->out));
    const double began = clock_seconds();
    for (int i = 0; i < repetitions; i++) {
        char left[32];
        fprintf(stderr, "rungs calibrate: process %d of %d%s\n", i + 1, repetitions,
                ab_process_time_left(began, i, repetitions, left));
        TRY(ab_process_run(self, NULL));
    }
    return STATUS_OK;
}

static int write_noise(const char *rows, const char *out) {
    Words words = {0};
    words_add(&words, rows);
    words_option(&words, out ? "--out" : "--folder", out ? out : noise_folder());
    return python_verb(&(PythonVerb){.verb = "calibrate",
                                     .module = "analysis.compare.calibrate",
                                     .outputs = (const OutputName[]){{"--out", out}, {0}},
                                     .inputs = (const char *const[]){rows, NULL}},
                       &words);
}

int command_calibrate(int argc, char **argv) {
    AbProcessOptions run = {0};
    const char *out = NULL;
    int repetitions = 18;
    const CliOption OPTIONS[] = {
        {"repetitions", "N", CLI_COUNT, &repetitions, "processes (default 18, at least 9)", NULL},
        {"out", "FILE", CLI_TEXT, &out, "the noise file (default: noise/ in the build folder, named for the device)", NULL},
        AB_PROCESS_OPTIONS(run),
        {0},
    };
    char **words, binary[700], rows[700];
    int count = 0;
    int code = cli_parse("calibrate", "SCENARIO|CASE... [options]", OPTIONS, argc, argv, &words, &count);
    if (code == 0 && count == 0) code = cli_usage("calibrate", "a scenario or a case is expected");
    if (code == 0 && repetitions < 9)
        code = cli_usage("calibrate", "--repetitions %d: at least 9 are needed to estimate the spread", repetitions);
    if (code == 0) code = ab_process_foresee("calibrate", words, count, &run);
    if (code == 0) {
        snprintf(rows, sizeof rows, "%s/rows-%lld-%d.jsonl", noise_folder(), (long long)time(NULL), (int)getpid());
        AbProcess repeat = {.binary = binary, .what = "calibrate", .out = rows, .options = &run};
        Status status = own_path(binary);
        if (status == STATUS_OK)
            status = handed_check((const OutputName[]){{"--out", out}, {0}}, (const char *const[]){NULL}, false);
        if (status == STATUS_OK) status = ab_process_words("rungs calibrate", words, count, &repeat.words);
        if (status == STATUS_OK) status = take_rows(&repeat, repetitions);
        ab_process_words_free(repeat.words);
        const int interrupted = interrupt_end_ab();
        code = interrupted ? interrupted : status == STATUS_OK ? write_noise(rows, out) : cli_fail(status);
    }
    return code;
}
