/* variation.h - families that know no seed (ramp, ones, real:NAME), drawn anew so that timed calls repeat nothing: NaN places and
 * scale stay, and no scaled, shifted or rotated result of another draw is right. */
#ifndef RUNGS_VERIFY_VARIATION_H
#define RUNGS_VERIFY_VARIATION_H

#include "base/array.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum Variation {
    VARIATION_SEED,   /* none: the seed makes other numbers */
    VARIATION_STEPS,  /* ramp: steps of 1, and of 2 once in 8 to 32 elements; whole numbers that ascend, up to 1.125 n */
    VARIATION_LEVELS, /* ones: times 1 + m / 64, 1 <= m <= 16, one level up or down in 32 to 128 elements; sums stay as exact */
    VARIATION_FACTORS /* real:NAME: times 1 + d, d < 1/32 + 2^-12, the 2^-12 drawn for each 8 to 32 elements, the rest for n / 64 */
} Variation;

/* What there is for a family. */
Variation variation_of(const char *family);
/* Does a draw tell elements apart that were equal, or nearly, so that it may cost another time than the family? Not for ramp. */
bool variation_reorders(Variation variation);
/* Draws an array of floating-point numbers, filled as its family has it, anew. */
void variation_apply(Variation variation, uint64_t key, Array *array);

#endif
