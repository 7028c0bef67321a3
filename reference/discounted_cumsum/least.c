/* What any correct variant reads: see Op.least_read. */
#include "discount.h"

#include "reference/vector.h"

#include <math.h>

static const double GAMMA_FELT = 1e-3; /* with a smaller discount a variant might do without what is carried */

/* An element counts unless a NaN or an infinity is carried into it, which may decide its sum alone. In the order in which sums
 * grow: from the right, unless they are left or (not both) transposed. */
static DiscountReads row_reads(const Discount *self, const Array *x, size_t row) {
    const bool from_left = self->left != self->adjoint;
    const unsigned char *reset = self->reset ? self->reset + row * self->n : NULL;
    DiscountReads reads = {0};
    size_t decided = 0; /* so many further elements get a NaN or an infinity */
    bool first = true;
    for (size_t step = 0; step < self->n; step++) {
        const size_t i = from_left ? step : self->n - 1 - step, before = from_left ? i - 1 : i + 1;
        const bool cut = step > 0 && reset && reset[self->adjoint ? before : i];
        if (cut) reads.cuts++, first = true, decided = 0;
        if (decided == 0) reads.elements++, reads.carried += !first;
        if (decided > 0) decided--;
        const bool finite = vector_finite_at(x, row * self->n + i);
        reads.resets += step > 0 && finite;
        if (!finite) decided = self->terms - 1;
        first = false;
    }
    return reads;
}

DiscountReads discount_reads(const Discount *self, const Array *x) {
    double elements = 0, carried = 0, cuts = 0, resets = 0;
#pragma omp parallel for schedule(static) reduction(+ : elements, carried, cuts, resets)
    for (size_t row = 0; row < self->batch; row++) {
        const DiscountReads reads = row_reads(self, x, row);
        elements += reads.elements, carried += reads.carried, cuts += reads.cuts, resets += reads.resets;
    }
    return (DiscountReads){elements, carried, cuts, resets};
}

double discount_factor_reads(const Case *problem, const Discount *self, const DiscountReads *reads) {
    if (self->terms < 2 || self->n < 2) return 0; /* nothing is carried */
    const double size = (double)dtype_size(problem->dtype);
    const double gamma = self->gamma_per == GAMMA_ELEMENT ? reads->carried : self->gamma_per == GAMMA_ROW ? (double)self->batch : 0;
    const bool felt = fabs(params_real(&problem->params, "gamma")) >= GAMMA_FELT;
    return size * gamma + (self->reset && felt ? reads->resets : 0);
}
