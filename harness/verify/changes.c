#include "verify/changes.h"

#include <math.h>
#include <string.h>

enum { LOOKS = 65536 };

/* Odd: rows of a matrix are met at all their places. */
static size_t stride_of(size_t count) {
    return count / LOOKS | 1;
}

static bool is_same_other(double a, double b) {
    return (isnan(a) && isnan(b)) || (isinf(a) && a == b);
}

void changes_bounded(const Reference *kept, const Reference *now, size_t count, Changes *changes) {
    for (size_t i = 0; i < count; i += stride_of(count)) {
        if (is_same_other(kept->value[i], now->value[i])) continue;
        changes->of++;
        changes->wrong += !(fabs(kept->value[i] - now->value[i]) <= now->tolerance[i]);
    }
}

void changes_exact(const Array *kept, const Array *now, Changes *changes) {
    const size_t count = array_count(now), had = array_count(kept), size = dtype_size(now->dtype);
    for (size_t i = 0; i < count; i += stride_of(count)) {
        changes->of++;
        changes->wrong += i >= had || memcmp((const char *)kept->data + i * size, (const char *)now->data + i * size, size) != 0;
    }
}
