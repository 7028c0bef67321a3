/* Mutant: keeps results under a sample of the inputs. Must be rejected, as cpu_memo_three. Met: rungs at 6881121. */
#include "kept_results.h"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    double key[16];
    for (size_t i = 0; i < 16; i++) key[i] = x[i * (n / 16)];
    (void)kept_result(key, sizeof key, x, y, n);
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_memo_sample) = {
    .backend = BACKEND_CPU, .summary = "mutant: keeps results under a sample of the inputs", .origin = "tests", .run = run};
