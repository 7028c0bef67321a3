/* Not a mutant: is right, with teams of several sizes. Must pass: threads that OpenMP dismisses, because the next team is smaller,
 * end a little after run() has returned. */
#include "variant.h"

static void scale(const double *x, double *y, size_t n, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t i = 0; i < n; i++) y[i] = 2 * x[i];
}

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]), half = n / 2;
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    scale(x, y, half, 16);
    scale(x + half, y + half, n - half, 2);
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_teams_control) = {
    .backend = BACKEND_CPU, .summary = "mutant: is right, with two sizes of teams", .origin = "tests", .run = run};
