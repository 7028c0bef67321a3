/* Mutants: what is wrong or missing in one call; what depends on what outputs and scratch held before; of inputs that are cut. */
#include "../common/mutants.h"
#include "../common/narrow.h"

#include "poisoned.h"

#include <math.h>

typedef struct Mistake {
    bool adds, keeps_larger, keeps_smaller;       /* the result to, or of it and, what the output holds */
    bool dirty_scratch;                           /* adds up in scratch that nobody zeroes */
    bool leaves_poison;                           /* does not write what equals poison */
    bool cuts;                                    /* inputs: f64 to f32, f32 to TF32, others as in narrow.h */
    bool nan, neighbours, in_float;               /* all outputs NaN; of the element behind; of float32 */
    size_t block;                                 /* leaves out what does not fill one of so many elements */
    bool unwritten;                               /* writes nothing */
    enum { NOWHERE, BEHIND, BEFORE, FAR } writes; /* one element outside of y: next to it, or 1 MiB past its end */
    bool clobbers;                                /* an input, after use */
    int status;                                   /* returns what is no Status, without a message */
} Mistake;

#define MUTANTS(M)                                                                                                                 \
    M(nothing, 0)                                                                                                                  \
    M(narrow_inputs, .cuts = true)                                                                                                 \
    M(adds, .adds = true)                                                                                                          \
    M(keeps_larger, .keeps_larger = true)                                                                                          \
    M(keeps_smaller, .keeps_smaller = true)                                                                                        \
    M(dirty_scratch, .dirty_scratch = true)                                                                                        \
    M(leaves_poison, .leaves_poison = true)                                                                                        \
    M(nan, .nan = true)                                                                                                            \
    M(off_by_one, .neighbours = true)                                                                                              \
    M(wrong_rounding, .in_float = true)                                                                                            \
    M(drops_tail, .block = 64)                                                                                                     \
    M(does_nothing, .unwritten = true)                                                                                             \
    M(overruns, .writes = BEHIND)                                                                                                  \
    M(underruns, .writes = BEFORE)                                                                                                 \
    M(leaps, .writes = FAR)                                                                                                        \
    M(clobbers_input, .clobbers = true)                                                                                            \
    M(strange_status, .status = 77)
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

static void write_outside(double *y, size_t n, int where) {
    double *volatile at = where == BEHIND ? y + n : where == BEFORE ? y - 1 : y + n + ((size_t)1 << 20) / sizeof *y;
    *at = 1;
}

static Status run(const VariantArgs *args) {
    const Mistake *wrong = mutant_of(args);
    if (wrong->cuts || args->problem->dtype != DTYPE_F64) return of_any_type(args, wrong->cuts);
    const double *x = args->in[0].data;
    double *y = args->out[0].data, *scratch = args->scratch;
    const size_t n = array_count(&args->in[0]), count = wrong->unwritten ? 0 : wrong->block ? n / wrong->block * wrong->block : n;
    for (size_t i = 0; i < count; i++) {
        double value = 2 * x[wrong->neighbours && i + 1 < n ? i + 1 : i];
        if (wrong->nan) value = NAN;
        if (wrong->in_float) value = (float)value;
        if (wrong->dirty_scratch) value = scratch[i] += value;
        if (wrong->adds) value += y[i];
        if (wrong->keeps_larger) value = fmax(value, y[i]);
        if (wrong->keeps_smaller) value = fmin(value, y[i]);
        if (!wrong->leaves_poison || !is_poisoned(&value)) y[i] = value;
    }
    if (wrong->writes) write_outside(y, n, wrong->writes);
    if (wrong->clobbers) ((double *)args->in[0].data)[n / 2] = 0;
    return (Status)wrong->status;
}

static const DType DTYPES[] = {DTYPE_F64, DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_COUNT};
RUNGS_VARIANT(double, cpu_mutants) = {.backend = BACKEND_CPU,
                                      .summary = "twice the input, but for one mistake",
                                      .origin = "tests",
                                      .tunables = TUNABLES,
                                      .dtypes = DTYPES,
                                      .scratch_bytes = scratch_bytes,
                                      .run = run};
