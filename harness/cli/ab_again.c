#include "cli/ab_again.h"

#include "base/clock.h"
#include "cli/python.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MORE_PROCESSES = 20 }; /* detect.MORE */

/* Of analysis/compare/again.py: "ROWS SECONDS VARIANTS", why there is no second stage ("# WHY"), or nothing. */
static Status ask(const AbProcess sides[2], const double seconds[2], double limit, const CompareOptions *options, Text *answer) {
    Words words = {0};
    char process[32], start[32], most[32];
    int code = 0;
    snprintf(start, sizeof start, "%.3f", seconds[0]);
    snprintf(process, sizeof process, "%.3f", seconds[1]);
    snprintf(most, sizeof most, "%.3f", limit);
    compare_words(&words, sides[0].out, sides[1].out, options);
    words_option(&words, "--start", start);
    words_option(&words, "--process", process);
    words_option(&words, "--limit", most);
    Status status = python_run("analysis.compare.again", &words, answer, &code);
    words_free(&words);
    if (status == STATUS_OK && code != 0)
        status = status_fail(STATUS_IO, "the second stage cannot be planned: %.500s", answer->text ? answer->text : "");
    return status;
}

/* What Python may print besides, such as a warning of a library, comes first. */
static char *last_line(Text *text) {
    static char nothing[1];
    while (text->length > 0 && text->text[text->length - 1] == '\n') text->text[--text->length] = '\0';
    char *newline = text->text ? strrchr(text->text, '\n') : NULL;
    return newline ? newline + 1 : text->text ? text->text : nothing;
}

static Status run(const AbOrder *first, AbProcess sides[2], const char *variants, double limit) {
    AbOrder order = *first;
    AbProcessOptions options[2];
    double ignored = 0;
    order.repetitions = MORE_PROCESSES, order.stage = 2, order.until = clock_seconds() + limit;
    for (int i = 0; i < 2; i++) {
        options[i] = *sides[i].options;
        options[i].variants = variants;
        sides[i].options = &options[i];
    }
    return ab_order_run(&order, sides, &ignored);
}

Status ab_again(const AbOrder *first, AbProcess sides[2], double process_seconds, double limit, const CompareOptions *options) {
    const AbProcessOptions *given = sides[0].options;
    Text answer = {0};
    int rows = 0, seconds = 0, used = 0;
    for (int i = 0; i < 2; i++) TRY(ab_process_start(&sides[i]));
    const double times[2] = {(sides[0].start_seconds + sides[1].start_seconds) / 2, process_seconds};
    Status status = ask(sides, times, limit, options, &answer);
    char *told = last_line(&answer);
    if (status == STATUS_OK && *told == '#') {
        fprintf(stderr, "rungs ab: no second stage: %s\n", told + 2);
    } else if (status == STATUS_OK && sscanf(told, "%d %d %n", &rows, &seconds, &used) == 2 && used > 0) {
        fprintf(stderr,
                "rungs ab: second stage: %d ambiguous rows seem slower; %d more processes of each build, about %d min %02d s\n",
                rows, MORE_PROCESSES, seconds / 60, seconds % 60);
        status = run(first, sides, told + used, limit);
    }
    for (int i = 0; i < 2; i++) sides[i].options = given;
    text_free(&answer);
    return status;
}
