/* Idea: the user's window function, compiled by the host compiler, called once per tile of consecutive outputs; all cores share the
 * tiles.
 * Traffic: set by the user's function, which reads the input in place.
 * Rounding: set by the user's function. One that keeps a running sum across its tile drifts for `tile` outputs, hence the bound
 *   `running`.
 * Limits: window below 2^30 (window_size is an int). A function that crashes takes the worker with it.
 * Origin: Rolling.apply of "Adding the rolling and ewm functions to cuDF". */
#include "_apply.h"

#include <math.h>

static const ParamSpec TUNABLES[] = {
    {"tile", "consecutive outputs per call of the function", PARAM_INT, "48", 1, 1 << 24, NULL},
    {0},
};

static Status run(const VariantArgs *args) {
    const WindowFunction function = ((const Usercode *)args->state)->function;
    const size_t n = array_count(&args->in[0]), tile = (size_t)params_int(args->tunables, "tile");
    const size_t history_max = (size_t)params_int(&args->problem->params, "window") - 1;
    const bool f64 = args->problem->dtype == DTYPE_F64;
    const double incomplete = strcmp(params_text(&args->problem->params, "incomplete"), "inf") == 0 ? INFINITY : NAN;
    const double *x64 = args->in[0].data;
    double *y64 = args->out[0].data;
    const float *x32 = args->in[0].data;
    float *y32 = args->out[0].data;
#pragma omp parallel for schedule(dynamic)
    for (size_t first = 0; first < n; first += tile) {
        const int count = (int)(n - first < tile ? n - first : tile), window = (int)history_max + 1;
        const size_t history = first < history_max ? first : history_max, begin = first - history;
        if (f64)
            function.f64(x64 + begin, (int)history, y64 + first, window, count, (int)history);
        else
            function.f32(x32 + begin, (int)history, y32 + first, window, count, (int)history);
        for (size_t i = first; i < first + (size_t)count && i < history_max; i++) {
            if (f64)
                y64[i] = incomplete;
            else
                y32[i] = (float)incomplete;
        }
    }
    return STATUS_OK;
}

RUNGS_VARIANT(rolling, cpu_apply) = {
    .backend = BACKEND_CPU,
    .summary = "the user's window function (agg=apply), compiled by the host compiler, all cores",
    .origin = "Rolling.apply of \"Adding the rolling and ewm functions to cuDF\"",
    .tunables = TUNABLES,
    .bound = "running",
    .supports = apply_supports,
    .prepare = apply_prepare_host,
    .release = apply_release_host,
    .run = run,
};
