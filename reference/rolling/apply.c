/* The reference of agg=apply: the user's own function, compiled with real = long double, called once per output, so that whatever
 * it keeps from one output of a tile to the next begins afresh.
 *
 * Tolerance: 4 (w + 16) u sum|x| over the window's finite elements, and two of the smallest subnormals. A function that keeps state
 * across its tile carries errors of its neighbours' windows: the bound `running` (and every other than `window`) is
 * 4 (w + 144) u sum|x| over [i - w - 63, i + 64], for tiles of up to 64 outputs. */
#include "base/usercode.h"
#include "rolling.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS_MAX = 64 /* of WINDOW_BLOCK outputs, converted to long double at a time */ };

typedef struct Apply {
    WindowInput input;
    size_t window, group;     /* outputs that share one conversion of their inputs */
    double incomplete, terms; /* the tolerance's w + 16 or w + 144 */
    WindowFunctionLongDouble function;
    WindowPlan plan; /* of sum|x| */
} Apply;

/* One thread's memory. */
typedef struct ApplyScratch {
    WindowScratch window;
    WindowRow sizes;
    long double staged[]; /* window - 1 + group */
} ApplyScratch;

/* A value beyond the dtype's range is the infinity that rounding to the dtype gives. */
static double to_dtype(const Apply *apply, long double value) {
    const double rounded = (double)value;
    return apply->input.f32 && isinf((float)rounded) ? (double)(float)rounded : rounded;
}

static double tolerance_of(const Apply *apply, long double sum_abs) {
    const double u = apply->input.f32 ? 0x1p-24 : 0x1p-53, tiny = apply->input.f32 ? 0x1p-149 : 0x1p-1074;
    const long double tolerance = 4 * apply->terms * u * sum_abs + 2 * tiny;
    return tolerance < DBL_MAX ? (double)tolerance : DBL_MAX;
}

/* One output; false if the function wrote beside it. */
static bool call_function(const Apply *apply, const long double *staged, int position, long double *value) {
    static const long double guard = 0x1.a5a5a5p+77L;
    long double cells[4] = {guard, NAN, guard, guard}; /* NaN: what a function that writes nothing is compared with */
    apply->function(staged, position, &cells[1], (int)apply->window, 1, position);
    *value = cells[1];
    return cells[0] == guard && cells[2] == guard && cells[3] == guard;
}

/* Outputs first .. first + count - 1; false if the function wrote beside its output. */
static bool settle_group(const Apply *apply, ApplyScratch *scratch, size_t first, size_t count, Reference *out) {
    const size_t history = first < apply->window - 1 ? first : apply->window - 1;
    for (size_t k = 0; k < history + count; k++) scratch->staged[k] = window_element(&apply->input, first - history + k);
    for (size_t k = 0; k < count; k++) {
        if (k % WINDOW_BLOCK == 0)
            window_compute(&apply->plan, &scratch->window, first + k, count - k < WINDOW_BLOCK ? count - k : WINDOW_BLOCK,
                           &scratch->sizes);
        const size_t i = first + k;
        out->value[i] = apply->incomplete;
        out->tolerance[i] = 0;
        if (i < apply->window - 1) continue;
        long double value;
        if (!call_function(apply, scratch->staged, (int)(history + k), &value)) return false;
        out->value[i] = to_dtype(apply, value);
        out->tolerance[i] = tolerance_of(apply, scratch->sizes.number[k % WINDOW_BLOCK]);
    }
    return true;
}

static Status settle_all(const Apply *apply, const char *path, Reference *out) {
    const size_t n = apply->input.n, groups = (n + apply->group - 1) / apply->group;
    const size_t reach = apply->window < n ? apply->window : n;
    const size_t bytes = sizeof(ApplyScratch) + (reach + apply->group) * sizeof(long double);
    bool starved = false, strayed = false;
#pragma omp parallel
    {
        ApplyScratch *scratch = malloc(bytes);
        if (!scratch) {
#pragma omp atomic write
            starved = true;
        }
#pragma omp for schedule(dynamic)
        for (size_t g = 0; g < groups; g++) {
            const size_t first = g * apply->group, count = n - first < apply->group ? n - first : apply->group;
            if (!scratch || settle_group(apply, scratch, first, count, out)) continue;
#pragma omp atomic write
            strayed = true;
        }
        free(scratch);
    }
    if (strayed) return status_fail(STATUS_INVALID, "function=%s: it writes beside out[0 .. arr_len)", path);
    return starved ? status_fail(STATUS_MEMORY, "rolling reference: no memory for %zu bytes per thread", bytes) : STATUS_OK;
}

Status rolling_apply_reference(const Case *problem, const Array *x, int bound, Reference *out) {
    const char *path = params_text(&problem->params, "function");
    const long long window = params_int(&problem->params, "window");
    if (strcmp(path, "none") == 0)
        return status_fail(STATUS_INVALID,
                           "rolling agg=apply: function=none; function=PATH of a window function is expected (docs/APPLY.md)");
    if (window > INT_MAX / 2)
        return status_fail(STATUS_UNSUPPORTED, "rolling agg=apply: window=%lld; a window function's window_size is an int", window);

    Apply apply = {.input = {x->data, x->dtype == DTYPE_F32, array_count(x)}, .window = (size_t)window};
    apply.incomplete = strcmp(params_text(&problem->params, "incomplete"), "inf") == 0 ? INFINITY : NAN;
    const size_t blocks = apply.window / WINDOW_BLOCK + 1;
    apply.group = WINDOW_BLOCK * (blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX);
    const size_t reach = bound == ROLLING_WINDOW ? 0 : ROLLING_REACH;
    apply.terms = (double)(apply.window + 16 + 2 * reach);
    Usercode code;
    TRY(usercode_open(path, USERCODE_LONG_DOUBLE, &USERCODE_BUILD, &code));
    apply.function = code.function.long_double;
    Status status = window_plan(&apply.input, WINDOW_SIZE, apply.window + 2 * reach, reach, &apply.plan);
    if (status == STATUS_OK) {
        status = settle_all(&apply, path, out);
        window_plan_free(&apply.plan);
    }
    usercode_close(&code);
    return status;
}
