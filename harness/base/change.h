/* change.h - another value for elements of an input, such that it stays what it is: NaN and infinities where they are, and each
 * element in its order to its neighbours, so that what ascends still does. */
#ifndef RUNGS_BASE_CHANGE_H
#define RUNGS_BASE_CHANGE_H

#include "base/array.h"

#include <stdint.h>

/* The elements begin .. end - 1 become what element `from` is. */
typedef struct Change {
    size_t begin, end, from;
} Change;

/* Draws one for an array on the host: an element becomes any other, or, where order does not admit that, up to `most` elements
 * become what the next one is. False if none was found: no floating-point numbers, or all of them alike. */
bool change_draw(const Array *array, uint64_t key, size_t most, Change *out);

#endif
