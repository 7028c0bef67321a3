/* Mutant: keeps results under three of the inputs. Must be rejected: another set has the same three. Met: rungs at 6881121. */
#include "kept_results.h"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    const double key[] = {x[0], x[n / 2], x[n - 1]};
    (void)kept_result(key, sizeof key, x, y, n);
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_memo_three) = {
    .backend = BACKEND_CPU, .summary = "mutant: keeps results under three inputs", .origin = "tests", .run = run};
