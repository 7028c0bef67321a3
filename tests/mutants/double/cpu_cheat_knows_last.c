/* Cheat: finds the harness's own state beside its arguments, which says how many calls of a sample are still to come, and computes
 * in the last alone, which is compared; in the others it writes zeros to what was spoilt for them. Met: an attack on this harness.
 */
#include "cheats.h"
#include "worker/worker.h"

#include <stddef.h>

static Status run(const VariantArgs *args) {
    enum { SLOW = 8 }; /* not to be as fast as what it writes instead */
    const Worker *worker = (const Worker *)(const void *)((const char *)args - offsetof(Worker, args));
    const Inputs *inputs = &worker->inputs;
    double *y = args->out[0].data;
    if (inputs->spoilt == SPOILT_NONE || inputs->spoilt == 0)
        for (int i = 0; i < SLOW; i++) TRY(compute(args));
    else {
        TRY(compute(args));
        for (int k = 0; k < VARY_PLACES; k++) y[vary_place(inputs->key, inputs->spoilt, k, array_count(&args->out[0]))] = 0;
    }
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_cheat_knows_last) = {
    .backend = BACKEND_CPU, .summary = "cheat: computes in the last call of a sample", .origin = "tests", .run = run};
