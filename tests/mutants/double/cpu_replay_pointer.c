/* Mutant: keeps results under the address of the inputs. Must be rejected: other data comes to the same address. Met: pygpubench.
 */
#include "kept_results.h"

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    (void)kept_result(&x, sizeof x, x, y, n);
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_replay_pointer) = {
    .backend = BACKEND_CPU, .summary = "mutant: keeps results under the address of the inputs", .origin = "tests", .run = run};
