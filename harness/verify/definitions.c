#include "verify/definitions.h"

#include "base/numbers.h"
#include "verify/accumulate.h"

#include <math.h>
#include <string.h>

enum { ALL = 1024, ENDS = 32, BETWEEN = 256, BETWEEN_LEAST = 16, TELLING = 14, OPERATIONS = 4000000 };

/* The elements that are looked at, by number. */
typedef struct Looks {
    size_t n, count, stride;
} Looks;

static Looks looks_of(const Op *op, const Case *problem, size_t n) {
    if (n <= ALL) return (Looks){n, n, 1};
    const Work work = op->work(problem);
    const double each = work.elements > 0 ? work.flops / work.elements : 1, most = OPERATIONS / (each + 1);
    const double inner = (double)(n - 2 * (size_t)ENDS);
    const double telling = fmax(BETWEEN, TELLING * each); /* of a window's minima one more element changes one in its length */
    const size_t between = (size_t)fmin(fmax(fmin(most, telling), BETWEEN_LEAST), inner);
    return (Looks){n, between + 2 * (size_t)ENDS, (size_t)inner / between};
}

static size_t look_at(const Looks *looks, size_t k) {
    if (looks->count == looks->n || k < ENDS) return k;
    if (k < 2 * (size_t)ENDS) return looks->n - 1 - (k - ENDS);
    return ENDS + (k - 2 * (size_t)ENDS) * looks->stride;
}

static bool is_beyond(double wrong, double right, double tolerance) {
    if (!isfinite(wrong) || !isfinite(right)) return !(wrong == right || (isnan(wrong) && isnan(right)));
    return fabs(wrong - right) > tolerance + 0x1p-50 * fabs(wrong);
}

static Definitions rejected(const Op *op, const Accumulated *as, const Array *out, const Reference *right, int output) {
    Definitions found = {0};
    const Looks looks = looks_of(op, &as->problem, array_count(&out[output]));
    const Reference *of = &right[output];
    for (int which = 0; op->wrong && op->wrong[which] && which < OP_MAX_WRONG; which++) {
        const unsigned bit = 1u << which;
        for (size_t k = 0; k < looks.count && !(found.rejected & bit); k++) {
            const size_t i = look_at(&looks, k);
            double wrong;
            if (!op->wrong_value(&as->problem, as->in, right, which, output, i, &wrong)) continue;
            found.applies |= bit;
            if (is_beyond(number_rounded(out[output].dtype, wrong), of->value[i], of->tolerance[i])) found.rejected |= bit;
        }
    }
    return found;
}

Status definitions_rejected(const Op *op, const Case *problem, const Array *in, const Array *out, const Reference *right,
                            int output, Definitions *found) {
    Accumulated as;
    TRY(accumulated_open(op, problem, in, &as));
    *found = rejected(op, &as, out, right, output);
    accumulated_close(&as);
    return STATUS_OK;
}

/* ---- Results of other data. */

enum { LOOKS = 65536 };

/* Odd: rows of a matrix are met at all their places. */
static size_t stride_of(size_t count) {
    return count / LOOKS | 1;
}

static bool is_same_other(double a, double b) {
    return (isnan(a) && isnan(b)) || (isinf(a) && a == b);
}

void changes_bounded(const Op *op, const Case *problem, int output, const Reference *kept, const Reference *now, size_t count,
                     Changes *changes) {
    for (size_t i = 0; i < count; i += stride_of(count)) {
        const bool same = is_same_other(kept->value[i], now->value[i]);
        if (same && op->is_incomplete && op->is_incomplete(problem, output, i)) continue;
        changes->of++;
        changes->wrong += !same && !(fabs(kept->value[i] - now->value[i]) <= now->tolerance[i]);
    }
}

void changes_exact(const Array *kept, const Array *now, Changes *changes) {
    const size_t count = array_count(now), had = array_count(kept), size = dtype_size(now->dtype);
    for (size_t i = 0; i < count; i += stride_of(count)) {
        changes->of++;
        changes->wrong += i >= had || memcmp((const char *)kept->data + i * size, (const char *)now->data + i * size, size) != 0;
    }
}
