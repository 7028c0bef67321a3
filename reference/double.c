/* double - y[i] = 2 x[i]: the smallest op, kept as the example of docs/ADDING_AN_OP.md. */
#include "vector.h"

static const ParamSpec PARAMS[] = {
    {"n", "elements", PARAM_INT, "1000003", 0, 1e12, NULL},
    {0},
};

static const char *const FAMILIES[] = {"uniform",  "normal", "ones",     "ramp",      "mixed",
                                       "denormal", "naninf", "overflow", "real:NAME", NULL};

static const Bound BOUNDS[] = {{"exact", "0: doubling is exact in binary floating point"}, {NULL, NULL}};

static Status reference(const Case *problem, const Array *in, int bound, Reference *out) {
    (void)bound;
    const size_t n = array_count(&in[0]);
    for (size_t i = 0; i < n; i++) {
        const double x = number_at(&in[0], i);
        /* Doubling overflows in the dtype, not in that of the reference. */
        out[0].value[i] = number_rounded(problem->dtype, 2 * x);
        out[0].tolerance[i] = 0;
    }
    return STATUS_OK;
}

static Work work(const Case *problem) {
    const double n = (double)params_int(&problem->params, "n");
    return (Work){.bytes = 2 * n * (double)dtype_size(problem->dtype), .flops = n, .elements = n};
}

RUNGS_OP(double) = {
    .name = "double",
    .summary = "y[i] = 2 x[i]",
    .params = PARAMS,
    .families = FAMILIES,
    .dtypes = VECTOR_DTYPES,
    .bounds = BOUNDS,
    .in_count = 1,
    .out_count = 1,
    .shapes = vector_shapes,
    .adopt = vector_adopt,
    .reference = reference,
    .work = work,
};
