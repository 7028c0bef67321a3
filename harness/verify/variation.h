/* variation.h - varies the families that have no seed (ramp, ones, real:NAME), so that timed calls get different inputs: NaN keeps
 * its places, the scale stays, and no scaled, shifted or rotated result of another draw is correct. */
#ifndef RUNGS_VERIFY_VARIATION_H
#define RUNGS_VERIFY_VARIATION_H

#include "base/array.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum Variation {
    VARIATION_SEED,   /* the family has a seed: nothing to vary */
    VARIATION_STEPS,  /* ramp: steps of 1, and of 2 once in 8 to 32 elements; whole numbers that ascend, up to 1.125 n */
    VARIATION_LEVELS, /* ones: times 1 + m / 64, 1 <= m <= 16, one level up or down in 32 to 128 elements; sums stay as exact */
    VARIATION_FACTORS /* real:NAME: times 1 + d, d < 1/32 + 2^-12, the 2^-12 drawn for each 8 to 32 elements, the rest for n / 64 */
} Variation;

/* How a family is varied. */
Variation variation_of(const char *family);
/* Does a draw give equal or nearly equal elements different values, so that a call may take another time? False for ramp. */
bool variation_reorders(Variation variation);
/* Varies an array of f32 or f64 on the host that holds the numbers of its family; the key chooses the draw. */
void variation_apply(Variation variation, uint64_t key, Array *array);

#endif
