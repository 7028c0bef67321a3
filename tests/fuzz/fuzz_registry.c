/* One op and two variants, so that nothing needs to be built but the readers. */
#include "plan/registry.h"

static const char *const CHOICES[] = {"mean", "min", NULL};
static const ParamSpec PARAMS[] = {
    {"agg", "a choice", PARAM_CHOICE, "mean", 0, 0, CHOICES},
    {"option", "a choice that texts leave out at its default", PARAM_OPTION, "mean", 0, 0, CHOICES},
    {"n", "an integer", PARAM_INT, NULL, 0, 1e12, NULL},
    {"gamma", "a real", PARAM_REAL, "0.5", -2, 2, NULL},
    {"file", "a text", PARAM_TEXT, "none", 0, 0, NULL},
    {0},
};
static const char *const OP_FAMILIES[] = {"uniform", "offset", "naninf", "real:NAME", NULL};

static Status shapes(const Case *problem, Array *in, Array *out) {
    in[0] = array_1d("x", problem->dtype, (size_t)params_int(&problem->params, "n"));
    out[0] = array_1d("y", problem->dtype, (size_t)params_int(&problem->params, "n"));
    return STATUS_OK;
}

static Work work(const Case *problem) {
    return (Work){.bytes = 16 * (double)params_int(&problem->params, "n")};
}

static const DType SUMS[] = {DTYPE_F32, DTYPE_F64, DTYPE_COUNT};
RUNGS_OP(op) = {.name = "op",
                .summary = "",
                .params = PARAMS,
                .accumulates = SUMS,
                .families = OP_FAMILIES,
                .in_count = 1,
                .out_count = 1,
                .shapes = shapes,
                .work = work};
RUNGS_OP(other) = {.name = "other", .summary = "", .params = PARAMS, .in_count = 1, .out_count = 1, .shapes = shapes, .work = work};
static const ParamSpec TUNABLES[] = {
    {"threads", "", PARAM_INT, "64", 1, 1024, NULL}, {"tile", "", PARAM_INT, "48", 1, 64, NULL}, {0}};
static const ParamSpec FORMS[] = {{"wide", "", PARAM_INT, "0", 0, 1, NULL}, {0}};
static const VariantFacts JOINED = {.summary = "", .tunables = FORMS};
static const VariantFacts PLAIN = {.summary = ""}, TUNED = {.summary = "", .tunables = TUNABLES};

static VariantEntry variants[] = {
    {.id = "moments/cuda_two_pass", .op = "op", .path = "d", .backend = BACKEND_CUDA, .variant = &JOINED}, /* base/joined.h */
    {.id = "op/cpu_a", .op = "op", .path = "a", .backend = BACKEND_CPU, .variant = &PLAIN},
    {.id = "op/cuda_b", .op = "op", .path = "b", .backend = BACKEND_CUDA, .variant = &TUNED},
    {.id = "other/cpu_c", .op = "other", .path = "c", .backend = BACKEND_CPU, .variant = &PLAIN},
};

VariantEntry *registry_variants(int *count) {
    *count = sizeof variants / sizeof *variants;
    return variants;
}

/* Everything is known of them. */
Status modules_need(void) {
    return STATUS_OK;
}

bool modules_selected(const VariantEntry *entry) {
    return entry != NULL;
}
