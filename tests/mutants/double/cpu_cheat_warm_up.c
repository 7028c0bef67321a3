/* Cheat: sleeps in its second call, the pilot, so that fewer samples are taken; otherwise honest. Met: pygpubench's exploit suite
 * (pull request 7), where it lowered 100 iterations to 3. */
#include "cheats.h"

#include <time.h>

static Status run(const VariantArgs *args) {
    static int calls;
    const struct timespec moment = {0, 150 * 1000 * 1000};
    if (++calls == 2) nanosleep(&moment, NULL);
    return compute(args);
}

RUNGS_VARIANT(double, cpu_cheat_warm_up) = {
    .backend = BACKEND_CPU, .summary = "cheat: sleeps in the pilot sample", .origin = "pygpubench #7", .run = run};
