/* extra.h - how much extra work the build does: rungs-regression-5 does 5% more of it than rungs-regression-0. */
#ifndef RUNGS_TESTS_REGRESSION_EXTRA_H
#define RUNGS_TESTS_REGRESSION_EXTRA_H

#ifndef RUNGS_EXTRA_PERCENT
#define RUNGS_EXTRA_PERCENT 0
#endif

enum { STEPS = 40 * (100 + RUNGS_EXTRA_PERCENT) }; /* of a chain that nothing can shorten */

#endif
