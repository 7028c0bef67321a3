#include "base/change.h"

#include "base/rng.h"

#include <math.h>

enum {
    TRIES = 16,
    SINGLE = 8 /* tries before a stretch of elements is tried as well */,
    EQUALS_MOST = 256 /* equal elements passed in search of one that differs */
};

static double at(const Array *array, size_t i) {
    return array->dtype == DTYPE_F32 ? (double)((const float *)array->data)[i] : ((const double *)array->data)[i];
}

/* Element i + step; NaN, which compares false with everything, if there is none. */
static double beside(const Array *array, size_t i, int step) {
    const size_t next = step > 0 ? i + 1 : i - 1; /* wraps around below 0 */
    return next < array_count(array) ? at(array, next) : NAN;
}

/* Has the value the place that element i has: between its neighbours, above both or below both? */
static bool keeps_order(const Array *array, size_t i, double value) {
    const double x = at(array, i), left = beside(array, i, -1), right = beside(array, i, 1);
    if (!(left > x) && !(right < x) && (left < x || right > x)) return !(left > value) && !(right < value);
    if (!(left < x) && !(right > x) && (left > x || right < x)) return !(left < value) && !(right > value);
    if (left < x && right < x) return left <= value && right <= value;
    return left > x && right > x && left >= value && right >= value;
}

/* From i in the direction of step: elements equal to x, up to `most`, and those that go on in the same order, get the value of the
 * last of them. */
static bool draw_stretch(const Array *array, size_t i, int step, size_t most, Change *out) {
    const double x = at(array, i);
    size_t looked = 0, length = 1;
    while (looked++ < EQUALS_MOST && beside(array, i, step) == x) i += (size_t)step, length++;
    const double next = beside(array, i, step), sign = next > x ? 1 : -1;
    if (!isfinite(next) || next == x) return false;
    if (length > most) length = most;
    const size_t start = i - (length - 1) * (size_t)step;
    const double behind = beside(array, start, -step);
    if (sign * (next - behind) > 0 && sign * (behind - x) > 0) return false;
    size_t last = i + (size_t)step;
    for (; length < most; length++, last += (size_t)step) {
        const double here = at(array, last), there = beside(array, last, step);
        if (!isfinite(there) || sign * (there - here) < 0 || (sign * (behind - x) > 0 && sign * (there - behind) > 0)) break;
    }
    *out = step > 0 ? (Change){start, last, last} : (Change){last + 1, start + 1, last};
    return true;
}

bool change_draw(const Array *array, uint64_t key, size_t most, Change *out) {
    const size_t n = array_count(array);
    if ((array->dtype != DTYPE_F32 && array->dtype != DTYPE_F64) || n < 2) return false;
    for (uint64_t k = 0; k < TRIES; k++) {
        const size_t i = rng_at(key, 2 * k) % n, from = rng_at(key, 2 * k + 1) % n;
        const double x = at(array, i), value = at(array, from);
        if (!isfinite(x)) continue;
        const int step = from % 2 ? 1 : -1;
        if (isfinite(value) && value != x && keeps_order(array, i, value)) {
            *out = (Change){i, i + 1, from};
            return true;
        }
        if (k < SINGLE) continue;
        if (draw_stretch(array, i, step, most, out) || draw_stretch(array, i, -step, most, out)) return true;
    }
    return false;
}
