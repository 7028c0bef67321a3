/* case.h - one problem to solve: op, parameters, dtype, input family, seed. Plain data; plan/case.h reads and prints it. */
#ifndef RUNGS_BASE_CASE_H
#define RUNGS_BASE_CASE_H

#include "base/array.h"
#include "base/params.h"

#include <stdint.h>

enum { CASE_INPUT_MAX = 64, CASE_TEXT_MAX = 1024 };

typedef struct Case {
    const char *op; /* the op's name; static storage */
    Params params;
    DType dtype;                /* one of the op's: f32 or f64, of the floating-point arrays; of strings, that of their offsets */
    char input[CASE_INPUT_MAX]; /* input family: "uniform", "offset1e8", "real:co2" */
    uint64_t seed;
} Case;

#endif
