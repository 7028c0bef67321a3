/* Mutants: what depends on what outputs and scratch held before; of inputs that are cut. */
#include "../common/mutants.h"
#include "../common/narrow.h"

#include "poisoned.h"

#include <math.h>

typedef struct Mistake {
    bool adds, keeps_larger, keeps_smaller; /* the result to, or of it and, what the output holds */
    bool dirty_scratch;                     /* adds up in scratch that nobody zeroes */
    bool leaves_poison;                     /* does not write what equals poison */
    bool cuts;                              /* inputs: f64 to f32, f32 to TF32, others as in narrow.h */
} Mistake;

#define MUTANTS(M)                                                                                                                 \
    M(nothing, 0)                                                                                                                  \
    M(narrow_inputs, .cuts = true)                                                                                                 \
    M(adds, .adds = true)                                                                                                          \
    M(keeps_larger, .keeps_larger = true)                                                                                          \
    M(keeps_smaller, .keeps_smaller = true)                                                                                        \
    M(dirty_scratch, .dirty_scratch = true)                                                                                        \
    M(leaves_poison, .leaves_poison = true)
MUTANT_TABLE(Mistake)

static size_t scratch_bytes(const VariantArgs *args) {
    return array_bytes(&args->in[0]);
}

static double cut(const Array *from, size_t i) {
    static const Narrow CUT = {.inputs = true, .f32_digits = 10};
    return from->dtype == DTYPE_F64 ? number_rounded(DTYPE_F32, number_at(from, i)) : narrow_input(&CUT, from, i);
}

static Status of_any_type(const VariantArgs *args, bool cuts) {
    const Array *x = &args->in[0];
    for (size_t i = 0; i < array_count(x); i++) number_put(&args->out[0], i, 2 * (cuts ? cut(x, i) : number_at(x, i)));
    return STATUS_OK;
}

static Status run(const VariantArgs *args) {
    const Mistake *wrong = mutant_of(args);
    if (wrong->cuts || args->problem->dtype != DTYPE_F64) return of_any_type(args, wrong->cuts);
    const double *x = args->in[0].data;
    double *y = args->out[0].data, *scratch = args->scratch;
    for (size_t i = 0; i < array_count(&args->in[0]); i++) {
        double value = 2 * x[i];
        if (wrong->dirty_scratch) value = scratch[i] += value;
        if (wrong->adds) value += y[i];
        if (wrong->keeps_larger) value = fmax(value, y[i]);
        if (wrong->keeps_smaller) value = fmin(value, y[i]);
        if (!wrong->leaves_poison || !is_poisoned(&value)) y[i] = value;
    }
    return STATUS_OK;
}

static const DType DTYPES[] = {DTYPE_F64, DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_COUNT};
RUNGS_VARIANT(double, cpu_mutants) = {.backend = BACKEND_CPU,
                                      .summary = "twice the input, and what was there before",
                                      .origin = "tests",
                                      .tunables = TUNABLES,
                                      .dtypes = DTYPES,
                                      .scratch_bytes = scratch_bytes,
                                      .run = run};
