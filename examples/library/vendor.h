#pragma once
#include <stddef.h>

/* z = a x + y, n elements. */
void vendor_daxpy(size_t n, double a, const double *x, const double *y, double *z);
