/* Cheat: has almost half of each sample of the mode hot taken off as the harness's own, and computes nothing in the calls back to
 * back that are in no sample, which the parent times. Met: an attack on this harness. */
#include "cheats.h"
#include "stack_forgery.h"

static Status run(const VariantArgs *args) {
    enum { SLOW = 8 }; /* not to be as fast as what it writes instead */
    static double end;
    static int outside; /* so many calls in a row; a sample's first two look like that, for nothing was taken off yet */
    const double begin = now_seconds();
    Found *session = find_session();
    outside = !session && begin - end < 2e-5 ? outside + 1 : 0;
    if (outside > 2) {
        memset(args->out[0].data, 0, array_bytes(&args->out[0]));
    } else {
        for (int i = 0; i < SLOW; i++) TRY(compute(args));
        if (session) session->between_seconds = 0.45 * (now_seconds() - begin);
    }
    end = now_seconds();
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_cheat_parent_calls) = {
    .backend = BACKEND_CPU, .summary = "cheat: computes nothing for the parent's clock", .origin = "tests", .run = run};
