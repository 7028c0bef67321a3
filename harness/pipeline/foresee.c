#include "pipeline/foresee.h"

#include "device/device.h"
#include "pipeline/session.h"

#include <stdio.h>
#include <string.h>

bool foresee_gpu(int device, char *no_gpu_reason, size_t size) {
    const int gpus = device_cuda_count(no_gpu_reason, size);
    if (gpus > device) return true;
    if (gpus > 0) snprintf(no_gpu_reason, size, "--device %d: this machine has devices 0 to %d", device, gpus - 1);
    return false;
}

bool foresee_emulated(const VariantChoice *choice, EmulatorKind emulator, bool has_gpu) {
    return choice->entry->backend == BACKEND_CUDA && (emulator != EMULATOR_IF_NO_GPU || !has_gpu);
}

bool foresee_refused(const PlanItem *item, const Instance *shapes, const VariantChoice *choice, bool emulated, bool has_gpu,
                     const char *no_gpu_reason, char reason[REASON_MAX]) {
    if (item->gpu_only && (emulated || !has_gpu))
        return !variant_refuse(reason, "this suite is for machines with a GPU%s%s", has_gpu ? "" : ": ",
                               has_gpu ? "" : no_gpu_reason);
    if (choice->entry->backend == BACKEND_PEER && choice->entry->needs_gpu && !has_gpu)
        return !variant_refuse(reason, "needs a GPU: %s", no_gpu_reason);
    return session_refused(shapes, choice, emulated, reason);
}

Status foresee_shapes(const Case *problem, Instance *out) {
    const Op *op = registry_op(problem->op);
    *out = (Instance){.op = op, .loaded = -1};
    out->cases[DATA_FIRST] = *problem;
    return op->shapes(problem, out->in, out->out);
}

static void foresee_row(const PlanItem *item, const VariantChoice *choice, bool has_gpu, Foresight *out) {
    char reason[REASON_MAX];
    Instance shapes;
    out->total++;
    if (foresee_shapes(&item->problem, &shapes) != STATUS_OK) return;
    /* As if there were a GPU: what is refused even so does not wait for one. */
    if (foresee_refused(item, &shapes, choice, false, true, "", reason)) return;
    const bool on_gpu = choice->entry->backend == BACKEND_CUDA || item->gpu_only ||
                        (choice->entry->backend == BACKEND_PEER && choice->entry->needs_gpu);
    if (on_gpu && !has_gpu)
        out->need_gpu++;
    else
        out->timed++;
}

Foresight foresee(const Plan *plan, int device) {
    Foresight foresight = {0};
    const bool has_gpu = foresee_gpu(device, foresight.no_gpu_reason, sizeof foresight.no_gpu_reason);
    for (int i = 0; i < plan->item_count; i++)
        for (int v = 0; v < plan->items[i].variant_count; v++)
            foresee_row(&plan->items[i], &plan->items[i].variants[v], has_gpu, &foresight);
    return foresight;
}
