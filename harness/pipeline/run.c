/* run.c - the pipeline, one call per step. Every variant's fate is a row; a Status means that rungs itself could not go on. */
#include "pipeline/run.h"

#include "base/clock.h"
#include "device/threads.h"
#include "pipeline/circumstances.h"
#include "pipeline/foresee.h"
#include "pipeline/reference_worker.h"
#include "pipeline/refusal.h"
#include "pipeline/suite.h"

/* Claims are judged from the file's rows alone, so that a resumed run sees all of them. */
static Status judge_claims(Run *run) {
    if (run->plan->claim_count == 0) return STATUS_OK;
    if (!rowfile_can_be_read(run->file)) {
        run_notice(run, "claims are not judged: %s cannot be read again; keep the rows in a file and use 'rungs judge FILE'",
                   run->options->out);
        return STATUS_OK;
    }
    json_t *lines = NULL;
    TRY(rowfile_read(run->options->out, &lines));
    Status status = STATUS_OK;
    for (int i = 0; i < run->plan->claim_count && status == STATUS_OK; i++) {
        json_t *line = claim_judge(&run->plan->claims[i], lines);
        json_object_set_new(line, "run", json_string(run->id));
        json_object_set_new(line, "schema", json_integer(ROW_SCHEMA_VERSION));
        status = rowfile_append(run->file, line);
        claim_count(line, &run->summary->claims);
        if (status == STATUS_OK) run_tell(run, run->options->report, run->index, &(RunEvent){.claim = line});
        json_decref(line);
    }
    json_decref(lines);
    return status;
}

static Status run_items(Run *run) {
    TRY(circumstances_record(run));
    if (run->options->planned) run->options->planned(run->options->context, &run->speeds);
    TRY(suites_run(run));
    return judge_claims(run);
}

Status run_plan(const Plan *plan, const RunOptions *options, RunSummary *summary) {
    *summary = (RunSummary){0};
    Run run = {.plan = plan, .options = options, .summary = summary, .begin = clock_seconds()};
    referenceworker_allow(options->timeout_seconds);
    summary->has_gpu = foresee_gpu(options->device, summary->no_gpu_reason, sizeof summary->no_gpu_reason);
    summary->total = suites_rows(&run);
    bool cut = false;
    TRY(threads_check());
    TRY(rowfile_open(options->out, &run.file, &cut)); /* first, as it drops a cut line, which is no JSON to read */
    if (cut) run_notice(&run, "%s ended in the middle of a line (the run was killed); that line was dropped", options->out);
    Status status = options->resume && !rowfile_can_be_read(run.file)
                        ? status_fail(STATUS_INVALID, "--resume: %s is a pipe or a device, which holds no rows", options->out)
                        : resume_open(options->resume ? options->out : NULL, &run.done);
    if (status == STATUS_OK && !options->no_ceilings) status = limits_open(options->device, &run.limits);
    if (status == STATUS_OK) status = run_items(&run);
    limits_close(run.limits);
    refusal_close();
    resume_close(&run.done);
    later_close(&run.later);
    summary->rows_moved = rowfile_check(run.file) != STATUS_OK;
    if (summary->rows_moved) status = STATUS_IO; /* its message, where the rows are, matters most */
    rowfile_close(run.file);
    return status;
}
