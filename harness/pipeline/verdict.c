#include "pipeline/verdict.h"

#include "base/poison.h"
#include "pipeline/rows.h"
#include "verify/exact.h"
#include "verify/norms.h"

#include <stdio.h>

static Status judge_exactly(Instance *instance, DataSet set, int bound, int index, Judgement *out) {
    const Array *expected;
    ExactReport report;
    TRY(instance_exact(instance, set, bound, &expected));
    exact_compare(&instance->given[index], &expected[index], &report);
    out->pass = report.pass;
    out->judgeable = true;
    out->errors = row_exact_errors(&report);
    if (report.pass)
        snprintf(out->words, sizeof out->words, "all %zu elements are exact", report.count);
    else
        exact_explain(&report, instance->given, expected, instance->op->out_count, index, out->words, sizeof out->words);
    return STATUS_OK;
}

static Status judge_by_bound(Instance *instance, DataSet set, int bound, int index, Judgement *out) {
    const Reference *reference;
    ErrorReport report;
    const Array *given = &instance->given[index];
    TRY(instance_reference(instance, set, bound, &reference));
    norms_compare_poisoned(given, reference[index].value, reference[index].tolerance, POISONS[instance->poison], &report);
    out->pass = report.pass;
    out->judgeable = report.judgeable;
    out->undecided = report.undecided;
    out->vacuous = report.vacuous;
    out->errors = row_errors(&report);
    if (report.pass && !report.judgeable)
        snprintf(out->words, sizeof out->words,
                 "%s: not judgeable (the tolerance is no less than the value in %.3g%% of the elements, so 0 would pass there)",
                 given->name, 100 * report.vacuous);
    else if (report.pass)
        snprintf(out->words, sizeof out->words, "largest error %.3g of the bound '%s'", report.max_ratio,
                 instance->op->bounds[bound].name);
    else
        norms_explain(&report, given->name, instance->op->in_count == 1 ? &instance->in[set][0] : NULL, out->words,
                      sizeof out->words);
    return STATUS_OK;
}

Status judge_output(Instance *instance, DataSet set, int bound, int index, Judgement *out) {
    *out = (Judgement){.pass = false};
    return (instance->op->exact ? judge_exactly : judge_by_bound)(instance, set, bound, index, out);
}
