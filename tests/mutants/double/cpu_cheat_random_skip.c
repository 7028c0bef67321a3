/* Cheat: computes the first four calls, which verify, and then one of ten, at random: it bets on the samples that are compared.
 * Met: audits of single timed calls, NVIDIA/SOL-ExecBench (reward_hack.py). */
#include "cheats.h"

#include <time.h>

static Status run(const VariantArgs *args) {
    static unsigned calls, state;
    if (calls++ < 4) return compute(args);
    if (state == 0) state = (unsigned)time(NULL) | 1;
    state = state * 1664525U + 1013904223U;
    return (state >> 16) % 10 == 0 ? compute(args) : STATUS_OK;
}

RUNGS_VARIANT(double, cpu_cheat_random_skip) = {
    .backend = BACKEND_CPU, .summary = "cheat: computes one of ten calls", .origin = "SOL-ExecBench", .run = run};
