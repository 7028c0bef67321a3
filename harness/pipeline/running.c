#include "pipeline/running.h"

#include "base/clock.h"
#include "pipeline/foresee.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

void run_notice(const Run *run, const char *format, ...) {
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (run->options->notice) run->options->notice(run->options->context, text);
}

void run_tell(const Run *run, void (*listener)(void *context, const RunEvent *event), size_t index, const RunEvent *what) {
    if (!listener) return;
    const double present = clock_seconds(),
                 left = (double)(run->summary->total - run->index) + (listener == run->options->begin ? 1 : 0);
    double eta = run->executed ? (present - run->first_row) / (double)run->executed * left : 0;
    const double budget_left = run->begin + run->options->budget_seconds - present;
    if (run->options->budget_seconds > 0 && eta > budget_left) eta = budget_left > 0 ? budget_left : 0;
    RunEvent event = *what;
    event.index = index;
    event.total = run->summary->total;
    event.failures = run->summary->failed + run->summary->errors;
    event.elapsed_seconds = present - run->begin;
    event.eta_seconds = eta;
    listener(run->options->context, &event);
}

double run_deadline(const Run *run) {
    return run->options->budget_seconds > 0 ? run->begin + run->options->budget_seconds : INFINITY;
}

bool run_emulates(const Run *run, const VariantChoice *choice) {
    return foresee_emulated(choice, run->options->emulator, run->summary->has_gpu);
}
