#include "verdict.h"

#include "rows.h"
#include "verify/exact.h"
#include "verify/norms.h"

#include <stdio.h>

static Status judge_exactly(Problem *problem, DataSet set, int bound, int index, Judgement *out) {
    const Array *expected;
    ExactReport report;
    TRY(problem_exact(problem, set, bound, &expected));
    exact_compare(&problem->given[index], &expected[index], &report);
    out->pass = report.pass;
    out->errors = row_exact_errors(&report);
    if (report.pass)
        snprintf(out->words, sizeof out->words, "all of %zu elements are right to the byte", report.count);
    else
        exact_explain(&report, problem->given, expected, problem->op->out_count, index, out->words, sizeof out->words);
    return STATUS_OK;
}

static Status judge_by_bound(Problem *problem, DataSet set, int bound, int index, Judgement *out) {
    const Truth *truth;
    ErrorReport report;
    const Array *given = &problem->given[index];
    TRY(problem_truth(problem, set, bound, &truth));
    norms_compare(given, truth[index].value, truth[index].tolerance, &report);
    out->pass = report.pass;
    out->errors = row_errors(&report);
    if (report.pass)
        snprintf(out->words, sizeof out->words, "largest error %.3g of the bound '%s'", report.max_ratio,
                 problem->op->bounds[bound].name);
    else
        norms_explain(&report, given->name, problem->op->in_count == 1 ? &problem->in[0] : NULL, out->words, sizeof out->words);
    return STATUS_OK;
}

Status judge_output(Problem *problem, DataSet set, int bound, int index, Judgement *out) {
    *out = (Judgement){.pass = false};
    return (problem->op->exact ? judge_exactly : judge_by_bound)(problem, set, bound, index, out);
}
