/* axpy - z[i] = a x[i] + y[i]. What is computed: parameters, inputs, the reference and how far a result may be from it. */
#include "op.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

enum { IN_X, IN_Y, IN_COUNT };

static const ParamSpec PARAMS[] = {
    {"n", "elements", PARAM_INT, "1000003", 0, 1e12, NULL},
    {"a", "factor of x, rounded to the dtype", PARAM_REAL, "0.7", -1e6, 1e6, NULL},
    {0},
};
static const char *const FAMILIES[] = {"uniform", "normal", "mixed", "denormal", "naninf", NULL};
static const Bound BOUNDS[] = {{"rounding", "1.001 u (|a x| + 2 |z|) + the smallest subnormal"}, {NULL, NULL}};

static Status shapes(const Case *problem, Array *in, Array *out) {
    const size_t n = (size_t)params_int(&problem->params, "n");
    in[IN_X] = array_1d("x", problem->dtype, n);
    in[IN_Y] = array_1d("y", problem->dtype, n);
    out[0] = array_1d("z", problem->dtype, n);
    return STATUS_OK;
}

/* Files given to `exec`: x decides n and dtype. */
static Status adopt(const Array *in, Case *problem) {
    const Array *x = &in[IN_X];
    if (x->rank != 1 || (x->dtype != DTYPE_F64 && x->dtype != DTYPE_F32))
        return status_fail(STATUS_INVALID, "input 'x': one dimension of f64 or f32 is expected");
    if (in[IN_Y].rank < 0) return status_fail(STATUS_INVALID, "input 'y' is missing; an array like x is expected");
    char n[32];
    snprintf(n, sizeof n, "%zu", x->shape[0]);
    problem->dtype = x->dtype;
    return params_set(&problem->params, "n", n);
}

static Status reference(const Case *problem, const Array *in, int bound, Reference *out) {
    (void)bound;
    const bool f64 = problem->dtype == DTYPE_F64;
    const double u = dtype_unit_roundoff(problem->dtype), tiny = f64 ? DBL_TRUE_MIN : (double)FLT_TRUE_MIN;
    const double given = params_real(&problem->params, "a"), a = f64 ? given : (double)(float)given;
    for (size_t i = 0; i < array_count(&in[IN_X]); i++) {
        const double x = f64 ? ((const double *)in[IN_X].data)[i] : (double)((const float *)in[IN_X].data)[i];
        const double y = f64 ? ((const double *)in[IN_Y].data)[i] : (double)((const float *)in[IN_Y].data)[i];
        const double z = fma(a, x, y); /* better than the output's dtype: rounded once */
        out[0].value[i] = f64 || isfinite((float)z) ? z : (double)(float)z;
        out[0].tolerance[i] = isfinite(z) ? 1.001 * u * (fabs(a * x) + 2 * fabs(z)) + tiny : 0;
    }
    return STATUS_OK;
}

static Work work(const Case *problem) {
    const double n = (double)params_int(&problem->params, "n");
    return (Work){.bytes = 3 * n * (double)dtype_size(problem->dtype), .flops = 2 * n, .elements = n};
}

RUNGS_OP(axpy) = {
    .name = "axpy",
    .summary = "z[i] = a x[i] + y[i]",
    .params = PARAMS,
    .families = FAMILIES,
    .bounds = BOUNDS,
    .in_count = IN_COUNT,
    .out_count = 1,
    .shapes = shapes,
    .adopt = adopt,
    .reference = reference,
    .work = work,
};
