#include "cli/ab_order.h"

#include "base/clock.h"
#include "base/rng.h"

#include <stdio.h>
#include <stdlib.h>

const char *const AB_SIDES[2] = {"base", "new"};

/* Fisher and Yates: every order of `count` zeros and as many ones is as likely as any other. */
static void draw(unsigned char *order, int count, int seed) {
    for (int i = 0; i < 2 * count; i++) order[i] = i >= count;
    for (int i = 2 * count - 1; i > 0; i--) {
        const int k = (int)(rng_at((uint64_t)seed, (uint64_t)i) % (uint64_t)(i + 1));
        const unsigned char kept = order[i];
        order[i] = order[k], order[k] = kept;
    }
}

Status ab_order_run(const AbOrder *order, const AbProcess sides[2], double *seconds) {
    const int total = 2 * order->repetitions;
    unsigned char *drawn = malloc((size_t)total);
    if (!drawn) return status_fail(STATUS_MEMORY, "no memory for an order of %d processes", total);
    draw(drawn, order->repetitions, order->seed + (order->stage - 1) * 0x100000);
    const double began = clock_seconds();
    Status status = STATUS_OK;
    for (int i = 0; i < total && status == STATUS_OK; i++) {
        char stage[32] = "", left[32];
        const int side = drawn[i];
        const double now = clock_seconds();
        const Stamp stamp = {.session = order->session,
                             .side = AB_SIDES[side],
                             .seed = order->seed,
                             .process = i + 1,
                             .of = total,
                             .stage = order->stage,
                             .stages = order->stages};
        if (order->until > 0 && now > order->until) {
            fprintf(stderr, "rungs ab: no time left for %d more processes; see --second-stage\n", total - i);
            break;
        }
        if (order->stages > 1) snprintf(stage, sizeof stage, ", stage %d of %d", order->stage, order->stages);
        fprintf(stderr, "rungs ab: %s, process %d of %d, seed %d%s%s\n", stamp.side, i + 1, total, order->seed, stage,
                ab_process_time_left(began, i, total, left));
        status = ab_process_run(&sides[side], &stamp);
        *seconds = (clock_seconds() - began) / (i + 1);
    }
    free(drawn);
    return status;
}
