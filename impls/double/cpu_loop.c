/* Idea: one pass, one thread.
 * Traffic: reads and writes every element once. Rounding: exact. Limits: none.
 * Origin: the definition. */
#include "base/numbers.h"
#include "variant.h"

static void narrow_loop(NarrowForm form, const uint16_t *x, uint16_t *y, size_t n) {
    for (size_t i = 0; i < n; i++) y[i] = narrow_bits(form, 2 * narrow_value(form, x[i]));
}

static Status run(const VariantArgs *args) {
    const size_t n = array_count(&args->in[0]);
    const void *x = args->in[0].data;
    void *y = args->out[0].data;
    switch (args->problem->dtype) {
    case DTYPE_F64:
        for (size_t i = 0; i < n; i++) ((double *)y)[i] = 2 * ((const double *)x)[i];
        break;
    case DTYPE_F32:
        for (size_t i = 0; i < n; i++) ((float *)y)[i] = 2 * ((const float *)x)[i];
        break;
    default:
        narrow_loop(narrow_form(args->problem->dtype), x, y, n);
    }
    return STATUS_OK;
}

static const DType DTYPES[] = {DTYPE_F64, DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_COUNT};

RUNGS_VARIANT(double, cpu_loop) = {
    .backend = BACKEND_CPU,
    .summary = "one loop, one thread",
    .origin = "the definition",
    .dtypes = DTYPES,
    .run = run,
};
