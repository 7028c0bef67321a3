/* Control: right, with tasks of OpenMP. Must pass. */
#include "variant.h"

enum { TASK = 5000 };

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
#pragma omp parallel num_threads(5)
#pragma omp single
    for (size_t begin = 0; begin < n; begin += TASK) {
#pragma omp task firstprivate(begin)
        for (size_t i = begin; i < n && i < begin + TASK; i++) y[i] = 2 * x[i];
    }
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_tasks_control) = {
    .backend = BACKEND_CPU, .summary = "mutant: is right, with tasks of OpenMP", .origin = "tests", .run = run};
