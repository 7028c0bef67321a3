/* Mutant: the first element of a series still sees the series before. Must be rejected where there are series. */
#include "spoilt_ewm.h"

static Status run(const VariantArgs *args) {
    return spoilt_ewm(args, (Spoilt){.late_series = true});
}

RUNGS_VARIANT(ewm, cpu_leaks_across_series) = {
    .backend = BACKEND_CPU, .summary = "mutant: a series begins one element late", .origin = "tests", .run = run};
