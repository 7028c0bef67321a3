/* elementary.h - log, sine and cosine from +, -, *, / alone. A libm's last bit depends on its version and on the processor; inputs
 * must not. Relative error about 1e-15, ample for random numbers. Needs -ffp-contract=off. */
#ifndef RUNGS_VERIFY_ELEMENTARY_H
#define RUNGS_VERIFY_ELEMENTARY_H

#include <math.h>

/* Natural logarithm of a positive normal number: atanh series on a mantissa in [sqrt(1/2), sqrt(2)). */
static inline double elementary_log(double x) {
    int exponent;
    double m = frexp(x, &exponent); /* exact */
    if (m < 0x1.6a09e667f3bcdp-1) m *= 2, exponent--;
    const double s = (m - 1) / (m + 1), z = s * s;
    double sum = 1.0 / 23;
    for (int k = 21; k > 0; k -= 2) sum = sum * z + 1.0 / k;
    return 2 * s * sum + exponent * 0x1.62e42fefa39efp-1;
}

/* Sine and cosine of 2 pi u, 0 <= u < 1: Taylor series within an eighth of a turn of the nearest quarter. */
static inline void elementary_turn(double u, double *sine, double *cosine) {
    const int quarter = (int)(4 * u + 0.5);
    const double x = (u - 0.25 * quarter) * 0x1.921fb54442d18p+2, z = x * x;
    double s = 1, c = 1;
    for (int k = 18; k > 0; k -= 2) {
        s = 1 - s * z / (k * (k + 1));
        c = 1 - c * z / ((k - 1) * k);
    }
    s *= x;
    switch (quarter & 3) {
    case 0:
        *sine = s, *cosine = c;
        break;
    case 1:
        *sine = c, *cosine = -s;
        break;
    case 2:
        *sine = -s, *cosine = -c;
        break;
    default:
        *sine = -c, *cosine = s;
        break;
    }
}

#endif
