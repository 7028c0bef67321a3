#include "vendor.h"

void vendor_daxpy(size_t n, double a, const double *x, const double *y, double *z) {
    for (size_t i = 0; i < n; i++) z[i] = a * x[i] + y[i];
}
