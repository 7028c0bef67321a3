/* The values of mean, sum, var and std: exact sums that slide (fixed.h). */
#include "rolling.h"

#include <math.h>
#include <stdlib.h>

/* See RollingSums. 62 bits, so that an element and its square, of either sign, have room; powers of two that are normal. */
static double units_of(const RollingProblem *problem) {
    const bool few = problem->most < problem->least + 62, normal = abs(problem->least) < 1000;
    return few && normal ? ldexp(1, -problem->least) : 0;
}

static inline void take(RollingSums *self, size_t i, bool leaves) {
    const double x = rolling_finite(self->problem, i);
    const bool squares = rolling_is_spread(self->problem);
    if (self->units > 0) {
        const int64_t units = (int64_t)(x * self->units);
        fixed_add_units(&self->sum, leaves ? -units : units);
        if (squares) fixed_add_units(&self->squares, (__int128)(leaves ? -units : units) * units);
    } else {
        fixed_add(&self->sum, x, leaves);
        if (squares) fixed_add_square(&self->squares, x, leaves);
    }
}

RollingSums rolling_sums_before(const RollingProblem *problem, size_t first) {
    RollingSums self = {.problem = problem, .units = units_of(problem), .sum = fixed_zero(problem->least, problem->most)};
    if (rolling_is_spread(problem)) self.squares = fixed_zero(2 * problem->least, 2 * problem->most + 1);
    for (size_t i = first > problem->window ? first - problem->window : 0; i < first; i++) take(&self, i, false);
    return self;
}

void rolling_sums_advance(RollingSums *self, size_t i) {
    take(self, i, false);
    if (i >= self->problem->window) take(self, i - self->problem->window, true);
}

long double rolling_sums_value(const RollingSums *self) {
    const size_t w = self->problem->window;
    if (!rolling_is_spread(self->problem)) return fixed_mean(&self->sum, self->problem->agg == ROLLING_MEAN ? w : 1);
    return w > 1 ? fixed_variance(&self->sum, &self->squares, w, self->problem->agg == ROLLING_STD) : (long double)NAN;
}

double rolling_sums_rounded(const RollingSums *self) {
    return fixed_mean_rounded(&self->sum, self->problem->agg == ROLLING_MEAN ? self->problem->window : 1);
}

long double rolling_sums_variance(const RollingSums *self) {
    return self->problem->window > 1 ? fixed_variance(&self->sum, &self->squares, self->problem->window, false) : 0;
}

long double rolling_sums_square(const RollingSums *self) {
    return self->problem->window > 1 ? fixed_mean(&self->squares, self->problem->window - 1) : 0;
}
