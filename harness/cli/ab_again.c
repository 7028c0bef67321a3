#include "cli/ab_again.h"

#include "base/clock.h"
#include "cli/python.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MORE_PROCESSES = 20 }; /* detect.MORE */

/* "ROWS SECONDS VARIANTS" of analysis/compare/again.py, or nothing. */
static Status ask(const AbProcess sides[2], double process_seconds, double limit, const CompareOptions *options, Text *answer) {
    Words words = {0};
    char process[32], most[32];
    int code = 0;
    snprintf(process, sizeof process, "%.3f", process_seconds);
    snprintf(most, sizeof most, "%.0f", limit);
    compare_words(&words, sides[0].out, sides[1].out, options);
    words_option(&words, "--process", process);
    words_option(&words, "--limit", most);
    Status status = python_run("analysis.compare.again", &words, answer, &code);
    words_free(&words);
    if (status == STATUS_OK && code != 0)
        status = status_fail(STATUS_IO, "the second stage cannot be planned: %.500s", answer->text ? answer->text : "");
    return status;
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
    Status status = ask(sides, process_seconds, limit, options, &answer);
    if (status == STATUS_OK && answer.text && sscanf(answer.text, "%d %d %n", &rows, &seconds, &used) == 2 && used > 0) {
        char *variants = answer.text + used;
        variants[strcspn(variants, "\n")] = '\0';
        fprintf(stderr,
                "rungs ab: second stage: %d ambiguous rows seem slower; %d more processes of each build, about %d min %02d s\n",
                rows, MORE_PROCESSES, seconds / 60, seconds % 60);
        status = run(first, sides, variants, limit);
    }
    for (int i = 0; i < 2; i++) sides[i].options = given;
    text_free(&answer);
    return status;
}
