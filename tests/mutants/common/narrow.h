/* narrow.h - what goes wrong with f16, bf16 and fp8: sums in the type itself, inputs or factors cut to fewer digits, outputs cut
 * instead of rounded; and with f32, inputs cut to TF32 or bf16. */
#ifndef MUTANTS_NARROW_H
#define MUTANTS_NARROW_H

#include "base/numbers.h"
#include "variant.h"

typedef struct Narrow {
    bool sums;      /* every sum is rounded to the type */
    bool inputs;    /* f16 becomes bf16, bf16 a number of four digits, of 8 bits one of two */
    bool truncates; /* outputs of 16 bits */
    int f32_digits; /* of an f32 input: of its fraction; 0: all */
    bool factors;   /* what is to be an f32 is rounded to the type */
} Narrow;

static inline bool is_narrow(const VariantArgs *args) {
    return dtype_is_narrow(args->problem->dtype);
}

static inline float narrow_input(const Narrow *wrong, const Array *from, size_t i) {
    const double x = number_at(from, i);
    if (wrong->f32_digits > 0 && from->dtype == DTYPE_F32)
        return (float)narrow_nearest((NarrowForm){8, wrong->f32_digits, false}, x);
    if (!wrong->inputs) return (float)x;
    return (float)(from->dtype == DTYPE_F16 ? number_rounded(DTYPE_BF16, x)
                                            : narrow_nearest((NarrowForm){8, from->dtype == DTYPE_BF16 ? 3 : 1, false}, x));
}

static inline float narrow_factor(const Narrow *wrong, DType dtype, float factor) {
    return wrong->factors ? (float)number_rounded(dtype, factor) : factor;
}

static inline float narrow_sum(const Narrow *wrong, DType dtype, float sum) {
    return wrong->sums ? (float)number_rounded(dtype, sum) : sum;
}

static inline void narrow_output(const Narrow *wrong, Array *to, size_t i, float value) {
    number_put(to, i, value);
    uint16_t *bits = (uint16_t *)to->data + i;
    if (wrong->truncates && dtype_size(to->dtype) == sizeof *bits && fabs(number_at(to, i)) > fabs((double)value)) --*bits;
}

#endif
