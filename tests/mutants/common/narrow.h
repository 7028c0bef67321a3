/* narrow.h - what goes wrong where sums are of a wider type than elements: sums in the elements' type, inputs or factors cut to
 * fewer digits, outputs cut instead of rounded; and with f32, inputs cut to TF32 or bf16. */
#pragma once

#include "base/numbers.h"
#include "variant.h"

typedef struct Narrow {
    bool sums;      /* every sum is rounded to the type of the elements */
    bool inputs;    /* f16 becomes bf16, bf16 a number of four digits, of 8 bits one of two */
    bool truncates; /* outputs, of 16 and of 32 bits */
    int f32_digits; /* of an f32 input: of its fraction; 0: all */
    bool factors;   /* factors are rounded to the elements' type, although sums have a wider one */
} Narrow;

static inline bool is_narrow(const VariantArgs *args) {
    return dtype_is_narrow(args->problem->dtype);
}

/* Can these mistakes be made? */
static inline bool is_narrowed(const VariantArgs *args, const Narrow *wrong) {
    return is_narrow(args) || !case_is_usual(args->problem) || (wrong->f32_digits > 0 && args->problem->dtype == DTYPE_F32);
}

static inline double narrow_input(const Narrow *wrong, const Array *from, size_t i) {
    const double x = number_at(from, i);
    if (wrong->f32_digits > 0 && from->dtype == DTYPE_F32) return narrow_nearest((NarrowForm){8, wrong->f32_digits, false}, x);
    if (!wrong->inputs || !dtype_is_narrow(from->dtype)) return x;
    if (from->dtype == DTYPE_F16) return number_rounded(DTYPE_BF16, x);
    return narrow_nearest((NarrowForm){8, from->dtype == DTYPE_BF16 ? 3 : 1, false}, x);
}

static inline double narrow_factor(const Narrow *wrong, const Case *problem, double factor) {
    return number_rounded(wrong->factors ? problem->dtype : case_sums(problem), factor);
}

/* Of a sum or product of two numbers of that type. */
static inline double narrow_sum(const Narrow *wrong, const Case *problem, double sum) {
    return number_rounded(wrong->sums ? problem->dtype : case_sums(problem), sum);
}

static inline void narrow_output(const Narrow *wrong, Array *to, size_t i, double value) {
    number_put(to, i, value);
    if (!wrong->truncates || !(fabs(number_at(to, i)) > fabs(value))) return;
    if (dtype_size(to->dtype) == sizeof(uint16_t)) --((uint16_t *)to->data)[i];
    if (dtype_size(to->dtype) == sizeof(uint32_t)) --((uint32_t *)to->data)[i];
}
