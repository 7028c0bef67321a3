/* Wrong definitions of `rolling`, one window at a time. */
#include "rolling.h"

#include <math.h>

enum { LONGER, SHORTER, SHIFTED, DDOF };
const char *const ROLLING_WRONG[] = {[LONGER] = "window+1", [SHORTER] = "window-1", [SHIFTED] = "shift", [DDOF] = "ddof=0", NULL};

static long double variance(const WindowInput *x, size_t first, size_t w, long double ddof) {
    long double sum = 0, squares = 0;
    for (size_t i = first; i < first + w; i++) sum += window_element(x, i);
    const long double mean = sum / (long double)w;
    for (size_t i = first; i < first + w; i++) {
        const long double d = window_element(x, i) - mean;
        squares += d * d;
    }
    return squares / ((long double)w - ddof);
}

static long double extreme(const WindowInput *x, size_t first, size_t w, bool least) {
    double found = window_element(x, first);
    for (size_t i = first; i < first + w; i++) {
        const double v = window_element(x, i);
        if (isnan(v)) return NAN;
        found = (least ? v < found : v > found) ? v : found;
    }
    return found;
}

static long double aggregate(const WindowInput *x, RollingAgg agg, size_t first, size_t w) {
    long double sum = 0;
    switch (agg) {
    case ROLLING_VAR:
        return variance(x, first, w, 1);
    case ROLLING_STD:
        return sqrtl(variance(x, first, w, 1));
    case ROLLING_MIN:
    case ROLLING_MAX:
        return extreme(x, first, w, agg == ROLLING_MIN);
    default:
        for (size_t i = first; i < first + w; i++) sum += window_element(x, i);
        return agg == ROLLING_MEAN ? sum / (long double)w : sum;
    }
}

bool rolling_wrong_value(const Case *problem, const Array *in, const Reference *right, int which, int output, size_t element,
                         double *value) {
    const RollingAgg agg = (RollingAgg)params_choice(&problem->params, "agg");
    const WindowInput x = {in[0].data, in[0].dtype == DTYPE_F32, array_count(&in[0])};
    const size_t w = (size_t)params_int(&problem->params, "window");
    const bool spread = agg == ROLLING_VAR || agg == ROLLING_STD;
    if (agg == ROLLING_APPLY && which == SHIFTED && element >= w) { /* no other would do without calling the user's code */
        *value = right[output].value[element - 1];
        return isfinite(*value);
    }
    if (agg == ROLLING_APPLY || w > x.n || element + 1 < w || (which == DDOF && (!spread || w == 1))) return false;
    const double of = right[output].value[element], share = (double)(w - 1) / (double)w;
    if (which == DDOF) {
        *value = of * (agg == ROLLING_STD ? sqrt(share) : share);
        return true;
    }
    const size_t width = which == LONGER ? w + 1 : which == SHORTER ? w - 1 : w, end = which == SHIFTED ? element : element + 1;
    if (width < (spread ? 2u : 1u) || end < width) return false;
    *value = (double)aggregate(&x, agg, end - width, width);
    return true;
}
