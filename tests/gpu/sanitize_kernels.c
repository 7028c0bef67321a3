/* sanitize_kernels - every CUDA variant on every case of a scenario in ONE process, for compute-sanitizer, which takes seconds to
 * start. No guards and no poison: each buffer is one allocation of the exact size, scratch and outputs are left uninitialised, so
 * that memcheck sees the first byte out of bounds and initcheck the first read of what nobody wrote.
 *
 *     compute-sanitizer --tool memcheck|racecheck|initcheck|synccheck --error-exitcode 99 sanitize_kernels [SCENARIO [GLOBS]]
 *
 * Exit: 0 all ran; 1 a variant failed; 2 a bad scenario; 77 no GPU. */
#include "../unit/variant_support.h"
#include "base/places.h"
#include "device/device.h"
#include "device/resource.h"
#include "plan/case.h"
#include "plan/scenario.h"
#include "verify/families.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Arrays {
    Array in[OP_MAX_ARRAYS], out[OP_MAX_ARRAYS];
    void *scratch, *state, *counts;
    Resource *resource; /* args->memory; blocks of exact size too, but for those of a pool or an arena */
} Arrays;

static Status allocate(const Device *device, Array *arrays, int count) {
    for (int i = 0; i < count; i++) TRY(device->allocate(array_bytes(&arrays[i]), &arrays[i].data));
    return STATUS_OK;
}

static Status upload_inputs(const Device *device, const Op *op, const Case *problem, Array *in) {
    for (int i = 0; i < op->in_count; i++) {
        Array host = in[i];
        host.data = malloc(array_bytes(&host) + 1);
        if (!host.data) return status_fail(STATUS_MEMORY, "no memory for an input");
        Status status = family_input(op, problem, i, &host);
        if (status == STATUS_OK) status = device->copy_in(in[i].data, host.data, array_bytes(&host));
        free(host.data);
        TRY(status);
    }
    return STATUS_OK;
}

static const char *memory_of(const VariantChoice *choice) {
    return params_has(&choice->tunables, "memory") ? params_text(&choice->tunables, "memory") : NULL;
}

/* Outputs that run() allocated, and nothing else, are left of it. */
static Status check_blocks(const Device *device, const Op *op, Arrays *a) {
    for (int i = 0; i < op->out_count && op->sized_by_data; i++) {
        if (a->out[i].shape[0] == COUNT_ON_DEVICE)
            TRY(device->copy_out(&a->out[i].shape[0], (unsigned long long *)a->counts + i, sizeof(unsigned long long)));
        TRY(resource_hand_over(a->resource, &a->out[i]));
    }
    return resource_end(a->resource);
}

static Status run_case(const Device *device, const Op *op, const Case *problem, const VariantChoice *choice, Arrays *a, bool *ran) {
    const Variant *variant = variant_of(choice->entry->id);
    char reason[REASON_MAX];
    TRY(op->shapes(problem, a->in, a->out));
    TRY(resource_create(device, memory_of(choice), &a->resource));
    TRY(resource_begin(a->resource, false));
    VariantArgs args = {.problem = problem,
                        .tunables = &choice->tunables,
                        .in = a->in,
                        .in_count = op->in_count,
                        .out = a->out,
                        .out_count = op->out_count,
                        .stream = device->stream(),
                        .memory = resource_memory(a->resource)};
    *ran = !variant->supports || variant->supports(&args, reason);
    if (!*ran) return STATUS_OK;
    TRY(allocate(device, a->in, op->in_count));
    if (!op->sized_by_data) TRY(allocate(device, a->out, op->out_count));
    TRY(upload_inputs(device, op, problem, a->in));
    if (variant->scratch_bytes) {
        args.scratch_bytes = variant->scratch_bytes(&args);
        TRY(device->allocate(args.scratch_bytes, &a->scratch));
        args.scratch = a->scratch;
    }
    if (op->sized_by_data) {
        TRY(device->allocate((size_t)op->out_count * sizeof *args.counts, &a->counts));
        args.counts = a->counts;
    }
    if (variant->prepare) TRY(variant->prepare(&args, &a->state));
    args.state = a->state;
    const Status status = variant->run(&args);
    *ran = status != STATUS_UNSUPPORTED; /* found out from the data */
    if (!*ran) return STATUS_OK;
    TRY(status);
    TRY(device->wait(choice->entry->id));
    return check_blocks(device, op, a);
}

static void release(const Device *device, const Op *op, const VariantChoice *choice, Arrays *a) {
    for (int i = 0; i < op->in_count; i++) device->release(a->in[i].data);
    for (int i = 0; i < op->out_count && !op->sized_by_data; i++) device->release(a->out[i].data);
    resource_destroy(a->resource);
    device->release(a->scratch);
    device->release(a->counts);
    if (a->state && variant_of(choice->entry->id)->release) variant_of(choice->entry->id)->release(a->state);
}

static Status run_plan_items(const Device *device, const Plan *plan, size_t *ran, size_t *failed) {
    for (int i = 0; i < plan->item_count; i++) {
        const PlanItem *item = &plan->items[i];
        const Op *op = registry_op(item->problem.op);
        for (int v = 0; v < item->variant_count; v++) {
            Arrays arrays = {0};
            bool did = false;
            if (item->variants[v].entry->backend != BACKEND_CUDA) continue;
            const Status status = run_case(device, op, &item->problem, &item->variants[v], &arrays, &did);
            release(device, op, &item->variants[v], &arrays);
            *ran += did;
            if (status == STATUS_OK) continue;
            char text[CASE_TEXT_MAX];
            ++*failed;
            printf("%s on %s: %s\n", item->variants[v].entry->id, case_format(&item->problem, text, sizeof text), status_message());
        }
    }
    return STATUS_OK;
}

int main(int argc, char **argv) {
    char why[256];
    const Device *device = device_cuda();
    if (!device || device_cuda_count(why, sizeof why) == 0) {
        printf("skipped: no GPU\n");
        return 77;
    }
    Plan plan = {0};
    size_t ran = 0, failed = 0;
    Status status = plan_add_named(&plan, places_project("scenarios"), argc < 2 ? "edges" : argv[1]);
    if (status == STATUS_OK) status = plan_filter(&plan, argc > 2 ? argv[2] : "cuda_*");
    if (status == STATUS_OK) status = device->open(0);
    if (status == STATUS_OK) status = run_plan_items(device, &plan, &ran, &failed);
    if (status != STATUS_OK) {
        printf("%s\n", status_message());
        return 2;
    }
    device->close();
    plan_free(&plan);
    printf("%zu runs of kernels, %zu failed\n", ran, failed);
    return failed || ran == 0 ? 1 : 0;
}
