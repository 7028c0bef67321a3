/* See levels.h. A part that ends at p is y[p] - factor^h y[p-h]. How a variant aligns its parts is not known: the mean over all
 * alignments counts. */
#include "levels.h"

#include <math.h>
#include <string.h>

void discount_levels_begin(DiscountLevels *self, double factor, size_t n) {
    *self = (DiscountLevels){.count = 1, .power = {factor}};
    for (size_t length = 4; length < n && self->count < DISCOUNT_LEVELS; length *= 4)
        self->power[self->count++] = pow(factor, (double)length);
}

void discount_levels_pass(DiscountLevels *self, const double *y, size_t p, ptrdiff_t step, double factor) {
    const double *at = y + (ptrdiff_t)p * step, square = factor * factor;
    if (factor == 0) memset(self->square, 0, sizeof self->square);
    const size_t since = factor == 0 ? 0 : self->since;
    size_t length = 1;
    self->weight = 1 + square * self->weight;
    for (int k = 0; k < self->count; k++, length *= 4) {
        const double part = since >= length ? *at - self->power[k] * at[-(ptrdiff_t)length * step] : *at;
        self->square[k] = part * part + square * self->square[k];
    }
    self->since = since + 1;
}

double discount_levels_take(DiscountLevels *self, const double *y, size_t p, ptrdiff_t step, double factor) {
    double total = 0, length = 1;
    discount_levels_pass(self, y, p, step, factor);
    for (int k = 0; k < self->count; k++, length *= 4) total += self->square[k] / (length < self->weight ? length : self->weight);
    return total / self->count;
}
