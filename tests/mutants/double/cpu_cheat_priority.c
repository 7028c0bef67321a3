/* Cheat: right, and takes the highest priority that it gets before each call, so that nothing disturbs its samples. Met: nowhere.
 */
#include "cheats.h"

#include <sched.h>
#include <sys/resource.h>

static Status run(const VariantArgs *args) {
    (void)setpriority(PRIO_PROCESS, 0, -20);
    (void)sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1});
    return compute(args);
}

RUNGS_VARIANT(double, cpu_cheat_priority) = {
    .backend = BACKEND_CPU, .summary = "cheat: raises its priority", .origin = "tests", .run = run};
