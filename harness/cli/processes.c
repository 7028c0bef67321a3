#include "cli/processes.h"

#include "cli/cases.h"
#include "pipeline/session.h"
#include "plan/modules.h"

#include <stdio.h>
#include <unistd.h>

/* Which rows this machine would skip or not time, by the plan, the variants and the device alone. */
typedef struct Foresight {
    size_t total, timed; /* rows; those that would be timed, if they pass */
    size_t need_gpu;     /* rows that would be timed if there were a GPU */
    char no_gpu_reason[256];
} Foresight;

static void foresee_row(const PlanItem *item, const VariantChoice *choice, bool has_gpu, Foresight *out) {
    Instance shapes;
    /* As if there were a GPU: what is refused even so does not wait for one. */
    const Session session = {.choice = choice, .item = item, .problem = &item->problem};
    out->total++;
    if (instance_shapes(&item->problem, &shapes) != STATUS_OK || session_refused(&session) == STATUS_UNSUPPORTED) return;
    const bool on_gpu = choice->entry->backend == BACKEND_CUDA || item->gpu_only ||
                        (choice->entry->backend == BACKEND_PEER && choice->entry->needs_gpu);
    if (on_gpu && !has_gpu)
        out->need_gpu++;
    else
        out->timed++;
}

static Foresight foresee(const Plan *plan, int device) {
    Foresight foresight = {0};
    const bool has_gpu = gpu_there(device, foresight.no_gpu_reason, sizeof foresight.no_gpu_reason);
    for (int i = 0; i < plan->item_count; i++)
        for (int v = 0; v < plan->items[i].variant_count; v++)
            foresee_row(&plan->items[i], &plan->items[i].variants[v], has_gpu, &foresight);
    supports_close();
    return foresight;
}

static Status tell(const char *verb, const Foresight *f, Text *told) {
    if (f->timed > 0 && f->need_gpu > 0)
        return text_append(told, "rungs %s: %zu of %zu rows need a GPU and will have no times: %s\n", verb, f->need_gpu, f->total,
                           f->no_gpu_reason);
    if (f->timed > 0) return STATUS_OK;
    if (f->need_gpu > 0)
        return text_append(told, "rungs %s: nothing would be timed: %zu of %zu rows need a GPU%s: %s\n", verb, f->need_gpu,
                           f->total, f->need_gpu < f->total ? ", and the others do not apply here" : "", f->no_gpu_reason);
    return text_append(told, "rungs %s: nothing would be timed: none of %zu rows applies here\n", verb, f->total);
}

Status processes_foresee(const char *verb, char *const *words, int count, const ProcessOptions *options, Text *told,
                         bool *nothing) {
    Plan plan = {0};
    long long device = 0;
    *nothing = false;
    if (options->device && !text_integer(options->device, &device)) return STATUS_OK; /* for `run` to refuse */
    if (options->variants) modules_select(options->variants);
    Status status = cases_plan(&plan, verb, words, count);
    if (status == STATUS_OK && options->variants) status = plan_filter(&plan, options->variants);
    const Foresight foresight = foresee(&plan, (int)device);
    plan_free(&plan);
    if (status != STATUS_OK) return STATUS_OK;
    *nothing = foresight.timed == 0;
    return tell(verb, &foresight, told);
}

void processes_words(Words *out, const ProcessOptions *o, char *const *words, int count) {
    static char progress[16];
    const char *const options[][2] = {{"variants", o->variants},         {"device", o->device}, {"timeout", o->timeout},
                                      {"memory-limit", o->memory_limit}, {"lock", o->lock},     {"quick", o->quick ? "" : NULL},
                                      {"full", o->full ? "" : NULL},     {"progress", progress}};
    snprintf(progress, sizeof progress, "%d", dup(STDERR_FILENO)); /* open at exec */
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) words_option(out, options[i][0], options[i][1]);
    for (int i = 0; i < count; i++) words_option(out, "word", words[i]);
}
