/* The truth of agg=apply. */
#include "rolling.h"

Status rolling_apply_truth(const Case *problem, const Array *x, Truth *out) {
    (void)x;
    (void)out;
    return status_fail(STATUS_UNSUPPORTED,
                       "rolling agg=apply: the window function '%s' cannot be compiled for the host in this build",
                       params_text(&problem->params, "function"));
}
