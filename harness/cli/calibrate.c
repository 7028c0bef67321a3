/* rungs calibrate: this build against itself, process by process: how much equal builds differ on this machine. */
#include "base/places.h"
#include "cli/cases.h"
#include "cli/commands.h"
#include "cli/folder.h"
#include "cli/handed.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/processes.h"
#include "cli/python.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

typedef struct Calibrate {
    const char *out;
    int repetitions;
    ProcessOptions run;
} Calibrate;

static int measure(const Calibrate *a, char *const *words, int count) {
    char program[700], rows[700], repetitions[16];
    const char *const folder = places_build("noise");
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    snprintf(rows, sizeof rows, "%s/rows-%lld-%d.jsonl", folder, (long long)time(NULL), (int)getpid());
    snprintf(repetitions, sizeof repetitions, "%d", a->repetitions);
    const char *const options[][2] = {{"rows", rows},     {"repetitions", repetitions}, {"out", a->out},
                                      {"folder", folder}, {"program", program},         {"project", places_project("")}};
    Words out = {0};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) words_option(&out, options[i][0], options[i][1]);
    processes_words(&out, &a->run, words, count);
    Status status = handed_check((const OutputName[]){{"--out", a->out}, {0}}, (const char *const[]){NULL}, false);
    if (status == STATUS_OK) status = folder_make(folder);
    if (status == STATUS_OK) status = interrupt_catch_ab("calibrate", rows);
    const int code = status == STATUS_OK
                         ? python_judge("rungs calibrate: ", "analysis.compare.calibrate", &out, (const char *const[]){rows, NULL})
                         : (words_free(&out), cli_fail(status));
    const int interrupted = interrupt_end_ab();
    return interrupted ? interrupted : code;
}

int command_calibrate(int argc, char **argv) {
    Calibrate a = {.repetitions = 18};
    const CliOption OPTIONS[] = {
        {"repetitions", "N", CLI_COUNT, &a.repetitions, "processes (default 18, at least 9)", NULL},
        {"out", "FILE", CLI_TEXT, &a.out, "the noise file (default: noise/ in the build folder, named for the device)", NULL},
        PROCESS_OPTIONS(a.run),
        {0},
    };
    char **words;
    int count = 0;
    int code = cli_parse("calibrate", "SCENARIO|CASE... [options]", OPTIONS, argc, argv, &words, &count);
    if (code == 0 && count == 0) code = cli_usage("calibrate", "a scenario or a case is expected");
    if (code == 0 && a.repetitions < 9)
        code = cli_usage("calibrate", "--repetitions %d: at least 9 are needed to estimate the spread", a.repetitions);
    if (code != 0) return code;
    Text foreseen = {0};
    bool nothing = false;
    Status status = cases_check("rungs calibrate", words, count);
    if (status == STATUS_OK) status = processes_foresee("calibrate", words, count, &a.run, &foreseen, &nothing);
    if (foreseen.text) fputs(foreseen.text, stderr);
    text_free(&foreseen);
    return status != STATUS_OK ? cli_fail(status) : nothing ? EXIT_NOTHING : measure(&a, words, count);
}
