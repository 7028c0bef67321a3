/* extra.h - how much extra work the build does: rungs-regression-5 does 5% more of it than rungs-regression-0. */
#pragma once

#ifndef RUNGS_EXTRA_PERCENT
#define RUNGS_EXTRA_PERCENT 0
#endif

/* Of a chain that nothing can shorten. Chains take the number at run time and in rounds of the same length, so that every build has
 * the same loop and goes through it more often: a loop with a constant end is unrolled differently for every number. */
enum { ROUND_STEPS = 8, ROUNDS = 5 * (100 + RUNGS_EXTRA_PERCENT) };
