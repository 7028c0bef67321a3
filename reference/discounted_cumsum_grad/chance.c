/* dgamma of a row or of all rows if errors go both ways. In reading order dgamma is the sum of z[p] y[p-1], z = dx, and so is off
 * by sum z[p] dy[p-1] + y[p-1] dz[p]. An error of y[p] that is carried on is G dy[p] at p + d, G the product of the factors
 * between, or less where the sums share less than that. The variance of sum a[p] dy[p] is therefore at most sum over p of r[p]^2
 * |a[p]| (|a[p]| + 2 sum over d of what G a[p+d] has of the sign of a[p]), r[p]^2 the variance of dy[p]. r is seven standard
 * deviations, and so is the root of the sum. docs/ops/discounted_cumsum.md. */
#include "gradient.h"

static double larger(double a, double b) {
    return a > b ? a : b;
}

/* Coefficients of errors further on, discounted to here, by their sign. */
typedef struct Ahead {
    double plus, minus;
} Ahead;

static Ahead ahead_step(Ahead ahead, double coefficient, double factor) {
    const double plus = ahead.plus + larger(coefficient, 0), minus = ahead.minus + larger(-coefficient, 0), size = fabs(factor);
    return factor < 0 ? (Ahead){size * minus, size * plus} : (Ahead){size * plus, size * minus};
}

static double variance_of(double deviation, double coefficient, Ahead ahead) {
    const double size = fabs(coefficient), same = coefficient > 0 ? ahead.plus : ahead.minus;
    return deviation * size * (deviation * (size + 2 * same));
}

static void take(GradientChance *self, const DiscountPart *part, double coefficient, Ahead ahead) {
    self->variance += variance_of(part->random, coefficient, ahead) + variance_of(part->powers, coefficient, ahead);
    self->powers += coefficient * part->powers_signed;
    self->rest += fabs(coefficient) * part->underflow;
}

static double of_both(const DiscountPart *a, const DiscountPart *b) {
    return (a->random + a->powers + a->underflow) * (b->random + b->powers + b->underflow);
}

/* What is carried into position p. */
static double factor_into(const RecurrenceLine *line, size_t p) {
    const RecurrenceStep step = recurrence_step(line, p);
    return step.cut ? 0 : step.factor.hi;
}

/* Errors of dx flow to lower positions. trial[p]: y by the plain recurrence. */
static GradientChance forwards(const GradientFactors *f, double *trial) {
    GradientChance self = {.known = true};
    const RecurrenceLine *line = f->y_line;
    Ahead behind = {0, 0};
    double before = 0; /* y[p-1] */
    for (size_t p = 0; p < line->n; p++) {
        const size_t i = recurrence_element(line, p);
        const RecurrenceStep step = recurrence_step(line, p);
        const double factor = step.cut ? 0 : step.factor.hi, coefficient = step.cut ? 0 : before;
        take(&self, &f->dx_parts[i], coefficient, behind);
        behind = ahead_step(behind, coefficient, p + 1 < line->n ? factor_into(line, p + 1) : 0);
        trial[p] = recurrence_rounded(step.x / line->scale + recurrence_rounded(factor * (p > 0 ? trial[p - 1] : 0), line->f32),
                                      line->f32);
        self.partial += coefficient * f->dx[i];
        self.chain += self.partial * self.partial;
        if (!step.cut) self.rest += of_both(&f->y_parts[recurrence_element(line, p - 1)], &f->dx_parts[i]);
        before = f->y[i];
    }
    return self;
}

/* Errors of y flow to higher positions; sums from the other end. */
static void backwards(const GradientFactors *f, const double *trial, GradientChance *self) {
    const RecurrenceLine *line = f->y_line;
    Ahead ahead = {0, 0};
    double after = 0, factor = 0, z = 0, partial = 0, chain = 0; /* dx[p+1], what leads there, the trial's dx[p+1] */
    bool cut = true;
    for (size_t p = line->n; p-- > 0;) {
        const size_t i = recurrence_element(line, p), q = line->n - 1 - p;
        const double coefficient = cut ? 0 : after, dy = recurrence_step(f->dx_line, q).x / f->dx_line->scale;
        take(self, &f->y_parts[i], coefficient, ahead);
        self->trial += cut ? 0 : trial[p] * z;
        partial += coefficient * f->y[i];
        chain += partial * partial;
        z = recurrence_rounded(dy + recurrence_rounded(factor * z, line->f32), line->f32);
        const RecurrenceStep step = recurrence_step(line, p);
        cut = step.cut;
        factor = cut ? 0 : step.factor.hi;
        ahead = ahead_step(ahead, coefficient, factor);
        after = f->dx[i];
    }
    self->chain = larger(self->chain, chain);
}

GradientChance gradient_chance(const GradientFactors *factors, double *memory) {
    GradientChance self = forwards(factors, memory);
    backwards(factors, memory, &self);
    return self;
}

GradientChance gradient_chance_add(const GradientChance *a, const GradientChance *b) {
    const double partial = a->partial + b->partial;
    return (GradientChance){.known = a->known && b->known,
                            .variance = a->variance + b->variance,
                            .powers = a->powers + b->powers,
                            .rest = a->rest + b->rest,
                            .trial = a->trial + b->trial,
                            .chain = a->chain + b->chain + partial * partial,
                            .partial = partial};
}

double gradient_chance_error(const GradientChance *self, double value, double size, double additions) {
    static const double LEAST = 0x1p-300, MOST = 0x1p300; /* squares stay in range */
    static const double SCATTERED = 1.0 / 64;             /* of the sum, which parts that are no stretches of a row may have */
    if (!self->known || !(size >= LEAST && size <= MOST)) return INFINITY;
    const double sums = 3 * 0x1p-53 * (sqrt(self->chain) + sqrt(additions) * SCATTERED * size);
    if (!isfinite(self->variance) || !isfinite(sums)) return INFINITY; /* an infinite dx that meets nothing: 0 times inf */
    bound_terms_forget();
    bound_term("additions of the products, 3 2^-53 sqrt(sum of squares of partial sums)", sums);
    bound_term("roundings of dx and y of either sign", sqrt(self->variance));
    bound_term("powers of the discount that are made by products, u sum a T / 2", fabs(self->powers));
    bound_term("errors of one sign, 4 E", 4 * fabs(self->trial - value));
    return larger(sqrt(self->variance + sums * sums), 4 * fabs(self->trial - value)) + fabs(self->powers) + self->rest;
}
