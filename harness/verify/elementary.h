/* elementary.h - log, sine and cosine from +, -, *, / alone. A libm's last bit depends on its version and on the processor; inputs
 * must not. Relative error about 1e-15, ample for random numbers. Needs -ffp-contract=off. */
#pragma once

#include <math.h>

/* Natural logarithm of a positive normal number: atanh series on a mantissa in [sqrt(1/2), sqrt(2)). */
static inline double elementary_log(double x) {
    int exponent;
    double m = frexp(x, &exponent); /* exact */
    if (m < 0x1.6a09e667f3bcdp-1) m *= 2, exponent--;
    const double s = (m - 1) / (m + 1), z = s * s;
    static const double odd[] = {1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11,
                                 1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3,  1.0};
    double sum = 1.0 / 23;
    for (int k = 0; k < 11; k++) sum = sum * z + odd[k];
    return 2 * s * sum + exponent * 0x1.62e42fefa39efp-1;
}

/* Sine and cosine of 2 pi u, 0 <= u < 1: Taylor series within an eighth of a turn of the nearest quarter. */
static inline void elementary_turn(double u, double *sine, double *cosine) {
    const int quarter = (int)(4 * u + 0.5);
    const double x = (u - 0.25 * quarter) * 0x1.921fb54442d18p+2, z = x * x;
    /* 1 / (2k+1)! and 1 / (2k)!, from the smallest term */
    static const double odd[] = {1.0 / 355687428096000,
                                 -1.0 / 1307674368000,
                                 1.0 / 6227020800,
                                 -1.0 / 39916800,
                                 1.0 / 362880,
                                 -1.0 / 5040,
                                 1.0 / 120,
                                 -1.0 / 6,
                                 1.0};
    static const double even[] = {
        1.0 / 20922789888000, -1.0 / 87178291200, 1.0 / 479001600, -1.0 / 3628800, 1.0 / 40320, -1.0 / 720, 1.0 / 24, -0.5, 1.0};
    double s = 0, c = -1.0 / 6402373705728000;
    for (int k = 0; k < 9; k++) {
        s = s * z + odd[k];
        c = c * z + even[k];
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
