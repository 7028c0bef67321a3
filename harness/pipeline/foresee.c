#include "pipeline/foresee.h"

#include "device/device.h"
#include "pipeline/refusal.h"
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

Foresight foresee(const Plan *plan, int device) {
    Foresight foresight = {0};
    const bool has_gpu = foresee_gpu(device, foresight.no_gpu_reason, sizeof foresight.no_gpu_reason);
    for (int i = 0; i < plan->item_count; i++)
        for (int v = 0; v < plan->items[i].variant_count; v++)
            foresee_row(&plan->items[i], &plan->items[i].variants[v], has_gpu, &foresight);
    refusal_close();
    return foresight;
}
