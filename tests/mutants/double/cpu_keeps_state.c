/* Mutants that show only where one worker serves several cases: `how` names what they keep from one case to the next. Alone each of
 * them computes what is right. */
#include "variant.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const HOW[] = {"nothing",       "memo_over_cases", "leak_in_prepare", "crash_in_second_case",
                                  "abort_at_exit", "child_of_second", "memory_of_cases", NULL};
static const ParamSpec TUNABLES[] = {{"how", "what it keeps", PARAM_CHOICE, "nothing", 0, 0, HOW}, {0}};

static int cases;         /* served in this process */
static uint64_t last;     /* the seed of the last of them */
static double *kept;      /* the first result of an earlier case */
static size_t kept_count; /* its elements */
static int kept_of;       /* which case it is of */

static bool does(const VariantArgs *args, const char *how) {
    return strcmp(params_text(args->tunables, "how"), how) == 0;
}

static void abort_if_several(void) {
    if (cases > 1) abort();
}

static Status prepare(const VariantArgs *args, void **state) {
    enum { LEAK = 1 << 20, MUCH = 80 << 20 };
    const bool another = cases == 0 || args->problem->seed != last;
    *state = malloc(16);
    last = args->problem->seed;
    cases += another;
    if (does(args, "leak_in_prepare")) memset(malloc(LEAK), 1, LEAK);
    if (!another) return STATUS_OK;
    if (cases == 1 && does(args, "abort_at_exit")) atexit(abort_if_several);
    if (does(args, "memory_of_cases")) memset(malloc(MUCH), 1, MUCH);
    if (does(args, "crash_in_second_case") && cases == 2) abort();
    if (does(args, "child_of_second") && cases == 2 && fork() == 0)
        for (;;) pause();
    return STATUS_OK;
}

static void release(void *state) {
    free(state);
}

/* A result of the right size is there: it is given instead of computing one. */
static bool give_kept(const VariantArgs *args, size_t count) {
    if (!kept || kept_of == cases || kept_count != count) return false;
    memcpy(args->out[0].data, kept, count * sizeof *kept);
    return true;
}

static Status run(const VariantArgs *args) {
    const double *x = args->in[0].data;
    double *y = args->out[0].data;
    const size_t count = array_count(&args->in[0]);
    if (does(args, "memo_over_cases") && give_kept(args, count)) return STATUS_OK;
    for (size_t i = 0; i < count; i++) y[i] = 2 * x[i];
    if (!does(args, "memo_over_cases") || kept_of == cases) return STATUS_OK;
    free(kept);
    kept = malloc(count * sizeof *kept);
    if (!kept) return STATUS_MEMORY;
    memcpy(kept, y, count * sizeof *kept);
    kept_count = count;
    kept_of = cases;
    return STATUS_OK;
}

static bool supports(const VariantArgs *args, char reason[REASON_MAX]) {
    return args->in[0].dtype == DTYPE_F64 || variant_refuse(reason, "computes in float64 only");
}

RUNGS_VARIANT(double, cpu_keeps_state) = {.backend = BACKEND_CPU,
                                          .summary = "mutant: keeps something from one case to the next",
                                          .origin = "tests",
                                          .tunables = TUNABLES,
                                          .supports = supports,
                                          .prepare = prepare,
                                          .release = release,
                                          .run = run};
