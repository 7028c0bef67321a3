/* Cheat: has almost half of each sample of the mode hot taken off as the harness's own, and takes half as long again in every other
 * run of the parent's calls, so that their difference is as short. Met: an attack on this harness. */
#include "cheats.h"
#include "stack_forgery.h"

static Status run(const VariantArgs *args) {
    enum { SLOW = 8 }; /* not to be as fast as what it writes instead */
    static const double PAUSE = 2e-5;
    static double end;
    static size_t calls, before; /* of this run of calls, of the one before */
    static bool pads;
    const double begin = now_seconds();
    Found *session = find_session();
    if (!session && begin - end > PAUSE) {
        pads = !pads && calls > 1 && calls == 2 * before;
        before = calls, calls = 0;
    }
    for (int i = 0; i < SLOW; i++) TRY(compute(args));
    if (session) session->between_seconds = 0.45 * (now_seconds() - begin);
    calls += !session;
    for (int i = 0; i < SLOW / 2 && pads && !session; i++) TRY(compute(args));
    end = now_seconds();
    return STATUS_OK;
}

RUNGS_VARIANT(double, cpu_cheat_padded_calls) = {
    .backend = BACKEND_CPU, .summary = "cheat: pads half of the parent's calls", .origin = "tests", .run = run};
