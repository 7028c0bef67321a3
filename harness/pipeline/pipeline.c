/* pipeline.c - the pipeline, one call per step. Every variant's fate is a row; a Status means that rungs itself could not go on. */

#include "base/clock.h"
#include "base/jsontext.h"
#include "base/process.h"
#include "device/child.h"
#include "device/device.h"
#include "pipeline/evaluate.h"
#include "pipeline/run.h"
#include "protocol.h"
#include "record/environment.h"
#include "record/identity.h"
#include "record/program.h"
#include "record/row.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Before the first row. */

/* The floor under every time of the device: what an empty launch takes by the same clock. */
static void use_ceilings(Run *run, const char *kind, const json_t *ceilings) {
    const double launch = ceiling_value(ceilings, "empty_launch");
    char warning[300];
    if (isfinite(launch)) run_notice(run, "%s launch overhead: %.3g us (included in all cold times below)", kind, 1e6 * launch);
    if (steadiness_ceilings(kind, ceilings, warning, sizeof warning)) run_notice(run, "%s", warning);
}

/* A campaign is of one commit on one machine: what `reproduce --resume` adds to must say the same of both. */
static Status same_campaign(const Run *run, const json_t *environment) {
    json_t *lines = NULL;
    size_t i;
    json_t *line;
    TRY(rowfile_read(run->options->out, &lines));
    Status status = STATUS_OK;
    json_array_foreach(lines, i, line) {
        if (status != STATUS_OK || line_kind(line) != LINE_ENVIRONMENT) continue;
        const char *before = text_of(line, "commit"), *commit = text_of(environment, "commit");
        if (strcmp(before, commit) != 0)
            status =
                status_fail(STATUS_INVALID, "--resume: the rows in %s are of commit %.12s and this is %.12s; start anew without it",
                            run->options->out, before, commit);
        else if (strcmp(text_of(line, "id"), text_of(environment, "id")) != 0)
            status = status_fail(STATUS_INVALID,
                                 "--resume: the rows in %s are of another machine or kind of build; start anew without it",
                                 run->options->out);
    }
    json_decref(lines);
    return status;
}

/* A device that cannot tell its limits is not an error. */
static Status record_ceilings(Run *run, const char *kind) {
    json_t *reply = NULL;
    run_event(run, run->options->begin, run->index, &(RunEvent){.peaks = kind});
    const Status status = run_ask_device(run->options->device, DO_CEILINGS, kind, &reply);
    TRY(interrupt_check());
    if (status != STATUS_OK) {
        run_notice(run, "peaks of the %s not measured: %s", kind, status_message());
        return STATUS_OK;
    }
    use_ceilings(run, kind, json_object_get(reply, KEY_CEILINGS));
    json_t *line = json_pack("{s:s, s:i, s:s, s:s, s:O}", "kind", "ceilings", "schema", ROW_SCHEMA_VERSION, "run", run->id,
                             "device", kind, "ceilings", json_object_get(reply, KEY_CEILINGS));
    const Status written = rowfile_append(run->file, line);
    json_decref(line);
    json_decref(reply);
    return written;
}

static bool plan_uses(const Plan *plan, Backend backend) {
    for (int i = 0; i < plan->item_count; i++)
        for (int v = 0; v < plan->items[i].variant_count; v++)
            if (plan->items[i].variants[v].entry->backend == backend) return true;
    return false;
}

/* What a run records before its first row: the environment, and the peaks of the devices that it uses. A device that cannot be
 * asked is not an error. */
static Status record_environment(Run *run) {
    json_t *facts = NULL;
    if (run->summary->has_gpu && run_ask_device(run->options->device, DO_FACTS, "cuda", &facts) != STATUS_OK)
        run_notice(run, "cannot query the GPU: %s", status_message());
    json_t *environment = environment_json(run->options->argc, run->options->argv,
                                           run->summary->has_gpu ? run->options->device : -1, json_object_get(facts, KEY_GPU));
    json_t *hidden = identity_hidden(text_of(json_object_get(facts, KEY_GPU), "uuid"));
    snprintf(run->gpu_uuid, sizeof run->gpu_uuid, "%s", facts && json_is_string(hidden) ? json_string_value(hidden) : "");
    json_decref(hidden);
    json_decref(facts);
    if (!environment) return status_fail(STATUS_MEMORY, "no memory for the environment");
    if (interrupt_pending()) { /* programs that were asked for facts ended early */
        json_decref(environment);
        return interrupt_check();
    }
    snprintf(run->id, sizeof run->id, "%s", text_of(environment, "run"));
    const Status same = run->options->resume && run->options->one_campaign ? same_campaign(run, environment) : STATUS_OK;
    if (same != STATUS_OK) json_decref(environment);
    TRY(same);
    char warning[300];
    const bool busy = steadiness_load(environment, warning, sizeof warning),
               timed = !run->options->verify_only && strcmp(PROGRAM.build_type, "Release") == 0;
    if (busy && timed) run_notice(run, "%s", warning);
    const Status status = rowfile_append(run->file, environment);
    json_decref(environment);
    TRY(status);
    if (!timed || run->options->no_ceilings) return STATUS_OK;
    if (run->summary->has_gpu && (plan_uses(run->plan, BACKEND_CUDA) || plan_uses(run->plan, BACKEND_PEER)))
        TRY(record_ceilings(run, "cuda"));
    if (plan_uses(run->plan, BACKEND_CPU) || plan_uses(run->plan, BACKEND_PEER)) TRY(record_ceilings(run, "cpu"));
    return STATUS_OK;
}

/* ---- The whole. */

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
        if (status == STATUS_OK) run_event(run, run->options->report, run->index, &(RunEvent){.claim = line});
        json_decref(line);
    }
    json_decref(lines);
    return status;
}

Status run_plan(const Plan *plan, const RunOptions *options, RunSummary *summary) {
    *summary = (RunSummary){0};
    Run run = {.plan = plan, .options = options, .summary = summary, .gpu_index = options->device, .begin = clock_seconds()};
    instance_allow(options->timeout_seconds);
    summary->has_gpu = gpu_there(options->device, summary->no_gpu_reason, sizeof summary->no_gpu_reason);
    summary->total = rows_count(&run);
    bool cut = false;
    TRY(threads_check());
    TRY(rowfile_open(options->out, &run.file, &cut)); /* first, as it drops a cut line, which is no JSON to read */
    if (cut) run_notice(&run, "%s ended in the middle of a line (the run was killed); that line was dropped", options->out);
    Status status = options->resume && !rowfile_can_be_read(run.file)
                        ? status_fail(STATUS_INVALID, "--resume: %s is a pipe or a device, which holds no rows", options->out)
                        : resume_open(options->resume ? options->out : NULL, &run.done);
    if (status == STATUS_OK && !options->no_ceilings) status = limits_open(options->device, &run.limits);
    if (status == STATUS_OK) status = record_environment(&run);
    if (status == STATUS_OK) status = options->devices ? devices_run(&run) : rows_run(&run);
    if (status == STATUS_OK) status = judge_claims(&run);
    limits_close(run.limits);
    supports_close();
    resume_close(&run.done);
    later_close(&run.later);
    summary->rows_moved = rowfile_check(run.file) != STATUS_OK;
    if (summary->rows_moved) status = STATUS_IO; /* its message, where the rows are, matters most */
    rowfile_close(run.file);
    return status;
}
