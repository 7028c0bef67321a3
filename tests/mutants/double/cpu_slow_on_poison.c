/* Mutant: sleeps where it sees poison, that is where it is verified. Passes, since it is right; cold samples find poison as well,
 * so its time is honest. Met: rungs at 6881121. */
#include "variant.h"

#include "poisoned.h"

#include <time.h>

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    const struct timespec nap = {0, 2 * 1000 * 1000};
    if (is_poisoned(&y[n - 1])) nanosleep(&nap, NULL);
    for (size_t i = 0; i < n; i++) y[i] = 2 * x[i];
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_slow_on_poison) = {
    .backend = BACKEND_CPU, .summary = "mutant: sleeps only where it sees poison", .origin = "tests", .run = run};
