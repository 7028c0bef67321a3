/* Wrong definitions of discounted sums, from right ones and what is added or left out. */
#include "discount.h"

const char *const DISCOUNT_WRONG[] = {[WRONG_LONGER] = "k+1",     [WRONG_SHORTER] = "k-1",        [WRONG_SHIFTED] = "shift",
                                      [WRONG_UNCUT] = "no reset", [WRONG_STATELESS] = "no state", NULL};

/* w x of the element so many positions before p; false: the sum does not reach so far. */
static bool term(const RecurrenceLine *line, size_t p, size_t before, double *out) {
    double weight = 1;
    if (before > p) return false;
    for (size_t k = 0; k < before; k++) {
        const RecurrenceStep step = recurrence_step(line, p - k);
        if (step.cut) return false;
        weight *= step.factor.hi;
    }
    *out = weight * recurrence_step(line, p - before).x;
    return true;
}

bool discount_wrong_value(const Discount *self, const void *x, const double *right, int which, size_t element, double *value) {
    const DiscountFacts facts = {.scale = 1};
    const size_t row = element / self->n, first = row * self->n, in_row = element - first;
    RecurrenceLine line = discount_line(self, &facts, x, row);
    const size_t p = line.backward ? self->n - 1 - in_row : in_row;
    if (p == 0 || !isfinite(right[element])) return false;
    const double before = right[first + recurrence_element(&line, p - 1)], whole = right[element];
    const bool window = self->terms <= self->n;
    double other = 0;
    switch (which) {
    case WRONG_LONGER:
        if (!window || !term(&line, p, self->terms, &other)) return false;
        break;
    case WRONG_SHORTER:
        if (!window || self->terms < 2 || !term(&line, p, self->terms - 1, &other)) return false;
        other = -other;
        break;
    case WRONG_SHIFTED:
        *value = before;
        return isfinite(before);
    case WRONG_UNCUT:
        if (window || !recurrence_step(&line, p).cut) return false;
        line.reset = NULL;
        other = recurrence_step(&line, p).factor.hi * before;
        break;
    default:
        return false;
    }
    *value = whole + other;
    return isfinite(*value);
}
