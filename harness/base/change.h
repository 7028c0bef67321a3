/* change.h - overwrites elements of an input without changing its kind: NaN and infinities keep their places, and each element
 * keeps its order to its neighbours, so ascending numbers still ascend. */
#ifndef RUNGS_BASE_CHANGE_H
#define RUNGS_BASE_CHANGE_H

#include "base/array.h"

#include <stdint.h>

/* Elements begin .. end - 1 get the value of element `from`. */
typedef struct Change {
    size_t begin, end, from;
} Change;

/* Draws a change for an array on the host, by the key alone: one element gets the value of any other or, if that breaks the order,
 * up to `most` adjacent elements get the value of the next. False if none was found: no floating-point numbers, or all equal. */
bool change_draw(const Array *array, uint64_t key, size_t most, Change *out);

#endif
