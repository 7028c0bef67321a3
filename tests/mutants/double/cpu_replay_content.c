/* Mutant: keeps results under all of the inputs, and is slow where there is none. Passes, since it is right; cold times are those
 * of the work, since inputs change from sample to sample. Met: KernelBench. */
#include "kept_results.h"

#include <time.h>

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    const struct timespec work = {0, 2 * 1000 * 1000};
    if (!kept_result(x, n * sizeof *x, x, y, n)) nanosleep(&work, NULL);
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_replay_content) = {
    .backend = BACKEND_CPU, .summary = "mutant: keeps results under all inputs", .origin = "tests", .run = run};
